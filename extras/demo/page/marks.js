// @ts-check
// The chapter marks of two films that play together: instants at which a speaker has something to say.

/** @typedef {import("./film.js").Film} Film */
/** @typedef {import("./film.js").Mark} Mark */

/** The longest decisive time, and the same as a part of the film. */
const DECISIVE_MS = 500;
const DECISIVE_PART = 0.06;
/** Marks that are closer are one mark: nobody sees what happens between them. In a short film, it is a part of the film. */
const CLOSE_MS = 50;
const CLOSE_PART = 0.005;
const PLACE = ["above", "below"];
const END = "end";
/** Between what happens at one mark. */
export const APART = "; ";

/**
 * Returns the marks in order of time, and the decisive time: while the important resource begins to exist.
 * @param {readonly (Film | null)[]} films
 * @param {readonly string[]} names of the arms
 * @returns {{marks: Mark[], decisive: [number, number]}}
 */
export function marksOf(films, names) {
  const there = films.filter((film) => film !== null);
  if (!there.length) return { marks: [], decisive: [0, 0] };
  const durationMs = Math.max(1, ...there.map((film) => film.durationMs));
  const close = Math.min(CLOSE_MS, CLOSE_PART * durationMs);
  const every = films.flatMap((film, index) => (film?.marks ?? []).map((mark) => ({ ...mark, where: PLACE[index] ?? names[index] })));
  every.push({ tMs: durationMs, text: END, where: "" });
  every.sort((one, other) => one.tMs - other.tMs);
  /** Marks that are close to the first of them. @type {(typeof every)[]} */
  const groups = [];
  for (const mark of every) {
    const last = groups[groups.length - 1];
    if (last && mark.tMs - last[0].tMs < close) last.push(mark);
    else groups.push([mark]);
  }
  const marks = groups.map((group) => ({ tMs: group[group.length - 1].tMs, text: textOf(group, there.length) }));
  const long = Math.min(DECISIVE_MS, DECISIVE_PART * durationMs);
  const existsMs = Math.min(...there.map((film) => film.availableMs));
  return { marks, decisive: [existsMs - long / 4, existsMs + (3 * long) / 4] };
}

/** Names what happens at a mark, and in which film if it is not in all. @param {readonly {text: string, where: string}[]} group @param {number} films */
function textOf(group, films) {
  if (group.some(({ text }) => text === END)) return END;
  const texts = [...new Set(group.map(({ text }) => text))];
  const of = (/** @type {string} */ text) => group.filter((each) => each.text === text);
  return texts.map((text) => (of(text).length === films ? text : `${text}, ${of(text)[0].where}`)).join(APART);
}
