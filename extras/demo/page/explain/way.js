// @ts-check
// Draws where the bytes of both files are at an instant: in the server, in its send buffer, on the link.
//
// Rules:
// 1. All places have the same scale: the whole width stands for both files.
// 2. Bytes move as on a marble run: out of the server at its right end, through the send buffer to the left, over the link
//    to the right. In the server the files lie in rows of their own, because their order can still be changed.
// 3. Nothing is drawn before the instant at which it happened.

import { STREAMS } from "../film.js";
import { element, make, set, show, write } from "../svg.js";

/** @typedef {import("./facts.js").Recording} Recording */
/** @typedef {import("./language.js").Language} Language */

export const PLACES = /** @type {const} */ (["server", "buffer", "link"]);

/** The room for a sign of the direction. */
const CHEVRONS_PX = 60;

export class Way {
  /** @param {Language} language */
  constructor(language) {
    this.language = language;
    this.element = element("div", "run-of-bytes");
    this.width = 300;
    /** Both files together. */
    this.full = 1;
    /** @type {Record<string, {strip: HTMLElement, held: HTMLElement, track: HTMLElement, bar: SVGElement, height: number}>} */
    this.places = {};
    /** @type {Record<string, SVGElement>} */
    this.parts = {};
    for (const name of PLACES) {
      const strip = element("div", `station of-${name}`);
      const head = element("div", "station-head");
      const [title] = language.nodes(`[${name}|${language.strings.places[name]}]`, {}).filter((node) => node instanceof HTMLElement);
      head.append(title);
      const [held] = /** @type {HTMLElement[]} */ (language.nodes("[byte|–]", {}).filter((node) => node instanceof HTMLElement));
      held.classList.add("held");
      head.append(held);
      const track = element("div", "track-of-bytes");
      const bar = make("svg", { class: "bar", "aria-hidden": "true" });
      track.append(bar);
      strip.append(head, track);
      this.element.append(strip);
      this.places[name] = { strip, held, track, bar, height: 18 };
      this._add(name, "direction", make("path", { class: "direction" }));
      for (const stream of STREAMS) this._add(name, stream, make("path", { class: `bytes-of ${stream}` }));
    }
    this._add("server", "coming", make("rect", { class: "coming-bytes" }));
    this._add("buffer", "limit", make("line", { class: "limit" }));
  }

  /** @param {string} place @param {string} name @param {SVGElement} shape */
  _add(place, name, shape) {
    this.parts[`${place}-${name}`] = shape;
    this.places[place].bar.append(shape);
  }

  /** Takes the scale for a recording. @param {Recording} recording */
  load({ film, facts }) {
    const { rate, strings } = { rate: this.language.fact(facts.rate), strings: this.language.strings };
    write(/** @type {HTMLElement} */ (this.places.link.strip.querySelector("[data-word=link]")), strings.places.link.replace("{rate}", rate));
    this.full = STREAMS.reduce((sum, stream) => sum + film.asked(stream).size_bytes, 0);
  }

  /** Measures the places, in pixels. */
  measure() {
    this.width = this.places.server.track.clientWidth || 300;
    for (const [name, place] of Object.entries(this.places)) {
      place.height = place.track.clientHeight || 18;
      set(place.bar, { viewBox: `0 0 ${this.width} ${place.height}`, width: this.width, height: place.height });
      set(this.parts[`${name}-direction`], { d: this._chevrons(place.height / 2, name === "buffer" ? -1 : 1) });
    }
  }

  /** @param {number} middle @param {1 | -1} way */
  _chevrons(middle, way) {
    const count = Math.floor(this.width / CHEVRONS_PX);
    const long = this.width / count;
    return Array.from({ length: count }, (_, index) => `M${((index + 0.5) * long - way * 3).toFixed(1)} ${middle - 5}l${way * 5} 5l${-way * 5} 5`).join("");
  }

  /** @param {number} bytes */
  lengthOf(bytes) {
    return (Math.min(bytes, this.full) / this.full) * this.width;
  }

  /** Returns the payload of both files at each place. @param {Recording} recording @param {number} tMs */
  static bytesAt({ film }, tMs) {
    const { arrived, sent, handed } = film.at(tMs);
    const between = (/** @type {import("../film.js").Stream} */ stream, /** @type {number} */ from, /** @type {number} */ to) =>
      film.before(stream, to) - film.before(stream, from);
    const held = (/** @type {import("../film.js").Stream} */ stream) => {
      const { available_ms, received_ms, sent_ms, size_bytes } = film.asked(stream);
      return tMs >= (available_ms ?? received_ms ?? sent_ms) ? size_bytes - film.before(stream, handed) : 0;
    };
    const both = (/** @type {(stream: import("../film.js").Stream) => number} */ of) => ({ others: of("others"), important: of("important") });
    return {
      server: both(held),
      buffer: both((stream) => between(stream, sent, handed)),
      link: both((stream) => between(stream, arrived, sent)),
      browser: both((stream) => film.before(stream, arrived)),
    };
  }

  /** @param {Recording} recording @param {number} tMs */
  show(recording, tMs) {
    const { film } = recording;
    const { arrived, sent, handed } = film.at(tMs);
    const bytes = Way.bytesAt(recording, tMs);
    for (const name of PLACES) {
      const { others, important } = bytes[name];
      write(this.places[name].held, this.language.kib(others + important));
    }
    this._heaps(recording, tMs, bytes.server);
    this._queue("buffer", film.records(sent, handed), true);
    this._queue("link", film.records(arrived, sent), false);
    const x = this.lengthOf(recording.limit);
    show(this.parts["buffer-limit"], recording.limit < this.full);
    set(this.parts["buffer-limit"], { x1: x, x2: x, y1: 0, y2: this.places.buffer.height });
  }

  /** @param {Recording} recording @param {number} tMs @param {Record<import("../film.js").Stream, number>} held */
  _heaps({ film }, tMs, held) {
    const height = this.places.server.height / 2;
    STREAMS.forEach((stream, row) => {
      const long = this.lengthOf(held[stream]);
      set(this.parts[`server-${stream}`], { d: long > 0 ? this._pieces([{ bytes: held[stream] }], row * height + 1, height - 2, false).join("") : "" });
    });
    const { received_ms, sent_ms, size_bytes } = film.asked("important");
    const long = this.lengthOf(size_bytes);
    set(this.parts["server-coming"], { x: this.width - long + 1, width: Math.max(0, long - 2), y: height + 2, height: height - 4 });
    show(this.parts["server-coming"], tMs >= (received_ms ?? sent_ms) && tMs < film.availableMs);
  }

  /** Draws a queue of TLS records. @param {string} name @param {{stream: string, bytes: number}[]} records @param {boolean} leaves true if it leaves at the left */
  _queue(name, records, leaves) {
    const { height } = this.places[name];
    const drawn = this._pieces(records, 1, height - 2, leaves);
    for (const stream of STREAMS) {
      set(this.parts[`${name}-${stream}`], { d: drawn.filter((_, index) => records[index].stream === stream).join("") });
    }
  }

  /** @param {{bytes: number}[]} pieces in the order in which they leave @param {number} y @param {number} height @param {boolean} left */
  _pieces(pieces, y, height, left) {
    let at = 0;
    return pieces.map(({ bytes }) => {
      const long = this.lengthOf(bytes);
      const gap = Math.min(1, long / 3);
      const x = left ? at : this.width - at - long;
      at += long;
      return `M${(x + gap / 2).toFixed(2)} ${y}h${(long - gap).toFixed(2)}v${height}h${(gap - long).toFixed(2)}z`;
    });
  }
}
