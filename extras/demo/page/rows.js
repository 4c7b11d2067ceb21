// @ts-check
// The panel's rows.

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
