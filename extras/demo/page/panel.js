// @ts-check
// The panel: knobs, and named scenarios that set them.
//
// A change replaces only the rows that look different afterwards. So the focus stays, and the browser does not have to
// examine all fields again for its proposals.

import { element } from "./svg.js";
import { curve } from "./curve.js";
import { known } from "./seen.js";
import { arrange, fill, including, Kept, labelled, select } from "./rows.js";

/** @typedef {import("./types.js").Choices} Choices */
/** @typedef {import("./types.js").KnobOffer} KnobOffer */
/** @typedef {import("./knob_choice.js").KnobChoice} KnobChoice */

const OPEN = ["LOWAT", "SERVER", "PRIORITY", "CC", "RATE", "DELAY", "QUEUE"];
const ARMS = /** @type {const} */ ([0, 1]);
const PLACE = ["above", "below"];

export class Panel {
  /**
   * @param {HTMLElement} place
   * @param {Choices} choices
   * @param {KnobChoice} choice
   * @param {() => void} changed called after a change
   * @param {() => void} moving called while a slider moves
   */
  constructor(place, choices, choice, changed, moving) {
    this.place = place;
    this.choices = choices;
    this.choice = choice;
    this.changed = changed;
    this.moving = moving;
    /** The results of the slider's stops. @type {import("./stops.js").Stop[]} */
    this.stops = [];
    this.chosen = "maps";
    this.rest = false;
    this.kept = new Kept();
    this.draw();
  }

  draw() {
    const focus = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.focus : undefined;
    this.kept.turn();
    const groups = [this._scenarios(), this._card(), this._compare(), ...this._knobs(), this._rest()];
    arrange(this.place, groups.filter((group) => group !== null));
    this.showStops();
    if (focus) /** @type {HTMLElement | null} */ (this.place.querySelector(`[data-focus="${focus}"]`))?.focus();
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

  _compare() {
    const names = this.choices.knobs.filter((knob) => knob.values.length > 1).map((knob) => knob.name);
    const values = including(names, this.choice.compare);
    const row = this.kept.keep("compare", values, () => {
      const control = select(values);
      control.dataset.focus = "compare";
      control.addEventListener("change", () => {
        this.choice.differ(control.value);
        this._touch();
      });
      return labelled(control, "The arms differ in");
    });
    fill(row, this.choice.compare);
    return row;
  }

  _knobs() {
    const open = [...new Set([this.choice.compare, ...OPEN])];
    const offers = open.map((name) => this.choices.knobs.find((knob) => knob.name === name));
    const told = offers.filter((offer) => offer !== undefined);
    return told.filter((offer) => !this.choices.published || offer.values.length > 1).flatMap((offer) => this._knob(offer));
  }

  /** @param {KnobOffer} offer */
  _knob(offer) {
    const differ = offer.name === this.choice.compare;
    return (differ ? ARMS : ARMS.slice(0, 1)).map((arm) => {
      const value = differ ? this.choice.values[arm] : this.choice.value(offer.name);
      const isSlider = offer.name === "LOWAT";
      const values = including(isSlider ? this.choices.lowats : offer.values, value);
      const name = `${offer.name}-${arm}`;
      const row = this.kept.keep(name, [values, differ], () => this._control(offer, values, arm, differ));
      if (isSlider) this._read(row, values, values.indexOf(value));
      else if (this.choices.published) this._grey(row, offer.name, arm);
      fill(row, isSlider ? String(values.indexOf(value)) : value);
      return row;
    });
  }

  /** @param {KnobOffer} offer @param {readonly string[]} values @param {0 | 1} arm @param {boolean} differ */
  _control(offer, values, arm, differ) {
    const isSlider = offer.name === "LOWAT";
    const control = isSlider ? this._slider(values, arm) : select(values);
    control.dataset.focus = `${offer.name}-${arm}`;
    control.title = offer.meaning;
    control.addEventListener("change", () => {
      this.choice.set(offer.name, isSlider ? values[Number(control.value)] : control.value, arm);
      this._touch();
    });
    const row = labelled(control, differ ? `${offer.name}, ${PLACE[arm]}` : offer.name);
    if (differ) row.classList.add("differs");
    if (isSlider) row.append(element("output", "reading"));
    if (isSlider && arm === (differ ? 1 : 0)) row.append(this._curve());
    return row;
  }

  /** Greys the values without a recording beside the arm's other knobs. @param {Element} row @param {string} name @param {0 | 1} arm */
  _grey(row, name, arm) {
    const { choice } = this;
    const shared = name !== choice.compare;
    for (const option of row.querySelectorAll("option")) {
      const arms = shared ? choice.arms : [choice.arms[arm]];
      option.disabled = !arms.every((knobs) => known({ ...knobs, [name]: option.value }));
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

  /** All other knobs as text fields; the lab checks their values. In a published file, where its results came from. */
  _rest() {
    if (this.choices.published) return this.kept.keep("rest", null, () => this._origin(this.choices.published ?? {}));
    const details = this.kept.keep("rest", null, () => this._fold());
    const others = this.choices.knobs.filter(({ name }) => !OPEN.includes(name) && name !== this.choice.compare);
    const rows = others.map((offer) => {
      const row = this.kept.keep(`${offer.name}-0`, null, () => this._field(offer));
      fill(row, this.choice.value(offer.name));
      return row;
    });
    arrange(details, [details.children[0], ...rows]);
    return details;
  }

  /** @param {string} title */
  _fold(title = "All other knobs") {
    const details = document.createElement("details");
    details.open = this.rest;
    details.addEventListener("toggle", () => (this.rest = details.open));
    const summary = document.createElement("summary");
    summary.textContent = title;
    details.append(summary);
    return details;
  }

  /** @param {Record<string, string>} about */
  _origin(about) {
    const details = this._fold("How this was measured");
    const list = element("dl", "origin");
    for (const [term, text] of Object.entries(about)) list.append(element("dt", "", term), element("dd", "", text));
    details.append(list);
    return details;
  }

  /** @param {KnobOffer} offer */
  _field(offer) {
    const control = document.createElement("input");
    control.type = "text";
    control.title = `${offer.meaning}; allowed: ${offer.allowed}`;
    control.dataset.focus = `${offer.name}-0`;
    control.spellcheck = false;
    control.addEventListener("change", () => {
      this.choice.set(offer.name, control.value, 0);
      this._touch();
    });
    return labelled(control, offer.name);
  }
}
