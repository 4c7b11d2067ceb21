// @ts-check
// The line in the send buffer, which the reader drags by pointer or finger, or moves by keys, from one recorded value to
// the next. It is an element of HTML above the drawing: browsers ignore `touch-action` on parts of an SVG.

import { drag } from "../drag.js";
import { element } from "../svg.js";

/** @typedef {import("./facts.js").Recording} Recording */

export class Line {
  /**
   * @param {import("./way.js").Way} way @param {readonly Recording[]} stops from no limit to the smallest
   * @param {(recording: Recording) => string} nameOf @param {string} label @param {(recording: Recording) => void} moved
   */
  constructor(way, stops, nameOf, label, moved) {
    this.way = way;
    this.stops = stops;
    this.nameOf = nameOf;
    this.moved = moved;
    this.at = 0;
    this.element = element("div", "grip-of-line");
    this.element.append(element("span", "handle-of-line", "⇆"));
    for (const [name, value] of Object.entries({ role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": String(stops.length - 1) })) {
      this.element.setAttribute(name, value);
    }
    this.element.addEventListener("pointerdown", (event) => this._take(event));
    this.element.addEventListener("keydown", (event) => this._press(event));
    way.places.buffer.track.append(this.element);
  }

  /** Stands where a recording's limit is. @param {Recording} recording */
  show(recording) {
    this.at = Math.max(0, this.stops.indexOf(recording));
    this.element.style.left = `${(Math.min(1, recording.limit / this.way.full) * 100).toFixed(2)}%`;
    this.element.classList.toggle("unset", recording.limit === Infinity);
    this.element.setAttribute("aria-valuenow", String(this.at));
    this.element.setAttribute("aria-valuetext", this.nameOf(recording));
  }

  /** @param {number} index */
  go(index) {
    const next = Math.min(this.stops.length - 1, Math.max(0, index));
    if (next !== this.at) this.moved(this.stops[next]);
  }

  /** @param {KeyboardEvent} event */
  _press(event) {
    const to = { ArrowLeft: this.at + 1, ArrowDown: this.at + 1, ArrowRight: this.at - 1, ArrowUp: this.at - 1, Home: 0, End: this.stops.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.go(to);
  }

  /** @param {PointerEvent} event */
  _take(event) {
    if (event.button) return;
    this.element.focus({ preventScroll: true });
    const begun = this.at;
    const { left, width } = this.way.places.buffer.track.getBoundingClientRect();
    const follow = (/** @type {number} */ clientX) => {
      const bytes = ((clientX - left) / width) * this.way.full;
      const far = (/** @type {Recording} */ { limit }) => Math.abs(Math.min(limit, this.way.full) - bytes);
      this.go(this.stops.reduce((best, each, index) => (far(each) < far(this.stops[best]) ? index : best), 0));
    };
    drag(event, follow, (isLost) => isLost && this.go(begun));
  }
}
