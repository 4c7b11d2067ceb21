// @ts-check
// The panel: knobs, and named scenarios that set them.

import { element } from "./svg.js";
import { curve } from "./curve.js";

/** @typedef {import("./types.js").Choices} Choices */
/** @typedef {import("./types.js").KnobOffer} KnobOffer */
/** @typedef {import("./knob_choice.js").KnobChoice} KnobChoice */

const OPEN = ["LOWAT", "SERVER", "PRIORITY", "CC", "RATE", "DELAY", "QUEUE"];
const ARMS = /** @type {const} */ ([0, 1]);
const PLACE = ["above", "below"];

let made = 0;

/** @param {HTMLElement} control @param {string} text */
function labelled(control, text) {
  const label = document.createElement("label");
  control.id = `control-${(made += 1)}`;
  label.htmlFor = control.id;
  label.textContent = text;
  const row = element("div", "knob");
  row.append(label, control);
  return row;
}

/** @param {readonly string[]} values @param {string} chosen */
function select(values, chosen) {
  const control = document.createElement("select");
  const all = values.includes(chosen) ? values : [chosen, ...values];
  for (const value of all) control.add(new Option(value, value, false, value === chosen));
  return control;
}

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
    this.draw();
  }

  draw() {
    const focus = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.focus : undefined;
    const groups = [this._scenarios(), this._card(), this._compare(), ...this._knobs(), this._rest()];
    this.place.replaceChildren(...groups.filter((group) => group !== null));
    if (focus) /** @type {HTMLElement | null} */ (this.place.querySelector(`[data-focus="${focus}"]`))?.focus();
  }

  /** Called after a change. Redraws the panel after the focus has moved, so that Tab works. */
  _touch() {
    this.chosen = "";
    this.changed();
    setTimeout(() => this.draw());
  }

  _scenarios() {
    const control = document.createElement("select");
    control.dataset.focus = "scenario";
    control.add(new Option("– knobs set by hand –", "", false, this.chosen === ""));
    for (const [label, some] of [
      ["scenarios", this.choices.scenarios.filter((each) => !each.card)],
      ["ways to spoil the effect", this.choices.scenarios.filter((each) => each.card)],
    ]) {
      if (typeof label !== "string" || typeof some === "string" || !some.length) continue;
      const group = document.createElement("optgroup");
      group.label = label;
      for (const each of some) group.append(new Option(each.title, each.name, false, each.name === this.chosen));
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
    if (!found) return null;
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
    const control = select(names, this.choice.compare);
    control.dataset.focus = "compare";
    control.addEventListener("change", () => {
      this.choice.differ(control.value);
      this._touch();
    });
    return labelled(control, "The arms differ in");
  }

  _knobs() {
    const open = [...new Set([this.choice.compare, ...OPEN])];
    const offers = open.map((name) => this.choices.knobs.find((knob) => knob.name === name));
    return offers.filter((offer) => offer !== undefined).flatMap((offer) => this._knob(offer));
  }

  /** @param {KnobOffer} offer */
  _knob(offer) {
    const differ = offer.name === this.choice.compare;
    return (differ ? ARMS : ARMS.slice(0, 1)).map((arm) => {
      const value = differ ? this.choice.values[arm] : this.choice.value(offer.name);
      const control = offer.name === "LOWAT" ? this._slider(value, arm) : select(offer.values, value);
      control.dataset.focus = `${offer.name}-${arm}`;
      control.title = offer.meaning;
      control.addEventListener("change", () => {
        const at = /** @type {HTMLInputElement | HTMLSelectElement} */ (control).value;
        this.choice.set(offer.name, offer.name === "LOWAT" ? this._lowats(value)[Number(at)] : at, arm);
        this._touch();
      });
      const row = labelled(control, differ ? `${offer.name}, ${PLACE[arm]}` : offer.name);
      if (differ) row.classList.add("differs");
      if (offer.name === "LOWAT") row.append(this._reading(control, value, arm));
      if (offer.name === "LOWAT" && arm === (differ ? 1 : 0)) row.append(this._curve());
      return row;
    });
  }

  /** The slider's values, including the current one. @param {string} value */
  _lowats(value) {
    const stops = this.choices.lowats;
    return stops.includes(value) ? stops : [value, ...stops];
  }

  /** @param {string} value @param {number} arm */
  _slider(value, arm) {
    const stops = this._lowats(value);
    const control = document.createElement("input");
    Object.assign(control, { type: "range", min: "0", max: String(stops.length - 1), step: "1" });
    control.value = String(stops.indexOf(value));
    control.setAttribute("aria-valuetext", value);
    control.dataset.arm = String(arm);
    return control;
  }

  /**
   * Shows a slider's value, also while it moves; the page then shows the film of this value, if there is one.
   * @param {HTMLElement} control @param {string} value @param {0 | 1} arm
   */
  _reading(control, value, arm) {
    const reading = element("output", "reading", value);
    control.addEventListener("input", () => {
      const at = Number(/** @type {HTMLInputElement} */ (control).value);
      reading.textContent = this._lowats(value)[at];
      control.setAttribute("aria-valuetext", reading.textContent);
      this.choice.set("LOWAT", reading.textContent, arm);
      this.chosen = "";
      this.showStops();
      this.moving();
    });
    return reading;
  }

  /** @param {import("./stops.js").Stop[]} [stops] the results so far; without them, the shown values have changed */
  showStops(stops) {
    this.stops = stops ?? this.stops;
    this.place.querySelector(".curve")?.replaceWith(this._curve());
  }

  _curve() {
    const { choice } = this;
    const marked = choice.compare === "LOWAT" ? choice.values : [choice.value("LOWAT")];
    return curve(this.stops, marked, (value) => choice.nameOf("LOWAT", value));
  }

  /** All other knobs as text fields; the lab checks their values. */
  _rest() {
    const details = document.createElement("details");
    details.open = this.rest;
    details.addEventListener("toggle", () => (this.rest = details.open));
    const summary = document.createElement("summary");
    summary.textContent = "All other knobs";
    details.append(summary);
    for (const offer of this.choices.knobs) {
      if (OPEN.includes(offer.name) || offer.name === this.choice.compare) continue;
      const control = document.createElement("input");
      control.type = "text";
      control.value = this.choice.value(offer.name);
      control.title = `${offer.meaning}; allowed: ${offer.allowed}`;
      control.dataset.focus = `${offer.name}-0`;
      control.spellcheck = false;
      control.addEventListener("change", () => {
        this.choice.set(offer.name, control.value, 0);
        this._touch();
      });
      details.append(labelled(control, offer.name));
    }
    return details;
  }
}
