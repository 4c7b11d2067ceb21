// @ts-check
// The end card of an arm: where the focal resource spent its wait, at a scale that both arms share, and how much
// shorter the wait was than the other arm's. A legend below the bar has the parts' names and times.

import { explained, make } from "./svg.js";
import { worded } from "./tip.js";
import { BOLD, LETTER, seconds } from "./words.js";

/**
 * The ledger's parts and their names, which are also those of the figures (analysis/loads/ledger.py).
 * @type {readonly {key: string, name: string, word: import("./glossary.js").Word}[]}
 */
const PARTS = [
  { key: "second_front", name: "second front", word: "second" },
  { key: "second_unsent", name: "second front's kernel", word: "second" },
  { key: "between_queue", name: "queue between fronts", word: "queue" },
  { key: "between_propagation", name: "travel between fronts", word: "travel" },
  { key: "front_pending", name: "front", word: "front" },
  { key: "front_committed", name: "front's output", word: "output" },
  { key: "front_service", name: "server's work", word: "work" },
  { key: "flow_control", name: "flow control", word: "flow" },
  { key: "kernel_unsent", name: "kernel", word: "kernel" },
  { key: "receive_window", name: "receive window", word: "window" },
  { key: "bottleneck_queue", name: "queue", word: "queue" },
  { key: "cross_traffic", name: "other flows", word: "cross" },
  { key: "propagation", name: "travel", word: "travel" },
  { key: "recovery", name: "loss", word: "lost" },
  { key: "tls_record", name: "record", word: "record" },
  { key: "unexplained", name: "unexplained", word: "unexplained" },
];

/** Heights in multiples of the text's size. */
const TITLE = 1.5;
const BAR = { least: 1.2, most: 2.6 };
const ROW = 1.2;
/** A legend's square, and the space from its left edge to the text and from the text to the next square. */
const SQUARE = 0.8;
const [TO_TEXT, TO_NEXT] = [1.1, 0.9];

/** @typedef {{key: string, name: string, word: import("./glossary.js").Word, waitMs: number, text: string, x: number, row: number}} Part */

export class WaitCard {
  /**
   * @param {NonNullable<import("./types.js").Arm["ledger"]>} ledger
   * @param {number} longestMs the longer wait of both arms
   * @param {{width: number, em: number}} room
   */
  constructor(ledger, longestMs, { width, em }) {
    this.ledger = ledger;
    this.longestMs = longestMs;
    this.em = em;
    this.right = width - 2;
    this.perMs = (this.right - 2) / Math.max(1, longestMs);
    this.parts = this._parts();
    this.rows = (this.parts[this.parts.length - 1]?.row ?? -1) + 1;
    this.element = make("g", { class: "wait-card" });
  }

  /** The least height, in multiples of the text's size. */
  get least() {
    return TITLE + BAR.least + this.rows * ROW;
  }

  /** Returns the parts that are wide enough to be seen, each with its place in the legend's columns. @returns {Part[]} */
  _parts() {
    const { em, right } = this;
    const seen = PARTS.map(({ key, name, word }) => ({ key, name, word, waitMs: this.ledger.parts_ms[key] ?? 0 }))
      .filter(({ waitMs }) => waitMs * this.perMs >= 1)
      .map((part) => ({ ...part, text: `${part.name} ${seconds(part.waitMs)}` }));
    const column = (Math.max(0, ...seen.map(({ text }) => text.length)) * LETTER + TO_TEXT + TO_NEXT) * em;
    const columns = Math.max(1, Math.floor((right + TO_NEXT * em) / column));
    return seen.map((part, index) => ({ ...part, x: 2 + (index % columns) * column, row: Math.floor(index / columns) }));
  }

  /** Draws the card in the middle of a height. @param {number} space the height */
  draw(space) {
    const { em, ledger, right } = this;
    const height = Math.min(BAR.most, space / em - TITLE - this.rows * ROW) * em;
    const top = (space - height - (TITLE + this.rows * ROW) * em) / 2;
    const y = top + TITLE * em;
    const waited = `${ledger.focal} waited ${seconds(ledger.wait_ms)}`;
    const long = `${waited} for its first byte`;
    this.element.append(worded(make("text", { x: 2, y: top + 1.1 * em, class: "waited" }, 1.2 * long.length * BOLD * em < right ? long : waited), "waited"));
    let at = 2;
    for (const part of this.parts) {
      const width = part.waitMs * this.perMs;
      const rowY = y + height + (0.2 + part.row * ROW) * em;
      const explain = (/** @type {SVGElement} */ shape) => explained(shape, `${part.name}: ${seconds(part.waitMs)} of the wait of ${seconds(ledger.wait_ms)}`);
      this.element.append(
        explain(make("rect", { x: at, y, width, height, class: `part layer ${part.key}` })),
        explain(make("rect", { x: part.x, y: rowY + 0.15 * em, width: SQUARE * em, height: SQUARE * em, class: `layer ${part.key}` })),
        worded(make("text", { x: part.x + TO_TEXT * em, y: rowY + 0.9 * em, class: "part-name" }, part.text), part.word, {}, `${seconds(part.waitMs)} of the wait of ${seconds(ledger.wait_ms)}. `),
      );
      at += width;
    }
    const text = `${seconds(this.longestMs - ledger.wait_ms)} less`;
    if (right - at < (text.length * LETTER * 1.1 + 0.8) * em) return;
    this.element.append(explained(make("rect", { x: at + 2, y, width: right - at - 2, height, class: "less" }), "The other arm waited so much longer."));
    this.element.append(make("text", { x: (at + right) / 2, y: y + height / 2 + 0.4 * em, class: "less-name" }, text));
  }
}
