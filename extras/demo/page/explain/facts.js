// @ts-check
// The facts of a recording that the text speaks of, as numbers. All come from the recording; none is written in a text.

import { Film } from "../film.js";

/** @typedef {import("../types.js").Shown} Shown */

/**
 * ms: an instant or a time in milliseconds; about: a time that is said less exactly; bytes; bit: bits per second; count.
 * @typedef {{kind: "ms" | "about" | "bytes" | "bit" | "count", value: number}} Fact
 */

/** A recording, its film and its facts. */
export class Recording {
  /** @param {Shown} shown */
  constructor(shown) {
    if (!shown.film) throw new Error(`${shown.run} has no film`);
    this.shown = shown;
    this.film = new Film(shown.film);
    this.facts = factsOf(shown, this.film);
  }

  get name() {
    return this.shown.run;
  }

  /** Bytes of LOWAT; Infinity without a limit. */
  get limit() {
    const { lowat } = this.shown.arm.scenario;
    return typeof lowat === "number" ? lowat : Infinity;
  }
}

/** @param {Shown} shown @param {Film} film @returns {Record<string, Fact>} */
function factsOf({ arm }, film) {
  const [picture, script] = [film.asked("others"), film.asked("important")];
  const ready = film.availableMs;
  const at = film.at(ready);
  const between = (/** @type {number} */ from, /** @type {number} */ to) => film.before("others", to) - film.before("others", from);
  const ms = (/** @type {number} */ value) => ({ kind: /** @type {const} */ ("ms"), value });
  const bytes = (/** @type {number} */ value) => ({ kind: /** @type {const} */ ("bytes"), value });
  const { scenario, ledger, loads } = arm;
  const lowat = Number(scenario.lowat ?? 0);
  return {
    asked: ms(picture.sent_ms),
    pictureReady: ms(picture.available_ms ?? picture.sent_ms),
    ready: ms(ready),
    later: ms(ready - (picture.available_ms ?? picture.sent_ms)),
    pictureFirst: ms(picture.first_byte_ms),
    picture: ms(picture.last_byte_ms),
    first: ms(script.first_byte_ms),
    works: ms(script.last_byte_ms),
    dead: { kind: "about", value: Math.max(0, script.last_byte_ms - picture.last_byte_ms) },
    waited: ms(script.first_byte_ms - ready),
    inBuffer: ms(ledger?.parts_ms.kernel_unsent ?? 0),
    inQueue: ms(ledger?.parts_ms.bottleneck_queue ?? 0),
    pending: bytes(picture.size_bytes - film.before("others", at.handed)),
    unsent: bytes(between(at.sent, at.handed)),
    underWay: bytes(between(at.arrived, at.sent)),
    size: bytes(picture.size_bytes),
    limit: bytes(lowat),
    rate: { kind: "bit", value: Number(scenario.rate_bit_s) },
    trip: ms((Number(scenario.delay_ns) + Number(scenario.delay_up_ns)) / 1e6),
    packets: { kind: "count", value: Number(scenario.queue_packets) },
    wakeups: { kind: "count", value: loads[loads.length - 1]?.cost?.wakeups ?? 0 },
  };
}
