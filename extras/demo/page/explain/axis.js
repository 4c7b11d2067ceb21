// @ts-check
// The time of a film: when bytes of each file arrived, up to the instant that is shown, and a slider that moves it.
// Below it, for comparison, the whole of another recording on the same time line; then what is still to come is pale.

import { STREAMS } from "../film.js";
import { element, make, set, write } from "../svg.js";

/** @typedef {import("./facts.js").Recording} Recording */
/** @typedef {import("./language.js").Language} Language */

/** Half of the width of the slider's thumb, where the time line begins and ends; and lengths of the drawing; all in rem. */
const INSET = 0.8;
const LANE = 0.55;
const BETWEEN = 0.3;
const TICK = 0.9;
const NAME = 1.15;
/** The width of a part of a lane that is filled if anything arrived in its time. */
const PART_PX = 2;
const STEPS = 1000;
const TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5];
/** The least room for a number of the axis, in rem. */
const TICK_ROOM = 2.6;

export class Axis {
  /**
   * @param {Language} language @param {number} fromMs @param {number} toMs @param {(tMs: number) => void} seek
   */
  constructor(language, fromMs, toMs, seek) {
    this.language = language;
    this.fromMs = fromMs;
    this.toMs = toMs;
    this.width = 300;
    this.rem = 17;
    this.element = element("div", "axis");
    this.drawing = make("svg", { class: "lanes-of-files", "aria-hidden": "true" });
    this.slider = /** @type {HTMLInputElement} */ (element("input", "time"));
    Object.assign(this.slider, { type: "range", min: "0", max: String(STEPS), step: "1" });
    this.slider.setAttribute("aria-label", language.strings.time);
    this.slider.addEventListener("input", () => seek(fromMs + (Number(this.slider.value) / STEPS) * (toMs - fromMs)));
    const point = (/** @type {PointerEvent} */ { buttons, clientX }) => {
      const x = clientX - this.drawing.getBoundingClientRect().left;
      if (buttons) seek(fromMs + ((x - this.inset) / this.long) * (toMs - fromMs));
    };
    for (const type of ["pointerdown", "pointermove"]) this.drawing.addEventListener(type, (event) => point(/** @type {PointerEvent} */ (event)));
    this.element.append(this.drawing, this.slider);
    /** @type {Recording | null} */
    this.recording = null;
    /** @type {Recording | null} */
    this.other = null;
    /** @type {readonly string[]} */
    this.names = [];
    /** @type {{kind: string, tMs: number, always: boolean}[]} */
    this.marks = [];
    this.tMs = fromMs;
  }

  get inset() {
    return INSET * this.rem;
  }

  /** The length of the time line. */
  get long() {
    return this.width - 2 * this.inset;
  }

  /** @param {number} tMs */
  xOf(tMs) {
    return this.inset + ((tMs - this.fromMs) / (this.toMs - this.fromMs)) * this.long;
  }

  /** @param {Recording} recording @param {Recording | null} other @param {readonly string[]} names @param {{kind: string, tMs: number, always: boolean}[]} marks */
  load(recording, other, names, marks) {
    Object.assign(this, { recording, other, names, marks });
  }

  /** Draws all anew, for the present width. */
  draw() {
    this.width = this.element.clientWidth || 300;
    if (!this.recording) return;
    this.rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const { inset, long, rem } = this;
    const pair = 2 * LANE * rem;
    const top = this.other ? NAME * rem : 0;
    const below = top + pair + (BETWEEN + NAME) * rem;
    const bottom = (this.other ? below : top) + pair + 2;
    this.height = bottom + (TICK + 0.2) * rem;
    set(this.drawing, { viewBox: `0 0 ${this.width} ${this.height}`, width: this.width, height: this.height });
    this.clip = make("rect", { x: 0, y: 0, width: 0, height: bottom });
    const id = `until-${(Axis.made += 1)}`;
    const clip = make("clipPath", { id });
    clip.append(this.clip);
    const now = make("g", { "clip-path": `url(#${id})` });
    now.append(...this._lanes(this.recording, top));
    const ground = (/** @type {number} */ y) => make("rect", { class: "ground-of-lanes", x: inset, y, width: long, height: pair });
    /** @type {SVGElement[]} */
    const drawn = [clip, ground(top)];
    if (this.other) {
      const coming = make("g", { class: "still-coming" });
      coming.append(...this._lanes(this.recording, top));
      drawn.push(coming);
    }
    drawn.push(now);
    /** @type {SVGElement[]} */
    const names = [];
    if (this.other) {
      const lanes = make("g", { class: "other-recording" });
      lanes.append(ground(below), ...this._lanes(this.other, below));
      const [above, under] = this.names;
      const name = (/** @type {string} */ text, /** @type {number} */ y) => make("text", { class: "name-of-lanes", x: inset, y: y - 0.25 * rem }, text);
      drawn.push(lanes);
      names.push(name(above, top), name(under, below));
    }
    this.needle = make("line", { class: "needle", y1: top, y2: bottom });
    this.pins = this.marks.map(({ kind, tMs }) => make("path", { class: `pin-of ${kind}`, d: `M${this.xOf(tMs).toFixed(1)} ${top.toFixed(1)}v${(bottom - top).toFixed(1)}` }));
    drawn.push(...this.pins, this.needle, ...names, ...this._ticks(bottom));
    this.drawing.replaceChildren(...drawn);
    this.show(this.tMs);
  }

  /** @param {number} tMs */
  show(tMs) {
    this.tMs = tMs;
    if (!this.clip || !this.needle) return;
    const x = this.xOf(tMs);
    set(this.clip, { width: Math.max(0, x) });
    set(this.needle, { x1: x, x2: x });
    this.marks.forEach(({ tMs: at, always }, index) => set(this.pins?.[index] ?? this.drawing, { visibility: always || at <= tMs ? "inherit" : "hidden" }));
    const value = String(Math.round(((tMs - this.fromMs) / (this.toMs - this.fromMs)) * STEPS));
    if (this.slider.value !== value) this.slider.value = value;
    this.slider.setAttribute("aria-valuetext", this.language.seconds(tMs));
  }

  /** @param {Recording} recording @param {number} y */
  _lanes({ film }, y) {
    const count = Math.max(1, Math.floor(this.long / PART_PX));
    const long = this.long / count;
    const lane = LANE * this.rem;
    return STREAMS.map((stream, row) => {
      const parts = film.receivedBetween(stream, count, this.fromMs, this.toMs);
      let path = "";
      for (let index = 0; index < count; index += 1) {
        if (!parts[index]) continue;
        let end = index;
        while (end < count && parts[end]) end += 1;
        path += `M${(this.inset + index * long).toFixed(1)} ${(y + row * lane + 1).toFixed(1)}h${((end - index) * long).toFixed(1)}v${(lane - 2).toFixed(1)}h${((index - end) * long).toFixed(1)}z`;
        index = end;
      }
      return make("path", { class: `bytes-of ${stream}`, d: path });
    });
  }

  /** @param {number} bottom */
  _ticks(bottom) {
    const pixels = this.long / (this.toMs - this.fromMs);
    const step = 1000 * (TICKS.find((each) => each * 1000 * pixels >= TICK_ROOM * this.rem) ?? TICKS[TICKS.length - 1]);
    const digits = step < 100 ? 2 : step < 1000 ? 1 : 0;
    const ticks = [];
    for (let tMs = Math.ceil(this.fromMs / step) * step; tMs <= this.toMs; tMs += step) {
      const x = this.xOf(tMs);
      ticks.push(make("path", { class: "tick", d: `M${x} ${bottom}v3` }));
      const text = make("text", { class: "tick-name", x, y: bottom + TICK * this.rem, "text-anchor": "middle" });
      write(text, tMs === 0 ? this.language.seconds(0, 0) : this.language.number(tMs / 1000, digits));
      ticks.push(text);
    }
    return ticks;
  }
}
Axis.made = 0;
