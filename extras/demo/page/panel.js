// @ts-check
// The panel: named scenarios, and all knobs by their groups. In a small window LOWAT's sliders are pinned below the film.
//
// A change replaces only the rows that look different afterwards. So the focus stays, and the browser does not have to
// examine all fields again for its proposals.

import { element } from "./svg.js";
import { curve } from "./curve.js";
import { comparable, nearest } from "./nearest.js";
import { known, knowns } from "./seen.js";
import { Kept } from "./kept.js";
import { arrange, fill, including, labelled, select } from "./rows.js";

/** @typedef {import("./types.js").Choices} Choices */
/** @typedef {import("./types.js").KnobOffer} KnobOffer */
/** @typedef {import("./knob_choice.js").KnobChoice} KnobChoice */

const OPEN = ["LOWAT", "SERVER", "PRIORITY", "CC", "RATE", "DELAY", "QUEUE"];
const ARMS = /** @type {const} */ ([0, 1]);
const PLACE = ["above", "below"];

export class Panel {
  /**
   * @param {HTMLElement} place
   * @param {HTMLElement} pinned has LOWAT's sliders while it is shown
   * @param {Choices} choices
   * @param {KnobChoice} choice
   * @param {() => void} changed called after a change
   * @param {() => void} moving called while a slider moves
   */
  constructor(place, pinned, choices, choice, changed, moving) {
    this.place = place;
    this.pinned = pinned;
    this.isPinned = false;
    this.choices = choices;
    this.choice = choice;
    this.changed = changed;
    this.moving = moving;
    /** The results of the slider's stops. @type {import("./stops.js").Stop[]} */
    this.stops = [];
    this.chosen = "maps";
    /** The groups whose other knobs are shown. @type {Set<string>} */
    this.unfolded = new Set();
    /** Hides the knobs that do not have this text. */
    this.sought = "";
    this.kept = new Kept();
    new ResizeObserver(() => this.isPinned !== this._pins && this.draw()).observe(pinned);
    this.draw();
  }

  get _pins() {
    return getComputedStyle(this.pinned).display !== "none";
  }

  draw() {
    const focus = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.focus : undefined;
    this.kept.turn();
    this.isPinned = this._pins;
    const lowat = this.choices.knobs.filter(({ name }) => name === "LOWAT").flatMap((offer) => this._knob(offer));
    arrange(this.pinned, [...this.pinned.children].filter((each) => !each.matches(".knob")).concat(this.isPinned ? lowat : []));
    const groups = [this._scenarios(), this._card(), this._compare(), this._find(), ...this._groups(this.isPinned ? [] : lowat), this._origin()];
    arrange(this.place, groups.filter((group) => group !== null));
    this._seek();
    this.showStops();
    if (focus) /** @type {HTMLElement | null} */ (document.querySelector(`[data-focus="${focus}"]`))?.focus();
  }

  /** Called after a change. Redraws the panel after the focus has moved, so that Tab works. */
  _touch() {
    this.chosen = "";
    this.changed();
    setTimeout(() => this.draw());
  }

  _scenarios() {
    const row = this.kept.keep("scenario", null, () => this._choices());
    fill(row, this.choices.scenarios.some((each) => each.name === this.chosen) ? this.chosen : "");
    return row;
  }

  _choices() {
    const control = document.createElement("select");
    control.dataset.focus = "scenario";
    control.add(new Option("– knobs set by hand –", ""));
    for (const [label, some] of [
      ["scenarios", this.choices.scenarios.filter((each) => !each.card)],
      ["ways to spoil the effect", this.choices.scenarios.filter((each) => each.card)],
    ]) {
      if (typeof label !== "string" || typeof some === "string" || !some.length) continue;
      const group = document.createElement("optgroup");
      group.label = label;
      for (const each of some) group.append(new Option(each.title, each.name));
      control.append(group);
    }
    control.addEventListener("change", () => {
      const found = this.choices.scenarios.find((each) => each.name === control.value);
      if (!found) return;
      this.choice.scenario(found.knobs);
      this.chosen = found.name;
      this.draw();
      this.changed();
    });
    const row = labelled(control, "Scenario");
    row.classList.add("wide");
    return row;
  }

  _card() {
    const found = this.choices.scenarios.find((each) => each.name === this.chosen);
    return found ? this.kept.keep("card", [this.chosen, this.choice.compare], () => this._about(found)) : null;
  }

  /** @param {Choices["scenarios"][number]} found */
  _about(found) {
    const card = element("section", "card");
    card.setAttribute("aria-label", "about this scenario");
    if (!found.card) {
      if (found.expect) card.append(element("p", "", `Expect: ${found.expect}`));
      return card;
    }
    for (const [term, text] of [
      ["What you see", found.card.see],
      ["Which layer", found.card.layer],
      ["How to tell", found.card.tell],
    ]) {
      card.append(element("h2", "", term), this._prose(text));
    }
    this._cure(card, found.card.cure);
    return card;
  }

  /** The arm in which the cure of the chosen scenario shows. */
  get cured() {
    return this.choices.scenarios.find((each) => each.name === this.chosen)?.card?.cured_arm ?? 1;
  }

  /** Shows text between backquotes as code. @param {string} text */
  _prose(text) {
    const prose = element("p", "");
    text.split("`").forEach((part, index) => prose.append(index % 2 ? element("code", "", part) : part));
    return prose;
  }

  /** Adds buttons that apply the cure, or compare with it. @param {HTMLElement} card @param {Record<string, string>} cure */
  _cure(card, cure) {
    const words = Object.entries(cure);
    if (!words.length) return;
    const text = words.map(([name, value]) => `${name}=${value}`).join(" ");
    const add = (/** @type {string} */ what, /** @type {() => void} */ act) => {
      if (this.choices.published && !this._leads(act)) return;
      const button = /** @type {HTMLButtonElement} */ (element("button", "cure", what));
      button.type = "button";
      button.dataset.focus = what;
      button.addEventListener("click", () => {
        act();
        this.draw();
        this.changed();
      });
      card.append(button);
    };
    add(`Apply the cure: ${text}`, () => {
      for (const [name, value] of words) this.choice.set(name, value, 1);
    });
    const [[name, value]] = words;
    if (words.length > 1 || name === this.choice.compare) return;
    add(`Compare with ${text}`, () => {
      this.choice.differ(name, this.cured);
      this.choice.values[1] = value;
    });
  }

  /** True if a published file has the films to which a change leads. @param {() => void} change */
  _leads(change) {
    const { compare, values, shared } = this.choice;
    this.choice.shared = { ...shared };
    this.choice.values = [...values];
    change();
    const leads = this.choice.arms.every(known);
    Object.assign(this.choice, { compare, values, shared });
    return leads;
  }

  _compare() {
    const { published, knobs } = this.choices;
    const names = published ? comparable(knowns()) : knobs.filter((knob) => knob.values.length > 1).map((knob) => knob.name);
    const values = including(names, this.choice.compare);
    const row = this.kept.keep("compare", values, () => {
      const control = select(values);
      control.dataset.focus = "compare";
      control.addEventListener("change", () => {
        const { arms } = this.choice;
        this.choice.differ(control.value);
        // A published file has no films of some of the values that would be compared.
        const there = published && !this.choice.arms.every(known) && nearest(arms, control.value, knowns());
        if (there) this.choice.step(there);
        this._touch();
      });
      return labelled(control, "The arms differ in");
    });
    fill(row, this.choice.compare);
    return row;
  }

  /** All knobs by their groups: those that are worth trying first, the others folded. @param {readonly Element[]} lowat its sliders */
  _groups(lowat) {
    const { knobs, published } = this.choices;
    return [...new Set(knobs.map(({ group }) => group))].map((group) => {
      const offers = knobs.filter((offer) => offer.group === group);
      const isOpen = (/** @type {KnobOffer} */ { name, values }) => name === this.choice.compare || (published ? values.length > 1 : OPEN.includes(name));
      const open = offers.filter(isOpen).flatMap((offer) => (offer.name === "LOWAT" ? [...lowat, this._curve()] : this._knob(offer)));
      const others = offers.filter((offer) => !isOpen(offer)).map((offer) => this._field(offer));
      const place = this.kept.keep(`group ${group}`, null, () => this._group(group));
      const fold = this.kept.keep(`others ${group}`, others.length, () => this._fold(group, `${open.length ? "other knobs" : "knobs"} of ${group} (${others.length})`));
      arrange(fold, [fold.children[0], ...others]);
      arrange(place, [place.children[0], ...open, ...(others.length ? [fold] : [])]);
      return place;
    });
  }

  /** @param {string} group */
  _group(group) {
    const place = element("div", "group");
    place.append(element("h2", "", group));
    return place;
  }

  _find() {
    return this.kept.keep("find", null, () => {
      const control = document.createElement("input");
      control.type = "search";
      control.dataset.focus = "find";
      control.addEventListener("input", () => {
        this.sought = control.value.toLowerCase();
        this._seek();
      });
      return labelled(control, "Find a knob");
    });
  }

  /** Shows the knobs that have the sought text in their names or their meanings. */
  _seek() {
    const seeks = this.sought !== "";
    this.place.classList.toggle("seeking", seeks);
    for (const row of this.place.querySelectorAll(".group .knob")) {
      if (row instanceof HTMLElement) row.hidden = !(row.dataset.words ?? "").includes(this.sought);
    }
    for (const group of this.place.querySelectorAll(".group")) {
      const [heading, fold] = [group.querySelector("h2"), group.querySelector("details")];
      if (group instanceof HTMLElement) group.hidden = seeks && !group.querySelector(".knob:not([hidden])");
      if (fold) fold.open = seeks ? fold.querySelector(".knob:not([hidden])") !== null : this.unfolded.has(heading?.textContent ?? "");
    }
  }

  /** @param {KnobOffer} offer */
  _knob(offer) {
    const differ = offer.name === this.choice.compare;
    return (differ ? ARMS : ARMS.slice(0, 1)).map((arm) => {
      const value = differ ? this.choice.values[arm] : this.choice.value(offer.name);
      const isSlider = offer.name === "LOWAT";
      const values = including(isSlider ? this._limits(arm) : offer.values, value);
      const name = `${offer.name}-${arm}`;
      const row = this.kept.keep(name, [values, differ], () => this._control(offer, values, arm, differ));
      if (isSlider) this._read(row, values, values.indexOf(value));
      else if (this.choices.published) this._grey(row, offer.name, arm);
      fill(row, isSlider ? String(values.indexOf(value)) : value);
      return row;
    });
  }

  /** The stops of LOWAT's slider; in a published file those that were recorded. @param {0 | 1} arm */
  _limits(arm) {
    const { choices, choice } = this;
    if (!choices.published) return choices.lowats;
    const arms = choice.compare === "LOWAT" ? [choice.arms[arm]] : choice.arms;
    return choices.lowats.filter((LOWAT) => arms.every((knobs) => known({ ...knobs, LOWAT })));
  }

  /** @param {KnobOffer} offer @param {readonly string[]} values @param {0 | 1} arm @param {boolean} differ */
  _control(offer, values, arm, differ) {
    const isSlider = offer.name === "LOWAT";
    const control = isSlider ? this._slider(values, arm) : select(values);
    control.dataset.focus = `${offer.name}-${arm}`;
    control.addEventListener("change", () => {
      this.choice.set(offer.name, isSlider ? values[Number(control.value)] : control.value, arm);
      this._touch();
    });
    const row = this._row(control, differ ? `${offer.name}, ${PLACE[arm]}` : offer.name, offer);
    if (differ) row.classList.add("differs", PLACE[arm]);
    if (isSlider) control.after(element("output", "reading"));
    return row;
  }

  /** @param {HTMLElement} control @param {string} text @param {KnobOffer} offer */
  _row(control, text, offer) {
    const row = labelled(control, text, offer.meaning);
    row.title = `${offer.meaning}; allowed: ${offer.allowed}`;
    row.dataset.words = `${offer.name} ${offer.meaning}`.toLowerCase();
    return row;
  }

  /** Greys the values without a recording beside the arm's other knobs. @param {Element} row @param {string} name @param {0 | 1} arm */
  _grey(row, name, arm) {
    const { choice } = this;
    const shared = name !== choice.compare;
    for (const option of row.querySelectorAll("option")) {
      const arms = shared ? choice.arms : [choice.arms[arm]];
      option.disabled = !arms.every((knobs) => known({ ...knobs, [name]: option.value }));
      option.title = option.disabled ? "not recorded with the other knobs" : "";
    }
  }

  /**
   * A slider shows its value also while it moves; the page then shows the film of this value, if there is one.
   * @param {readonly string[]} values @param {0 | 1} arm
   */
  _slider(values, arm) {
    const control = document.createElement("input");
    Object.assign(control, { type: "range", min: "0", max: String(values.length - 1), step: "1" });
    control.dataset.arm = String(arm);
    control.addEventListener("input", () => {
      const at = Number(control.value);
      if (control.parentElement) this._read(control.parentElement, values, at);
      this.choice.set("LOWAT", values[at], arm);
      this.chosen = "";
      this.showStops();
      this.moving();
    });
    return control;
  }

  /** Writes the slider's value beside it. @param {Element} row @param {readonly string[]} values @param {number} at */
  _read(row, values, at) {
    const [slider, reading] = row.querySelectorAll("input, .reading");
    slider.setAttribute("aria-valuetext", values[at]);
    if (reading.textContent !== values[at]) reading.textContent = values[at];
  }

  /** @param {import("./stops.js").Stop[]} [stops] the results so far; without them, the shown values have changed */
  showStops(stops) {
    this.stops = stops ?? this.stops;
    const [there, wanted] = [this.place.querySelector(".curve"), this._curve()];
    if (there !== wanted) there?.replaceWith(wanted);
  }

  _curve() {
    const { choice } = this;
    const marked = choice.compare === "LOWAT" ? choice.values : [choice.value("LOWAT")];
    const points = this.stops.map(({ value, shown }) => [value, shown?.arm.first_byte_ms, shown?.names.important]);
    return this.kept.keep("curve", [points, marked], () => curve(this.stops, marked, (value) => choice.nameOf("LOWAT", value)));
  }

  /** @param {string} name @param {string} title */
  _fold(name, title) {
    const details = document.createElement("details");
    details.open = this.unfolded.has(name);
    details.addEventListener("toggle", () => {
      if (this.sought) return;
      if (details.open) this.unfolded.add(name);
      else this.unfolded.delete(name);
    });
    details.append(element("summary", "", title));
    return details;
  }

  /** Where the results of a published file came from. */
  _origin() {
    const { published } = this.choices;
    if (!published) return null;
    return this.kept.keep("origin", null, () => {
      const details = this._fold("origin", "How this was measured");
      const list = element("dl", "origin");
      for (const [term, text] of Object.entries(published)) list.append(element("dt", "", term), element("dd", "", text));
      details.append(list);
      return details;
    });
  }

  /** A knob as a text field; the lab checks its value. A published file has only one value of it. @param {KnobOffer} offer */
  _field(offer) {
    const row = this.kept.keep(`${offer.name}-0`, null, () => {
      const control = document.createElement("input");
      control.type = "text";
      control.dataset.focus = `${offer.name}-0`;
      control.spellcheck = false;
      control.disabled = Boolean(this.choices.published);
      control.addEventListener("change", () => {
        this.choice.set(offer.name, control.value, 0);
        this._touch();
      });
      const made = this._row(control, offer.name, offer);
      made.classList.toggle("unrecorded", control.disabled);
      if (control.disabled) made.querySelector(".meaning")?.append(` – only ${offer.values[0]} was recorded in this file`);
      return made;
    });
    fill(row, this.choice.value(offer.name));
    return row;
  }
}
