// @ts-check
// A bet on the instant at which the important resource begins: a pin on the time axis of an arm, put there before the film
// shows it, by a pointer or by keys.

import { make, set, show, write } from "./svg.js";
import { LETTER, seconds } from "./words.js";

/** The parts of the time by which a key moves the pin. */
const STEP = 0.01;

/** The bets of both arms, in milliseconds. They stay while the same wish is shown. */
export class Bets {
  constructor() {
    /** @type {(number | null)[]} */
    this.ms = [null, null];
  }

  clear() {
    this.ms = [null, null];
  }
}

export class Bet {
  /**
   * @param {import("./lanes.js").Lanes} lanes
   * @param {number} arm its number
   * @param {Bets} bets
   */
  constructor(lanes, arm, bets) {
    this.lanes = lanes;
    this.arm = arm;
    this.bets = bets;
    const { em } = lanes.room;
    const { name } = lanes.film.asked("important");
    const top = lanes.lane.others - 0.2 * em;
    this.element = make("g", { class: "bet", role: "slider", tabindex: 0, "aria-label": `your bet: when the ${name} begins, ${arm ? "below" : "above"}`, "data-bet": arm });
    this.area = make("rect", { x: lanes.left, width: lanes.right - lanes.left, y: top, height: lanes.bottom - top, class: "bet-area" });
    this.line = make("line", { y1: top, y2: lanes.bottom, class: "bet-line" });
    this.text = make("text", { y: lanes.lane.others - 0.3 * em, class: "bet-text" });
    this.element.append(this.area, this.line, this.text);
    // The pin lets the pointer through to the lanes, whose shapes say what they are. A finger that scrolls does not click.
    lanes.element.onclick = (event) => this._put(event);
    this.element.addEventListener("keydown", (event) => this._press(/** @type {KeyboardEvent} */ (event)));
    this.tMs = 0;
  }

  /** True once the film has shown what the bet is about. */
  get isOver() {
    return this.tMs >= this.lanes.film.asked("important").first_byte_ms;
  }

  /** @param {MouseEvent} event */
  _put({ clientX, target }) {
    if (this.isOver || /** @type {Element} */ (target).closest("[data-said]")) return;
    const { left, width } = this.area.getBoundingClientRect();
    this._set(((clientX - left) / width) * this.lanes.scale.durationMs);
  }

  /** @param {KeyboardEvent} event */
  _press(event) {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const { durationMs } = this.lanes.scale;
    this._set((this.bets.ms[this.arm] ?? durationMs / 2) + way * STEP * durationMs);
  }

  /** @param {number} ms */
  _set(ms) {
    this.bets.ms[this.arm] = Math.min(this.lanes.scale.durationMs, Math.max(0, ms));
    this.show(this.tMs);
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    this.tMs = tMs;
    const { lanes } = this;
    const betMs = this.bets.ms[this.arm];
    const { durationMs } = lanes.scale;
    const said = betMs === null ? "no bet" : this._said(betMs);
    set(this.element, { "aria-valuemin": 0, "aria-valuemax": Math.round(durationMs), "aria-valuenow": Math.round(betMs ?? 0), "aria-valuetext": said });
    for (const part of [this.line, this.text]) show(part, betMs !== null);
    if (betMs === null) return;
    const x = lanes.xOf(betMs);
    const { em, width, brief } = lanes.room;
    const text = brief ? said.replace(/.*: /, "bet ") : said;
    const long = (text.length * LETTER + 0.6) * em;
    set(this.line, { x1: x, x2: x });
    write(this.text, text);
    // Beside the text that says when the resource exists, to its right if there is room.
    const [begin, end] = lanes.label;
    const from = Math.max(x, x + long < begin ? 0 : end);
    const fits = from + long <= width;
    const left = end && width - long < end ? begin : width;
    set(this.text, { x: fits ? from + 0.3 * em : left - 0.3 * em, "text-anchor": fits ? "start" : "end" });
  }

  /** Compares the bet with the film, once the film has shown it. @param {number} betMs */
  _said(betMs) {
    const { first_byte_ms: firstMs } = this.lanes.film.asked("important");
    if (!this.isOver) return `bet ${seconds(betMs)}`;
    const off = Math.abs(betMs - firstMs);
    return `bet ${seconds(betMs)}: ${seconds(off)} ${betMs > firstMs ? "too late" : "too early"}`;
  }
}
