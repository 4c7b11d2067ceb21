// @ts-check
// Draws the important resource's first byte over LOWAT, one point for each stop of the slider that has been run.

import { make } from "./svg.js";
import { seconds } from "./words.js";

/** @typedef {import("./stops.js").Stop} Stop */

const WIDTH = 240;
const HEIGHT = 112;
const LEFT = 8;
const TOP = 38;
const BOTTOM = 100;
/** The height of a label, and the width of a letter, in the drawing's units. */
const LINE = 12;
const LETTER = 7.5;

/**
 * @param {readonly Stop[]} stops
 * @param {readonly string[]} marked the values of the arms that are shown
 * @param {(value: string) => string} nameOf
 */
export function curve(stops, marked, nameOf) {
  const points = stops.map(({ value, shown }, index) => ({ value, index, ms: shown?.arm.first_byte_ms ?? null }));
  const there = points.filter((point) => point.ms !== null);
  const most = Math.max(1, ...there.map((point) => Number(point.ms)));
  const x = (/** @type {number} */ index) => LEFT + (index / Math.max(1, stops.length - 1)) * (WIDTH - 2 * LEFT);
  const y = (/** @type {number} */ ms) => BOTTOM - (ms / most) * (BOTTOM - TOP);
  const name = stops.find((stop) => stop.shown)?.shown?.names.important ?? "script";
  const drawn = make("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const told = there.map((point) => `${nameOf(point.value)} ${seconds(point.ms)}`).join(", ");
  drawn.setAttribute("aria-label", `first byte of the ${name} over the limit: ${told || "nothing has been run"}`);
  drawn.append(
    make("text", { class: "curve-name", x: LEFT, y: 12 }, `${name} begins (${there.length} of ${stops.length} run)`),
    make("path", { class: "curve-axis", d: `M${LEFT} ${BOTTOM}H${WIDTH - LEFT}` }),
  );
  for (const [one, other] of there.slice(1).map((point, at) => [there[at], point])) {
    // Only neighbouring stops are joined.
    if (other.index === one.index + 1) {
      drawn.append(make("path", { class: "curve-line", d: `M${x(one.index)} ${y(Number(one.ms))}L${x(other.index)} ${y(Number(other.ms))}` }));
    }
  }
  /** Where the last label ends, and its line. */
  let last = { right: -Infinity, y: 0 };
  for (const { value, index, ms } of points) {
    const isMarked = marked.includes(value);
    if (ms === null) {
      drawn.append(make("circle", { class: isMarked ? "curve-none marked" : "curve-none", cx: x(index), cy: BOTTOM, r: 2 }));
      continue;
    }
    const dot = make("circle", { class: isMarked ? "curve-dot marked" : "curve-dot", cx: x(index), cy: y(ms), r: isMarked ? 4.5 : 2.5 });
    dot.append(make("title", {}, `${nameOf(value)}: ${seconds(ms)}`));
    drawn.append(dot);
    if (!isMarked) continue;
    // The line comes from the upper left.
    const anchor = index > stops.length - 3 ? "end" : "start";
    const text = seconds(ms);
    const left = x(index) - (anchor === "end" ? text.length * LETTER : 0);
    // Beside the label of a neighbour there is room below both points.
    const above = y(ms) - 8;
    const crowded = left < last.right && Math.abs(above - last.y) < LINE;
    const line = crowded ? Math.max(last.y + 8, y(ms)) + LINE + 4 : above;
    last = { right: left + text.length * LETTER, y: above };
    drawn.append(make("text", { class: "curve-value", x: x(index), y: line, "text-anchor": anchor }, text));
  }
  return drawn;
}
