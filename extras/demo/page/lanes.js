// @ts-check
// Draws the bytes that arrived over time: a lane for each stream, with a bar for each part of the time. The height of a
// bar is the stream's share of the link's rate, so that streams that take turns look like it.

import { STREAMS } from "./film.js";
import { explained, make, set, show, write } from "./svg.js";
import { worded } from "./tip.js";
import { LETTER, seconds } from "./words.js";

/** @typedef {import("./film.js").Stream} Stream */
/** @typedef {{width: number, em: number, y: number, laneHeight: number, brief: boolean, axis: boolean}} Room */

/** The width of a bar, in multiples of the text's size. */
const BAR = 0.3;
const LEAST_BAR = 0.12;
/** The space above the lanes for a label, and below them for the axis. */
export const ABOVE = 1.15;
export const AXIS = 1.2;
export const GAP = 0.25;

/** @param {number} most @param {number} count */
export function tickStep(most, count) {
  const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  return steps.find((step) => most / step <= count) ?? most;
}

let made = 0;

export class Lanes {
  /**
   * @param {import("./film.js").Film} film
   * @param {import("./arm_drawing.js").Scale} scale
   * @param {import("./types.js").Shown} shown
   * @param {Room} room
   */
  constructor(film, scale, shown, room) {
    this.film = film;
    this.scale = scale;
    this.shown = shown;
    this.room = room;
    const { em, y, laneHeight } = room;
    /** @type {Record<Stream, number>} */
    this.lane = { others: y + ABOVE * em, important: y + (ABOVE + GAP) * em + laneHeight };
    this.bottom = this.lane.important + laneHeight;
    const longest = Math.max(...STREAMS.map((stream) => film.asked(stream).name.length));
    this.left = Math.max(4.5, longest * 0.62 + 1.6) * em;
    this.right = room.width - 2 * em;
    this.element = make("g", { class: "lanes" });
    /** @type {Record<string, SVGElement>} */
    this.parts = {};
    /** Where the text about the instant at which the resource exists begins and ends. */
    this.label = [0, 0];
    this._axis();
    this._draw();
  }

  /** @param {string} name @param {SVGElement} element */
  _add(name, element) {
    this.parts[name] = element;
    this.element.append(element);
    return element;
  }

  /** The position of an instant. @param {number} tMs */
  xOf(tMs) {
    const part = Math.min(tMs, this.scale.durationMs) / this.scale.durationMs;
    return this.left + part * (this.right - this.left);
  }

  _axis() {
    const { em, brief, axis } = this.room;
    const step = tickStep(this.scale.durationMs / 1000, brief ? 4 : 9);
    for (let at = 0; at * 1000 <= this.scale.durationMs * 1.0001; at += step) {
      const x = this.xOf(at * 1000);
      const text = step < 0.02 ? `${Number((at * 1000).toFixed(1))} ms` : `${Number(at.toFixed(2))} s`;
      this.element.append(make("line", { x1: x, x2: x, y1: this.lane.others - 0.2 * em, y2: this.bottom, class: "grid" }));
      if (axis) this.element.append(make("text", { x, y: this.bottom + 1.05 * em, class: "tick" }, text));
    }
  }

  _draw() {
    const { lane, room, element } = this;
    const { em, laneHeight } = room;
    const clip = `arrived-${(made += 1)}`;
    const window = make("clipPath", { id: clip });
    window.append((this.parts.window = make("rect", { x: this.left - 2, y: 0, height: this.bottom, width: 0 })));
    element.append(window, make("rect", { x: this.left, width: this.right - this.left, y: lane.others, height: this.bottom - lane.others, class: "back" }));
    const count = Math.max(20, Math.round((this.right - this.left) / (BAR * em)));
    const bars = this._bars(count);
    for (const stream of STREAMS) {
      const name = `${this.shown.favoured === stream ? "▸ " : ""}${this.film.asked(stream).name}`;
      const middle = lane[stream] + laneHeight / 2;
      element.append(worded(make("text", { x: 0.3 * em, y: middle + 0.35 * em, class: `lane-name ${stream}` }, name), stream, this.shown.names));
      const what = this.shown.names[stream];
      element.append(explained(make("rect", { x: this.left, width: this.right - this.left, y: lane[stream], height: laneHeight, class: "hole" }), `Nothing of ${what} arrived here: the link carried other bytes, or waited for a lost packet.`));
      this._add(`wait-${stream}`, explained(make("rect", { y: middle - laneHeight * 0.14, height: laneHeight * 0.28, class: `wait ${stream}` }), `${what}: the origin has it, and its first byte has not arrived.`));
      this._add(`lane-${stream}`, explained(make("path", { d: bars[stream], class: `fill ${stream}`, "clip-path": `url(#${clip})` }), `${what}: bytes that arrived. A bar's height is their share of the link.`));
    }
    const top = lane.others - 0.2 * em;
    this._add("available", make("line", { y1: top, y2: this.bottom, class: "available" }));
    this._add("available-name", worded(make("text", { y: lane.others - 0.3 * em, class: "available-name" }, `${this.film.asked("important").name} exists`), "exists", this.shown.names));
    this._add("now", make("line", { y1: top - 0.2 * em, y2: this.bottom, class: "now" }));
    this._add("waiting", worded(make("text", { y: lane.important + laneHeight / 2 + 0.42 * em, class: "waiting" }), "waited"));
  }

  /** @param {number} count @returns {Record<Stream, string>} */
  _bars(count) {
    const { laneHeight } = this.room;
    const width = (this.right - this.left) / count;
    const most = (this.scale.bytesPerMs * this.scale.durationMs) / count;
    const path = (/** @type {Stream} */ stream) => {
      const bottom = this.lane[stream] + laneHeight;
      const bar = (/** @type {number} */ bytes, /** @type {number} */ index) => {
        const height = laneHeight * Math.min(1, Math.max(LEAST_BAR, bytes / most));
        return bytes ? `M${(this.left + index * width).toFixed(2)} ${bottom}v${(-height).toFixed(2)}h${width.toFixed(2)}V${bottom}z` : "";
      };
      return this.film.received(stream, count, this.scale.durationMs).map(bar).join("");
    };
    return { others: path("others"), important: path("important") };
  }

  /** @param {number} tMs */
  show(tMs) {
    const now = this.xOf(Math.min(tMs, this.film.durationMs));
    set(this.parts.window, { width: Math.max(0, now - this.left + 2) });
    for (const stream of STREAMS) {
      const asked = this.film.asked(stream);
      const since = stream === "important" ? this.film.availableMs : (asked.available_ms ?? asked.sent_ms);
      const x = this.xOf(since);
      const to = this.xOf(Math.min(tMs, asked.first_byte_ms));
      set(this.parts[`wait-${stream}`], { x, width: tMs >= since ? Math.max(2, to - x) : 0 });
    }
    set(this.parts.now, { x1: now, x2: now });
    this._showWait(tMs, now);
  }

  /**
   * Shows when the important resource exists, and how long it has waited for its first byte: beside the playhead while it
   * waits, and above the lanes if there is no room, and later.
   * @param {number} tMs @param {number} now
   */
  _showWait(tMs, now) {
    const { em, width, brief } = this.room;
    const { name, first_byte_ms: firstMs } = this.film.asked("important");
    const existsMs = this.film.availableMs;
    const exists = this.xOf(existsMs);
    const waits = tMs > existsMs && tMs < firstMs;
    const waited = `${waits ? "waiting" : "waited"} ${seconds(Math.max(0, Math.min(tMs, firstMs) - existsMs))}`;
    const beside = waits && now + (1.2 * waited.length * LETTER + 1) * em < width;
    const label = beside || tMs <= existsMs ? `${name} exists` : brief ? waited : `${name} exists, ${waited}`;
    const long = (label.length * LETTER + 0.6) * em;
    const toTheLeft = exists + long > width;
    const text = this.parts["available-name"];
    write(text, label);
    this.label = tMs < existsMs ? [0, 0] : toTheLeft ? [exists - long, exists] : [exists, exists + long];
    set(text, { x: toTheLeft ? exists - 4 : exists + 4, "text-anchor": toTheLeft ? "end" : "start" });
    set(this.parts.available, { x1: exists, x2: exists });
    for (const part of ["available", "available-name"]) show(this.parts[part], tMs >= existsMs);
    show(this.parts.waiting, beside);
    write(this.parts.waiting, waited);
    set(this.parts.waiting, { x: now + 0.5 * em });
  }
}
