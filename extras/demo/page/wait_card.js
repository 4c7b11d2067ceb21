// @ts-check
// The end card of an arm: where the focal resource spent its wait, at a scale that both arms share, and how much
// shorter the wait was than the other arm's.

import { explained, make } from "./svg.js";
import { LETTER, seconds } from "./words.js";

/** The ledger's parts, their names, and the places where the time was spent. */
const PARTS = [
  { key: "second_front", name: "second front", place: "front" },
  { key: "second_unsent", name: "second front's kernel", place: "socket" },
  { key: "between_queue", name: "queue between fronts", place: "queue" },
  { key: "between_propagation", name: "travel between fronts", place: "propagation" },
  { key: "front_pending", name: "front", place: "front" },
  { key: "front_committed", name: "front's output", place: "front" },
  { key: "flow_control", name: "flow control", place: "front" },
  { key: "kernel_unsent", name: "kernel", place: "socket" },
  { key: "receive_window", name: "receive window", place: "socket" },
  { key: "bottleneck_queue", name: "queue", place: "queue" },
  { key: "cross_traffic", name: "other flows", place: "queue" },
  { key: "propagation", name: "travel", place: "propagation" },
  { key: "recovery", name: "loss", place: "loss" },
  { key: "tls_record", name: "record", place: "record" },
];

/**
 * Draws the card. Returns null if the run has no ledger.
 * @param {import("./types.js").Arm} arm
 * @param {number} longestMs the longer wait of both arms
 * @param {{width: number, em: number, y: number, height: number}} room
 */
export function waitCard({ ledger }, longestMs, { width, em, y: top, height: space }) {
  if (!ledger) return null;
  const card = make("g", { class: "wait-card" });
  const right = width - 2;
  const perMs = (right - 2) / Math.max(1, longestMs);
  card.append(make("text", { x: 2, y: top + 1.1 * em, class: "waited" }, `${ledger.focal} waited ${seconds(ledger.wait_ms)} for its first byte`));
  const y = top + 1.7 * em;
  const height = Math.min(2.6 * em, space - 1.8 * em);
  const middle = y + height / 2 + 0.36 * em;
  let x = 2;
  for (const { key, name, place } of PARTS) {
    const waitMs = ledger.parts_ms[key] ?? 0;
    const long = waitMs * perMs;
    if (long < 1) continue;
    card.append(explained(make("rect", { x, y, width: long, height, class: `part ${place}` }), `${name}: ${seconds(waitMs)} of the wait of ${seconds(ledger.wait_ms)}`));
    const texts = [`${name} ${seconds(waitMs)}`, name].filter((text) => (text.length * LETTER + 0.8) * em < long);
    if (texts.length) card.append(make("text", { x: x + long / 2, y: middle, class: `part-name ${place}` }, texts[0]));
    x += long;
  }
  const lessMs = longestMs - ledger.wait_ms;
  const text = `${seconds(lessMs)} less`;
  if (right - x > (text.length * LETTER * 1.3 + 0.8) * em) {
    card.append(
      explained(make("rect", { x: x + 2, y, width: right - x - 2, height, class: "less" }), "The other arm waited so much longer."),
      make("text", { x: (x + right) / 2, y: middle, class: "less-name" }, text),
    );
  }
  return card;
}
