// @ts-check
// The filmstrip: the client's screens of both arms at equal steps of time, and how much sooner one page is ready.

import { tickStep } from "./arm_drawing.js";
import { Screen } from "./screen.js";
import { element, make, set } from "./svg.js";
import { seconds } from "./words.js";

/** @typedef {import("./film.js").Film} Film */
/** @typedef {{screen: SVGElement, tMs: number}} Frame */

/** Width of a frame, divided by its height. */
const ASPECT = 1.5;
/** A shorter difference is none: it is less than a person sees. */
const LEAST_MS = 20;

export class Filmstrip {
  /**
   * @param {readonly (Film | null)[]} films
   * @param {readonly string[]} names
   * @param {number} durationMs of the longer film
   * @param {{width: number, height: number, em: number}} room in pixels
   */
  constructor(films, names, durationMs, { width, height, em }) {
    this.films = films;
    this.names = names;
    this.element = element("section", "strip");
    this.element.setAttribute("aria-label", "filmstrip");
    this.gap = element("p", "gap");
    this.gap.setAttribute("role", "status");
    /** @type {Frame[]} */
    this.frames = [];
    const gapWidth = width < 46 * em ? 0 : 13 * em;
    const svg = make("svg", { class: "frames", viewBox: `0 0 ${width - gapWidth} ${height}`, role: "img", "aria-label": "the client's screen in steps of time" });
    svg.style.height = `${height}px`;
    const row = (height - 1.3 * em) / films.length;
    const frame = { width: ASPECT * (row - 4), height: row - 4 };
    const count = Math.max(2, Math.floor((width - gapWidth) / (frame.width + 4)));
    const stepMs = 1000 * tickStep(durationMs / 1000, count - 1);
    const pitch = Math.min((width - gapWidth) / (Math.ceil(durationMs / stepMs) + 1), frame.width * 1.6);
    for (let number = 0; number * stepMs < durationMs + stepMs; number += 1) {
      const tMs = Math.min(number * stepMs, durationMs);
      const x = number * pitch;
      if (x + frame.width > width - gapWidth) break;
      const text = stepMs < 20 ? `${Number(tMs.toFixed(1))} ms` : `${Number((tMs / 1000).toFixed(2))} s`;
      svg.append(make("text", { x: x + frame.width / 2, y: height - 0.2 * em, class: "tick" }, text));
      films.forEach((film, index) => {
        if (!film) return;
        const { element: screen } = this._screen(film, tMs, { x: x + 1, y: index * row + 1, ...frame });
        svg.append(screen);
        this.frames.push({ screen, tMs });
      });
    }
    this.element.append(svg, this.gap);
  }

  /** @param {Film} film @param {number} tMs @param {import("./screen.js").Box} box */
  _screen(film, tMs, box) {
    const made = new Screen(film, box);
    made.show(tMs);
    return made;
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    for (const frame of this.frames) set(frame.screen, { opacity: frame.tMs <= tMs ? 1 : 0.12 });
    const text = this._gapAt(tMs);
    if (this.gap.textContent !== text) this.gap.textContent = text;
  }

  /** Returns by how much one page is ready sooner than the other, as far as it is known. @param {number} tMs */
  _gapAt(tMs) {
    const [first, second] = this.films;
    if (!first || !second) return "";
    const sooner = first.readyMs <= second.readyMs ? 0 : 1;
    const [earlyMs, lateMs] = [first.readyMs, second.readyMs].sort((one, other) => one - other);
    if (tMs < earlyMs) return "";
    if (lateMs - earlyMs < LEAST_MS) return tMs < lateMs ? "" : "ready at the same time";
    const where = sooner === 0 ? "above" : "below";
    return `${seconds(Math.min(tMs, lateMs) - earlyMs)} sooner ${where}${tMs < lateMs ? " so far" : ""}`;
  }
}
