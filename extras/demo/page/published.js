// @ts-check
// Takes the place of api.js in a published file: all results are in the file, so nothing is requested.

import { keep, known, Refused } from "./seen.js";

/** @typedef {import("./types.js").Shown} Shown */
/** @typedef {{knobs: Record<string, string>, shown: Shown}} Answer */

/** @param {string} id */
function text(id) {
  return document.getElementById(id)?.textContent ?? "";
}

/** @type {import("./types.js").Choices} */
const OFFERED = JSON.parse(text("choices"));

export async function choices() {
  return OFFERED;
}

/** Unpacks the results. @returns {Promise<Shown[]>} */
export async function recordings() {
  const packed = Uint8Array.from(atob(text("films")), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(unpacked).json()).arms;
}

/** Reads the results. Some knobs may have come since they were recorded. */
export async function readShipped() {
  const defaults = Object.fromEntries(OFFERED.knobs.map((knob) => [knob.name, knob.default]));
  for (const shown of await recordings()) keep({ ...defaults, ...shown.knobs }, shown);
}

/** @param {Record<string, string>} knobs @returns {Promise<Answer>} */
export async function ask(knobs) {
  const shown = known(knobs);
  if (!shown) throw new Refused("These knobs were not recorded in this file.", true);
  return { knobs, shown };
}

/** @param {Answer} answer @returns {Promise<Shown>} */
export async function result({ shown }) {
  return shown;
}
