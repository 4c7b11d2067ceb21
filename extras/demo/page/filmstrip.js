// @ts-check
// The filmstrip: the client's screens of both arms at equal steps of time, how much earlier one page is ready, and how
// much earlier its important resource begins.

import { tickStep } from "./lanes.js";
import { Screen } from "./screen.js";
import { element, make, write } from "./svg.js";
import { worded } from "./tip.js";
import { gap, seconds } from "./words.js";

/** @typedef {import("./film.js").Film} Film */
/** @typedef {{screen: Screen, tMs: number, seen: boolean | null}} Frame */

/** Width of a frame, divided by its height. */
const ASPECT = 0.8;
const TEXT = 1.3;
/** Space for the gap's text beside the frames; in a strip that is narrower than LEAST, the text is below. */
const GAP = 21;
export const LEAST = 46;
/** A shorter difference is none: it is less than a person sees. */
const LEAST_MS = 20;
/** While the slower page is still loading, a shorter difference is not shown: "0.0 ms" would look like a result. */
const LEAST_SO_FAR_MS = 100;

export class Filmstrip {
  /**
   * @param {readonly (Film | null)[]} films
   * @param {readonly string[]} names
   * @param {number} durationMs of the longer film
   * @param {{width: number, height: number, em: number}} room in pixels
   * @param {readonly string[]} ids of the films
   * @param {import("./kept.js").Kept} kept the frames of the last strip
   */
  constructor(films, names, durationMs, { width, height, em }, ids, kept) {
    this.films = films;
    this.names = names;
    const isWide = width >= LEAST * em;
    this.element = element("section", isWide ? "strip" : "strip stacked");
    this.element.setAttribute("aria-label", "filmstrip");
    this.gap = element("p", "gap");
    this.gap.setAttribute("role", "status");
    this.gap.append(element("strong", "gap-time"), element("span", "gap-words"), element("span", "gap-first"));
    /** @type {Frame[]} */
    this.frames = [];
    const across = width - (isWide ? (GAP + 1) * em : 0);
    this.gap.style.width = isWide ? `${GAP * em}px` : "";
    const svg = make("svg", { class: "frames", viewBox: `0 0 ${across} ${height}`, role: "img", "aria-label": "the client's screen in steps of time" });
    svg.style.width = `${across}px`;
    svg.style.height = `${height}px`;
    const row = (height - TEXT * em) / films.length;
    const frame = { width: ASPECT * (row - 0.25 * em), height: row - 0.25 * em };
    const [left, right] = [2.2 * em, across - frame.width - 3];
    const stepMs = 1000 * tickStep(durationMs / 1000, Math.max(2, Math.floor((right - left) / (frame.width + 3))));
    const pitch = ((right - left) * stepMs) / (Math.ceil(durationMs / stepMs) * stepMs);
    const texts = Math.ceil((4.2 * em) / pitch);
    films.forEach((_, index) => {
      svg.append(worded(make("text", { x: 0.3 * em, y: index * row + frame.height / 2 + 0.35 * em, class: "strip-name" }, "▲▼"[index] ?? ""), "strip"));
    });
    for (let number = 0; number * stepMs < durationMs + stepMs; number += 1) {
      const tMs = number * stepMs;
      const x = left + number * pitch;
      const text = stepMs < 20 ? `${Number(tMs.toFixed(1))} ms` : `${Number((tMs / 1000).toFixed(2))} s`;
      if (number % texts === 0 && x + frame.width / 2 + 1.5 * em < across) {
        svg.append(make("text", { x: x + frame.width / 2, y: height - 0.25 * em, class: "tick" }, text));
      }
      films.forEach((film, index) => {
        if (!film) return;
        const box = { x, y: index * row + 1, ...frame };
        const made = kept.keep(`frame ${index} ${number}`, [ids[index], tMs, box], () => ({ screen: new Screen(film, box), tMs, seen: /** @type {boolean | null} */ (null) }));
        svg.append(made.screen.element);
        this.frames.push(made);
      });
    }
    this.element.append(svg, this.gap);
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    const ended = this.films.every((film) => !film || tMs >= film.durationMs);
    for (const frame of this.frames) {
      const seen = frame.tMs <= tMs || ended;
      if (seen === frame.seen) continue;
      frame.seen = seen;
      frame.screen.element.dataset.at = String(frame.tMs);
      frame.screen.element.classList.toggle("unseen", !seen);
      frame.screen.show(seen ? frame.tMs : 0);
    }
    const texts = this._gapAt(tMs);
    [...this.gap.children].forEach((part, index) => write(part, texts[index] ?? ""));
  }

  /** Returns by how much one page is ready earlier than the other, as far as it is known, in three texts. @param {number} tMs */
  _gapAt(tMs) {
    const [first, second] = this.films;
    if (!first || !second) return ["", ""];
    const sooner = first.readyMs <= second.readyMs ? 0 : 1;
    const [earlyMs, lateMs] = [first.readyMs, second.readyMs].sort((one, other) => one - other);
    const ready = first.document.ready;
    if (tMs < earlyMs) return ["", ""];
    if (lateMs - earlyMs < LEAST_MS) return tMs < lateMs ? ["", ""] : ["same time", `${ready} in both`, this._firstByte()];
    const where = `${ready} with ${this.names[sooner]}`;
    if (tMs < lateMs && tMs - earlyMs < LEAST_SO_FAR_MS) return ["", ""];
    if (tMs < lateMs) return [gap(tMs - earlyMs), `so far: ${where}`];
    return [`${gap(lateMs - earlyMs)} earlier`, where, this._firstByte(sooner)];
  }

  /**
   * Says how much earlier the important resource begins: in an arm, or by default in the arm with the earlier first byte.
   * @param {number} [arm]
   */
  _firstByte(arm) {
    const [first, second] = this.films.map((film) => film?.asked("important").first_byte_ms ?? 0);
    if (Math.abs(first - second) < LEAST_MS) return arm === undefined ? "" : "first byte at the same time";
    const early = first < second ? 0 : 1;
    const isEarly = arm === undefined || arm === early;
    return `first byte ${seconds(Math.abs(first - second))} ${isEarly ? "earlier" : "later"}${arm === undefined ? ` with ${this.names[early]}` : ""}`;
  }
}
