// @ts-check
// The line of LOWAT in a kernel's box, which a pointer drags and keys move, from one recorded stop to the next. At the
// film's end the box has given way to the end card; then the line stands below the card, and whoever takes it sees the box
// again.

import { make, set, show } from "./svg.js";
import { drag } from "./drag.js";
import { bytesOf, LETTER } from "./words.js";

/** @typedef {{value: string, bytes: number}} Limit */
/**
 * limits: the values with a recording for an arm, from no limit to the smallest. move: shows an arm with another value.
 * held: true while a pointer holds a line.
 * @typedef {{limits: (arm: number) => Limit[], name: (value: string) => string, move: (arm: number, value: string) => void, held: boolean}} Limits
 */

/** Half of the width in which a pointer, or a finger, takes the line, in multiples of the text's size. */
const REACH = 0.9;
const FINGER = 1.8;
const COARSE = window.matchMedia("(pointer: coarse)");

/** The height of the line below the end card, in multiples of the text's size. */
export const ROW = 1.8;
/** What can be said beside it, if there is room. */
const SAID = ["◂ drag it: the film goes back, and shows what changes", "◂ drag it, and see what changes", "◂ drag it"];

export class Grip {
  /**
   * @param {import("./places.js").Places} places
   * @param {number} arm its number
   * @param {string} value the arm's LOWAT
   * @param {Limits} limits
   * @param {{rewind: () => void, goOn: () => void}} film shows the boxes again, and plays on
   * @param {number | null} below the upper end of the row below the end card; null if there is no room for it
   */
  constructor(places, arm, value, limits, film, below) {
    this.places = places;
    this.arm = arm;
    this.value = value;
    this.limits = limits;
    this.film = film;
    const { em, room } = places;
    const { socket } = places.places;
    const x = this._x(bytesOf(value) ?? Infinity);
    const reach = (COARSE.matches ? FINGER : REACH) * em;
    const low = socket.x - REACH * em;
    const high = socket.x + socket.width;
    const left = Math.max(low, x - reach);
    const width = Math.min(high, x + reach) - left;
    const end = places.lineEnd;
    this.element = make("g", { class: "grip", role: "slider", tabindex: 0, "aria-label": `line of LOWAT, ${arm ? "below" : "above"}`, "data-arm": arm });
    const handle = (/** @type {number} */ y) => make("path", { class: "handle", d: `M${x} ${y - 0.7 * em}l${-0.45 * em} ${0.7 * em}h${0.9 * em}z` });
    this.inBox = make("g", {});
    this.inBox.append(make("rect", { class: "reach", x: left, y: room.y, width, height: room.height }), handle(end));
    if (bytesOf(value) === Infinity) this.inBox.append(make("line", { class: "lowat none", x1: x, x2: x, y1: room.y + 1.5 * em, y2: end }));
    this.below = make("g", {});
    /** The rail below the end card, and what is said beside it. */
    this.row = make("g", { class: "grip-row", "aria-hidden": "true" });
    if (below !== null) {
      const [middle, right] = [below + 0.8 * em, socket.x + socket.width + 0.6 * em];
      const said = SAID.find((text) => text.length * LETTER * em < room.width - right) ?? "";
      const named = `LOWAT: ${limits.name(value)}`;
      this.below.append(
        make("rect", { class: "reach", x: left, y: below, width, height: ROW * em }),
        make("path", { class: "lowat", d: `M${x} ${below + 0.1 * em}V${middle + 0.4 * em}` }),
        handle(middle + 0.9 * em),
      );
      this.row.append(
        make("path", { class: "rail", d: `M${socket.x} ${middle}H${high}` }),
        make("text", { class: "rail-name", x: socket.x - 0.6 * em, y: middle + 0.35 * em }, named.length * LETTER * em < socket.x ? named : "LOWAT"),
        make("text", { x: right, y: middle + 0.35 * em }, said),
      );
    }
    this.title = make("title", {}, `LOWAT: ${limits.name(value)}. Drag it, or move it with the arrow keys: it bounds the unsent bytes in the kernel.`);
    this.refresh();
    this.end(false);
    this.element.addEventListener("pointerdown", (event) => this._take(/** @type {PointerEvent} */ (event)));
    this.element.addEventListener("keydown", (event) => this._press(/** @type {KeyboardEvent} */ (event)));
  }

  /** Moves the line below the end card, or back into the box. @param {boolean} ended */
  end(ended) {
    const part = ended ? this.below : this.inBox;
    if (this.element.lastChild !== part) this.element.replaceChildren(this.title, part);
    show(this.row, ended);
    show(this.element, !ended || this.below.hasChildNodes());
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
    this.film.rewind();
    this._move(all[all.findIndex((each) => each.value === this.value) + way]?.value);
    this.film.goOn();
  }

  /**
   * Follows the pointer until it is let go. The drawing that it began in is replaced at each stop.
   * @param {PointerEvent} event
   */
  _take(event) {
    const drawing = /** @type {SVGElement} */ (this.element).ownerSVGElement;
    if (!drawing || event.button) return;
    const { left, width } = drawing.getBoundingClientRect();
    const factor = drawing.viewBox.baseVal.width / width;
    const all = this.limits.limits(this.arm);
    const begun = this.value;
    // The line keeps its distance from the finger that has taken it beside its middle.
    const beside = this._x(bytesOf(begun) ?? Infinity) - (event.clientX - left) * factor;
    const follow = (/** @type {number} */ clientX) => {
      this.film.rewind();
      const x = (clientX - left) * factor + beside;
      const far = (/** @type {Limit} */ { bytes }) => Math.abs(this._x(bytes) - x);
      this._move(all.reduce((best, each) => (far(each) < far(best) ? each : best), all[0])?.value);
    };
    this.limits.held = true;
    drag(event, follow, (isLost) => {
      this.limits.held = false;
      if (isLost) this._move(begun);
      else this.film.rewind();
      this.film.goOn();
      /** @type {SVGElement | null} */ (document.querySelector(`.grip[data-arm="${this.arm}"]`))?.focus();
    });
  }
}
