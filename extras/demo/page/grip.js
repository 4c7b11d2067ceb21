// @ts-check
// The line of LOWAT in a kernel's box, which a pointer drags and keys move, from one recorded stop to the next.

import { make, set } from "./svg.js";

/** @typedef {{value: string, bytes: number}} Limit */
/**
 * limits: the values with a recording for an arm, from no limit to the smallest. move: shows an arm with another value.
 * held: true while a pointer holds a line.
 * @typedef {{limits: (arm: number) => Limit[], name: (value: string) => string, move: (arm: number, value: string) => void, held: boolean}} Limits
 */

/** Half of the width in which a pointer takes the line, in multiples of the text's size. */
const REACH = 0.9;

/** Bytes of a value of LOWAT; none has no limit. Returns null for a value that is no number of bytes. @param {string} value */
export function bytesOf(value) {
  if (value === "none") return Infinity;
  const found = /^(\d+)([KMG]?)$/.exec(value);
  return found ? Number(found[1]) * 1024 ** ["", "K", "M", "G"].indexOf(found[2]) : null;
}

export class Grip {
  /**
   * @param {import("./places.js").Places} places
   * @param {number} arm its number
   * @param {string} value the arm's LOWAT
   * @param {Limits} limits
   */
  constructor(places, arm, value, limits) {
    this.places = places;
    this.arm = arm;
    this.value = value;
    this.limits = limits;
    const { em, room } = places;
    const { socket } = places.places;
    const x = this._x(bytesOf(value) ?? Infinity);
    const low = socket.x - REACH * em;
    const high = socket.x + socket.width;
    const left = Math.max(low, x - REACH * em);
    const end = places.lineEnd;
    this.element = make("g", { class: "grip", role: "slider", tabindex: 0, "aria-label": `line of LOWAT, ${arm ? "below" : "above"}`, "data-arm": arm });
    this.element.append(
      make("title", {}, `LOWAT: ${limits.name(value)}. Drag it, or move it with the arrow keys: it bounds the unsent bytes in this box.`),
      make("rect", { class: "reach", x: left, y: room.y, width: Math.min(high, x + REACH * em) - left, height: room.height }),
      make("path", { class: "handle", d: `M${x} ${end - 0.7 * em}l${-0.45 * em} ${0.7 * em}h${0.9 * em}z` }),
    );
    if (bytesOf(value) === Infinity) this.element.append(make("line", { class: "lowat none", x1: x, x2: x, y1: room.y + 1.5 * em, y2: end }));
    this.refresh();
    this.element.addEventListener("pointerdown", (event) => this._take(/** @type {PointerEvent} */ (event)));
    this.element.addEventListener("keydown", (event) => this._press(/** @type {KeyboardEvent} */ (event)));
  }

  /** Tells people who cannot see it where it is. */
  refresh() {
    const all = this.limits.limits(this.arm);
    const at = all.findIndex((each) => each.value === this.value);
    set(this.element, { "aria-valuemin": 0, "aria-valuemax": Math.max(0, all.length - 1), "aria-valuenow": Math.max(0, at), "aria-valuetext": this.limits.name(this.value) });
  }

  /** @param {number} bytes */
  _x(bytes) {
    const { socket } = this.places.places;
    return Math.max(socket.x + 2, this.places.limitX(bytes));
  }

  /** @param {string | undefined} value */
  _move(value) {
    if (value === undefined || value === this.value) return;
    this.value = value;
    this.limits.move(this.arm, value);
  }

  /** @param {KeyboardEvent} event */
  _press(event) {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const all = this.limits.limits(this.arm);
    this._move(all[all.findIndex((each) => each.value === this.value) + way]?.value);
  }

  /**
   * Follows the pointer until it is let go. The drawing that it began in is replaced at each stop.
   * @param {PointerEvent} event
   */
  _take(event) {
    const drawing = /** @type {SVGElement} */ (this.element).ownerSVGElement;
    if (!drawing || event.button) return;
    event.preventDefault();
    const { left, width } = drawing.getBoundingClientRect();
    const factor = drawing.viewBox.baseVal.width / width;
    const all = this.limits.limits(this.arm);
    const follow = (/** @type {PointerEvent} */ { clientX }) => {
      const x = (clientX - left) * factor;
      const far = (/** @type {Limit} */ { bytes }) => Math.abs(this._x(bytes) - x);
      this._move(all.reduce((best, each) => (far(each) < far(best) ? each : best), all[0])?.value);
    };
    const begun = this.value;
    this.limits.held = true;
    const end = (/** @type {Event} */ { type }) => {
      document.removeEventListener("pointermove", follow);
      for (const each of ["pointerup", "pointercancel"]) document.removeEventListener(each, end);
      this.limits.held = false;
      // A finger that scrolls the page moves nothing.
      if (type === "pointercancel") this._move(begun);
      /** @type {SVGElement | null} */ (document.querySelector(`.grip[data-arm="${this.arm}"]`))?.focus();
    };
    document.addEventListener("pointermove", follow);
    for (const type of ["pointerup", "pointercancel"]) document.addEventListener(type, end);
  }
}
