// @ts-check
// The sections of the explanation, as data. Their texts are in strings.LANGUAGE.js, under the same names.

/** @typedef {import("./facts.js").Recording} Recording */

/** The recordings that the explanation shows, by the knobs that differ from the recordings' usual ones. */
export const WISHES = Object.freeze({
  none: { LOWAT: "none" },
  price: { LOWAT: "16384" },
  fast: { RATE: "100mbit", DELAY: "5ms" },
  fastNone: { LOWAT: "none", RATE: "100mbit", DELAY: "5ms" },
  equal: { LOWAT: "16384", PRIORITY: "none" },
  queue: { LOWAT: "16384", QUEUE: "1000" },
});
/** @typedef {keyof typeof WISHES} Wish */

/** The recording that is compared with a choice, if it is not that without a limit. @type {Partial<Record<Wish, Wish>>} */
export const COMPARED = { fast: "fastNone", equal: "price", queue: "price" };

/** The words that explain the results, by their facts. @type {Record<string, string>} */
export const WORDS_OF_RESULTS = { picture: "picture", works: "script", pictureReady: "picture", ready: "ready", first: "first", unsent: "buffer", gain: "below" };

/** The choices in the section about costs. @type {readonly Wish[]} */
export const CHOICES = ["price", "fast", "equal", "queue"];

/**
 * film: the recording; line: that of the line's value; when: that of the choice. fromMs, toMs: the part of its time that
 * can be shown; toMs null for all. atMs: where it begins to be shown. compare: true to show the recording without a limit
 * below it. results: facts in large type; early: true to show them before their time. bet: true to show the bet. legend: what
 * the figure names of its colours and marks.
 * @typedef {{
 *   id: string, film: Wish | "line" | "when", fromMs: number, toMs: (recording: Recording) => number | null,
 *   atMs: (recording: Recording) => number, control: "bet" | "line" | "when" | null, compare: boolean,
 *   results: readonly string[], early: boolean, bet: boolean, legend: readonly string[],
 * }} Section
 */

const ALL = () => null;
/** @param {string} name @param {number} [more] */
const at = (name, more = 0) => (/** @type {Recording} */ { facts }) => facts[name].value + more;

/** @type {readonly Section[]} */
export const SECTIONS = [
  { id: "start", film: "none", fromMs: 0, toMs: ALL, atMs: at("ready", 1500), control: null, compare: false, results: ["picture", "works"], early: false, bet: false, legend: ["picture", "script", "ready", "first", "gap"] },
  { id: "asks", film: "none", fromMs: 0, toMs: () => 1000, atMs: at("pictureReady", 60), control: null, compare: false, results: ["pictureReady", "ready"], early: false, bet: false, legend: ["picture", "script", "coming"] },
  { id: "places", film: "none", fromMs: 0, toMs: at("picture"), atMs: at("ready", 2500), control: null, compare: false, results: [], early: false, bet: false, legend: ["picture", "script"] },
  { id: "bet", film: "none", fromMs: 0, toMs: at("ready"), atMs: at("ready"), control: "bet", compare: false, results: ["ready"], early: false, bet: true, legend: ["picture", "script", "ready", "bet"] },
  { id: "happened", film: "none", fromMs: 0, toMs: ALL, atMs: at("first"), control: null, compare: false, results: ["first", "works"], early: true, bet: true, legend: ["picture", "script", "first", "bet", "gap"] },
  { id: "why", film: "none", fromMs: 0, toMs: at("first", 500), atMs: at("ready"), control: null, compare: false, results: ["unsent"], early: true, bet: false, legend: ["picture", "script", "ready"] },
  { id: "line", film: "line", fromMs: 0, toMs: ALL, atMs: at("ready", 100), control: "line", compare: true, results: ["works", "gain"], early: true, bet: false, legend: ["picture", "script", "limit", "gap"] },
  { id: "cost", film: "when", fromMs: 0, toMs: ALL, atMs: at("ready", 100), control: "when", compare: true, results: ["picture", "works"], early: true, bet: false, legend: ["picture", "script", "gap"] },
];
