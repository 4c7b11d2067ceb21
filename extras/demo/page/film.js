// @ts-check
// A film: computes from recorded data where the bytes of a load were at an instant. Draws nothing.
//
// Positions count bytes of the TCP stream. Bytes up to `arrived` are at the client. The next bytes, up to `farFrom`,
// were lost, or arrived behind a loss. The next bytes, up to `nearFrom`, are in the link's queue; then, up to `sent`,
// in its delay line, which is nearer to the front. Then, up to `handed`, bytes are unsent in the front's kernel.
// Between two samples the earlier sample is valid.

/** @typedef {import("./types.js").FilmDocument} FilmDocument */
/** @typedef {import("./types.js").Asked} Asked */
/** @typedef {import("./types.js").Stream} Stream */
/** @typedef {{handed: number, sent: number, nearFrom: number, farFrom: number, arrived: number}} Places */
/** @typedef {{stream: Stream, bytes: number}} Segment */
/** @typedef {{tMs: number, text: string}} Mark */

/** @type {readonly Stream[]} */
export const STREAMS = ["others", "important"];

/**
 * Counts the times that are not later than t. times: sorted.
 * @param {readonly number[]} times
 * @param {number} t
 */
export function countUntil(times, t) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Bytes that the front hands to its kernel next; from them follows which stream it prefers at the moment. */
const NEXT_BYTES = 128 * 1024;

export class Film {
  /** @param {FilmDocument} document */
  constructor(document) {
    this.document = document;
    this.durationMs = document.duration_ms;
    /** @type {Record<Stream, number[]>} */
    this.totals = { others: [], important: [] };
    for (const stream of STREAMS) {
      let total = 0;
      this.totals[stream] = document.tape[stream].map((size) => (total += size));
    }
  }

  /** @param {Stream} stream @returns {Asked} */
  asked(stream) {
    const found = this.document.resources.find((each) => each.stream === stream);
    if (!found) throw new Error(`the film has no ${stream} resources`);
    return found;
  }

  /** The time in milliseconds at which the origin had the important resource; if unknown, the time of the request. */
  get availableMs() {
    const asked = this.asked("important");
    return asked.available_ms ?? asked.received_ms ?? asked.sent_ms;
  }

  /** @param {number} tMs @returns {Places} */
  at(tMs) {
    const { looks, arrivals } = this.document;
    const seen = countUntil(arrivals.t_ms, tMs);
    const arrived = seen ? Math.max(0, arrivals.end[seen - 1]) : 0;
    const index = countUntil(looks.t_ms, tMs) - 1;
    // Bytes that have arrived since the last sample must have been sent.
    const read = (/** @type {number[]} */ column) => Math.max(arrived, index < 0 ? 0 : column[index]);
    return {
      arrived,
      farFrom: read(looks.far_from),
      nearFrom: read(looks.near_from),
      sent: read(looks.sent),
      handed: read(looks.handed),
    };
  }

  /**
   * Payload bytes of a stream before a position; within a record they are spread evenly, as in
   * analysis/loads/stream.py. @param {Stream} stream @param {number} position
   */
  before(stream, position) {
    const ends = this.document.tape.end;
    const totals = this.totals[stream];
    // The first record that ends at the position or after it.
    let index = countUntil(ends, position);
    if (index > 0 && ends[index - 1] === position) index -= 1;
    if (index === ends.length) return totals[totals.length - 1] ?? 0;
    const start = index ? ends[index - 1] : 0;
    const already = index ? totals[index - 1] : 0;
    return already + Math.floor(((totals[index] - already) * Math.max(0, position - start)) / (ends[index] - start));
  }

  /** The instant at which all important resources are complete. */
  get readyMs() {
    return this.asked("important").last_byte_ms;
  }

  /** The chapter marks of the film. @returns {Mark[]} */
  get marks() {
    const { name, sent_ms, first_byte_ms } = this.asked("important");
    return [
      { tMs: sent_ms, text: `${name} requested` },
      { tMs: this.availableMs, text: `${name} exists` },
      { tMs: first_byte_ms, text: `${name} begins` },
      { tMs: this.readyMs, text: `${name} complete` },
    ];
  }

  /** TCP_NOTSENT_LOWAT of the front's socket; null if the socket has no value of its own. @param {number} tMs */
  lowatAt(tMs) {
    const { t_ms: times, bytes } = this.document.limits;
    return bytes[countUntil(times, tMs) - 1] ?? null;
  }

  /**
   * Bytes of a resource that the client can read when all bytes up to a position have arrived.
   * @param {import("./types.js").Delivery} delivery @param {number} arrived
   */
  readable({ end, total }, arrived) {
    return total[countUntil(end, arrived) - 1] ?? 0;
  }

  /** The part of the important stream in the bytes that the front hands over next; null at the end. @param {number} handed */
  importantNext(handed) {
    const bytes = (/** @type {Stream} */ stream) => this.before(stream, handed + NEXT_BYTES) - this.before(stream, handed);
    const [others, important] = STREAMS.map(bytes);
    return others + important > 0 ? important / (others + important) : null;
  }

  /**
   * Payload bytes that arrived in each of `count` equal parts of a time from the beginning.
   * @param {Stream} stream @param {number} count @param {number} durationMs
   */
  received(stream, count, durationMs) {
    return this.receivedBetween(stream, count, 0, durationMs);
  }

  /**
   * Payload bytes that arrived in each of `count` equal parts of a time. What arrives at its end is in the last part.
   * @param {Stream} stream @param {number} count @param {number} fromMs @param {number} toMs
   */
  receivedBetween(stream, count, fromMs, toMs) {
    const found = new Array(count).fill(0);
    let already = 0;
    this.document.arrivals.t_ms.forEach((tMs, index) => {
      const bytes = this.before(stream, Math.max(0, this.document.arrivals.end[index]));
      const part = Math.floor(((tMs - fromMs) / (toMs - fromMs)) * count);
      if (part >= 0 && tMs <= toMs) found[Math.min(count - 1, part)] += bytes - already;
      already = bytes;
    });
    return found;
  }

  /**
   * Payload between two positions, in order; consecutive bytes of one stream are joined.
   * @param {number} from
   * @param {number} to
   * @returns {Segment[]}
   */
  segments(from, to) {
    /** @type {Segment[]} */
    const joined = [];
    for (const record of this.records(from, to)) {
      const last = joined[joined.length - 1];
      if (last && last.stream === record.stream) last.bytes += record.bytes;
      else joined.push(record);
    }
    return joined;
  }

  /**
   * Payload between two positions, in order, one part for each TLS record and stream.
   * @param {number} from
   * @param {number} to
   * @returns {Segment[]}
   */
  records(from, to) {
    /** @type {Segment[]} */
    const found = [];
    const ends = this.document.tape.end;
    for (let index = countUntil(ends, from); index < ends.length; index += 1) {
      const start = Math.max(from, index ? ends[index - 1] : 0);
      if (start >= to) break;
      const end = Math.min(to, ends[index]);
      for (const stream of STREAMS) {
        const bytes = this.before(stream, end) - this.before(stream, start);
        if (bytes > 0) found.push({ stream, bytes });
      }
    }
    return found;
  }

  /** The most payload bytes on the link at any time, for the scale of its drawing. */
  get mostInFlight() {
    let most = 0;
    for (const tMs of this.document.looks.t_ms) {
      const { arrived, sent } = this.at(tMs);
      let bytes = 0;
      for (const stream of STREAMS) bytes += this.before(stream, sent) - this.before(stream, arrived);
      most = Math.max(most, bytes);
    }
    return most;
  }
}
