// @ts-check
// The chapter marks of two films that play together: instants at which a speaker has something to say.

/** @typedef {import("./film.js").Film} Film */
/** @typedef {import("./film.js").Mark} Mark */

/** The longest decisive time, and the same as a part of the film. */
const DECISIVE_MS = 500;
const DECISIVE_PART = 0.06;
/** Marks with the same text that are closer than this part of the film are one mark. */
const CLOSE = 0.005;
const PLACE = ["above", "below"];

/**
 * Returns the marks in order of time, and the decisive time: while the important resource begins to exist.
 * @param {readonly (Film | null)[]} films
 * @param {readonly string[]} names of the arms
 * @returns {{marks: Mark[], decisive: [number, number]}}
 */
export function marksOf(films, names) {
  const there = films.filter((film) => film !== null);
  const durationMs = Math.max(1, ...there.map((film) => film.durationMs));
  /** @type {Mark[]} */
  const marks = [];
  for (let number = 0; number < 4; number += 1) {
    const each = films.flatMap((film, index) => (film ? [{ ...film.marks[number], index }] : []));
    const [first, second] = each;
    if (!first) continue;
    if (second && first.text === second.text && Math.abs(first.tMs - second.tMs) < CLOSE * durationMs) {
      marks.push({ tMs: Math.max(first.tMs, second.tMs), text: first.text });
    } else if (second) {
      marks.push(...each.map(({ tMs, text, index }) => ({ tMs, text: `${text}, ${PLACE[index] ?? names[index]}` })));
    } else {
      marks.push({ tMs: first.tMs, text: first.text });
    }
  }
  if (there.length) marks.push({ tMs: durationMs, text: "end" });
  marks.sort((one, other) => one.tMs - other.tMs);
  const long = Math.min(DECISIVE_MS, DECISIVE_PART * durationMs);
  const existsMs = Math.min(...there.map((film) => film.availableMs));
  return { marks, decisive: there.length ? [existsMs - long / 4, existsMs + (3 * long) / 4] : [0, 0] };
}
