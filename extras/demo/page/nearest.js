// @ts-check
// What a published file can compare: two recorded arms that differ in one knob. For a wish that it cannot show it has the
// pair that comes nearest.

import { bytesOf } from "./words.js";

/** @typedef {import("./knob_choice.js").Knobs} Knobs */
/** @typedef {import("./knob_choice.js").Asked} Asked */

/** How far no limit is from 1 KiB, where another value of any other knob counts 1: the line is there to be moved. */
const LIMIT = 0.5;
const OCTAVES = 16;

/** @param {string} value of LOWAT */
const octave = (value) => Math.min(OCTAVES, Math.log2((bytesOf(value) ?? Infinity) / 1024));

/** The knobs that have several values. @param {readonly Knobs[]} recorded */
const varying = (recorded) => Object.keys(recorded[0] ?? {}).filter((name) => recorded.some((arm) => arm[name] !== recorded[0][name]));

/** The knobs in which two recorded arms differ, and in no other. @param {readonly Knobs[]} recorded all knobs of each arm */
export function comparable(recorded) {
  const names = varying(recorded);
  const rest = (/** @type {string} */ name) => new Set(recorded.map((arm) => JSON.stringify(names.map((each) => each !== name && arm[each]))));
  return names.filter((name) => rest(name).size < recorded.length);
}

/**
 * Returns the pair that comes nearest to what is wanted: two recorded arms that differ in one knob, first of all in the
 * wanted one. Null if no two arms do.
 * @param {[Knobs, Knobs]} wanted @param {string} compare @param {readonly Knobs[]} recorded all knobs of each arm
 * @returns {Asked | null}
 */
export function nearest([above, below], compare, recorded) {
  const names = varying(recorded);
  const apart = (/** @type {Knobs} */ one, /** @type {Knobs} */ other) => names.filter((name) => one[name] !== other[name]);
  const far = (/** @type {Knobs} */ arm, /** @type {Knobs} */ wanted) =>
    apart(arm, wanted).reduce((sum, name) => sum + (name === "LOWAT" ? (LIMIT * Math.abs(octave(arm[name]) - octave(wanted[name]))) / OCTAVES + 0.01 : 1), 0);
  /** @type {{upper: Knobs, lower: Knobs, name: string, far: number} | null} */
  let best = null;
  for (const lower of recorded) {
    for (const upper of recorded) {
      const [name, ...others] = apart(upper, lower);
      if (name === undefined || others.length) continue;
      // In place of another knob the limit is compared with none.
      const control = name !== compare && name === "LOWAT" ? { ...above, LOWAT: "none" } : above;
      const found = { upper, lower, name, far: far(upper, control) + far(lower, below) + (name === compare ? 0 : names.length) };
      if (!best || found.far < best.far) best = found;
    }
  }
  if (!best) return null;
  const { upper, lower, name } = best;
  return { compare: name, values: [upper[name], lower[name]], knobs: Object.fromEntries(Object.entries(lower).filter(([each]) => each !== name)) };
}
