// @ts-check
// The panel's rows: makes them, and keeps those that a change leaves as they are.

import { element } from "./svg.js";

let made = 0;

/** The first part of a knob's meaning, up to a mark that ends a thought. */
const THOUGHT = /^.{14,}?(?=: |; | \(|$)/;

/** @param {HTMLElement} control @param {string} text @param {string} [meaning] is shown below them */
export function labelled(control, text, meaning) {
  const label = document.createElement("label");
  control.id = `control-${(made += 1)}`;
  label.htmlFor = control.id;
  label.textContent = text;
  const row = element("div", "knob");
  row.append(label, control);
  if (meaning === undefined) return row;
  const about = element("p", "meaning", THOUGHT.exec(meaning)?.[0] ?? meaning);
  about.id = `${control.id}-meaning`;
  control.setAttribute("aria-describedby", about.id);
  row.append(about);
  return row;
}

/** @param {readonly string[]} values */
export function select(values) {
  const control = document.createElement("select");
  for (const value of values) control.add(new Option(value));
  return control;
}

/** Returns the values, including the current one. @param {readonly string[]} values @param {string} value */
export function including(values, value) {
  return values.includes(value) ? values : [value, ...values];
}

/** Shows a value. A value that is there already is not written again, which would be work for the browser. @param {Element} row @param {string} value */
export function fill(row, value) {
  const control = /** @type {HTMLInputElement | HTMLSelectElement | null} */ (row.querySelector("input, select"));
  if (control && control.value !== value) control.value = value;
}

/** Gives the place these children; those that stay where they are are not touched. @param {Element} place @param {readonly Element[]} wanted */
export function arrange(place, wanted) {
  for (const child of [...place.children]) if (!wanted.includes(child)) child.remove();
  wanted.forEach((each, index) => {
    if (place.children[index] !== each) place.insertBefore(each, place.children[index] ?? null);
  });
}

/** Elements by their names, each with all that it was made from. Those that a drawing does not ask for are forgotten. */
export class Kept {
  constructor() {
    /** @type {Map<string, {from: string, made: Element}>} */
    this.now = new Map();
    this.before = this.now;
  }

  /** Begins a new drawing. */
  turn() {
    this.before = this.now;
    this.now = new Map();
  }

  /**
   * Returns the element of this name, if it would be made from the same again; otherwise makes it.
   * @template {Element} T
   * @param {string} name @param {unknown} from @param {() => T} build
   */
  keep(name, from, build) {
    const text = JSON.stringify(from);
    const there = this.now.get(name) ?? this.before.get(name);
    const made = there?.from === text ? /** @type {T} */ (there.made) : build();
    this.now.set(name, { from: text, made });
    return made;
  }
}
