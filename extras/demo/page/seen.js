// @ts-check
// The results that this page has: those it has asked for, and those that were recorded before.

/** @typedef {import("./types.js").Shown} Shown */

const MOST = 1200;

/** isFinal: no answer came, or the lab is busy, so there is no use in asking again at once. */
export class Refused extends Error {
  /** @param {string} text @param {boolean} [isFinal] */
  constructor(text, isFinal = false) {
    super(text);
    this.isFinal = isFinal;
  }
}

/** A finished run does not change. @type {Map<string, Shown>} */
const seen = new Map();

/** Results of other machines, shipped with the demo. @type {Map<string, Shown>} */
const before = new Map();

/** @param {Record<string, string>} knobs */
function keyOf(knobs) {
  return JSON.stringify(Object.keys(knobs).sort().map((name) => [name, knobs[name]]));
}

/** Keeps the result of the arm with these knobs. @param {Record<string, string>} knobs @param {Shown} shown */
export function keep(knobs, shown) {
  if (seen.size >= MOST) seen.delete([...seen.keys()][0]);
  seen.set(keyOf(knobs), shown);
}

/** Returns the result of the arm with these knobs, if this page has seen it. @param {Record<string, string>} knobs */
export function known(knobs) {
  return seen.get(keyOf(knobs));
}

/** Returns the knobs of all arms that this page has seen. @returns {Record<string, string>[]} */
export function knowns() {
  return [...seen.keys()].map((key) => Object.fromEntries(JSON.parse(key)));
}

/** Keeps a result that was shipped with the demo. @param {Shown} shown */
export function ship(shown) {
  before.set(keyOf(shown.knobs), shown);
}

/** Returns the result that was shipped with the demo for these knobs, if any. @param {Record<string, string>} knobs */
export function shipped(knobs) {
  return before.get(keyOf(knobs));
}
