// @ts-check
// Draws where the bytes are at an instant: in the front, in its kernel, on the network, or at the client.
//
// Rules:
// 1. All places have the same scale for bytes, except the network: it holds so few bytes that it is magnified. Its
//    title always has the factor.
// 2. In the front, streams are drawn apart: they can still be reordered. The one at the right is handed over next; if
//    both are there, they take turns. In the kernel and on the network TLS records form a queue, and the kernel has a
//    lock.
// 3. Nothing is drawn before the instant at which it happened.

import { STREAMS } from "./film.js";
import { explained, make, set, show, write } from "./svg.js";
import { worded } from "./tip.js";
import { LETTER, size } from "./words.js";

/** @typedef {import("./film.js").Film} Film */
/** @typedef {import("./film.js").Stream} Stream */
/** @typedef {{x: number, width: number}} Place */
/** @typedef {{width: number, em: number, y: number, height: number, brief: boolean}} Room */

/** Parts of the width for the places, without the ways between them. */
const SHARES = { front: 0.25, socket: 0.285, link: 0.225, client: 0.24 };
const TITLE = 1.5;
/** In a drawing that is narrower than this, the ways are short. */
const WIDE = 50;
/** The longest time in which the important stream steps in front of the others, as a part of the film. */
const STEP_PART = 0.02;
/** Titles for drawings with much and with little space. @type {Record<string, string[]>} */
const TITLES = {
  front: ["front: open", "front"],
  socket: ["kernel: locked", "kernel"],
  link: ["network, drawn ", "network ", "net ", "net", ""],
  client: ["client"],
};

/** The words for the places. @type {Record<string, import("./glossary.js").Word>} */
const WORDS = { front: "front", socket: "kernel", link: "network", client: "client" };

/** Where the bytes of the two queues are. */
const QUEUED = { socket: "unsent in the kernel, which keeps their order", link: "on the way to the client" };

/** @param {number} t */
const smooth = (t) => t * t * (3 - 2 * t);

/** @param {number} part */
const within = (part) => Math.min(1, Math.max(0, part));

export class Places {
  /**
   * @param {Film} film
   * @param {import("./arm_drawing.js").Scale} scale
   * @param {import("./types.js").Shown} shown
   * @param {Room} room
   */
  constructor(film, scale, shown, room) {
    this.film = film;
    this.scale = scale;
    this.shown = shown;
    const { em, width, brief, y, height } = room;
    this.em = em;
    this.room = room;
    this.pad = (brief ? 0.35 : 0.6) * em;
    const way = (width < WIDE * em ? 0.9 : 1.7) * em;
    const inner = width - 3 * way - 4;
    let x = 2;
    const place = (/** @type {number} */ share) => {
      const found = { x, width: share * inner };
      x += found.width + way;
      return found;
    };
    /** @type {Record<string, Place>} */
    this.places = { front: place(SHARES.front), socket: place(SHARES.socket), link: place(SHARES.link), client: place(SHARES.client) };
    /** The width that both streams together have at this scale. */
    this.full = this.places.client.width - 2 * this.pad;
    const inside = height - (TITLE + 0.3 + (brief ? 1.2 : 0)) * em;
    this.rowHeight = Math.min(1.7 * em, inside / 2 - 0.15 * em);
    const free = (inside - 2 * this.rowHeight) / 3;
    this.rowY = [0, 1].map((row) => y + TITLE * em + free * (row + 1) + row * this.rowHeight);
    this.queueHeight = Math.min(2.8 * em, inside - 0.5 * em);
    this.queueY = y + TITLE * em + (inside - this.queueHeight) / 2;
    this.bottom = y + height;
    /** The lower end of the line of LOWAT. */
    this.lineEnd = this.bottom - (brief ? 1.3 : 0.1) * em;
    this.element = make("g", { class: "places" });
    /** @type {Record<string, SVGElement>} */
    this.parts = {};
    this._boxes();
    this._bytes();
    // Streams have the same colours everywhere; the stream that the client asks for first has an outline.
    for (const fill of this.element.querySelectorAll(`rect.fill.${shown.favoured}`)) fill.classList.add("asked-first");
  }

  /** @param {number} bytes */
  _width(bytes) {
    return (bytes / this.scale.bytes) * this.full;
  }

  /** The position of a limit of the unsent bytes in the kernel's box. @param {number} bytes */
  limitX(bytes) {
    return this._exit(this.places.socket) - this._width(bytes);
  }

  /** @param {Place} box */
  _exit(box) {
    return box.x + box.width - this.pad;
  }

  /** @param {string} name @param {SVGElement} element */
  _add(name, element) {
    this.parts[name] = element;
    this.element.append(element);
    return element;
  }

  _boxes() {
    const { em, pad, room } = this;
    const magnified = (this.places.link.width - 2 * pad) / this.scale.linkBytes / (this.full / this.scale.bytes);
    const factor = `×${magnified < 9.5 ? magnified.toFixed(1) : Math.round(magnified)}`;
    for (const [name, box] of Object.entries(this.places)) {
      const locked = name === "socket";
      const shape = { x: box.x, y: room.y, width: box.width, rx: 0.4 * em };
      const baseline = room.y + 1.1 * em;
      const place = worded(make("g", {}), WORDS[name]);
      this.element.append(place);
      place.append(make("rect", { ...shape, height: room.height, class: `box ${name}` }));
      if (locked) {
        place.append(make("path", { d: `M${box.x} ${room.y + TITLE * em}v${-(TITLE - 0.4) * em}q0 ${-0.4 * em} ${0.4 * em} ${-0.4 * em}h${box.width - 0.8 * em}q${0.4 * em} 0 ${0.4 * em} ${0.4 * em}v${(TITLE - 0.4) * em}z`, class: "lid" }));
        this._lock(place, box.x + pad, baseline);
      }
      const left = box.x + pad + (locked ? 1.1 * em : 0);
      const free = this._exit(box) - left - (room.brief ? 0 : 4.5 * em);
      const titles = TITLES[name].map((text) => (name === "link" ? `${text}${factor}` : text));
      const title = titles.find((text) => text.length * LETTER * em <= free) ?? titles[titles.length - 1];
      place.append(make("text", { x: left, y: baseline, class: `title ${name}` }, title));
      const y = room.brief ? this.bottom - 0.4 * em : baseline;
      place.append((this.parts[`${name}-bytes`] = make("text", { x: this._exit(box), y, class: `bytes ${name}` })));
    }
    const { front, socket, link, client } = this.places;
    for (const [from, to] of [[front, socket], [socket, link], [link, client]]) {
      const x = from.x + from.width + 0.2 * em;
      const length = to.x - x - 0.3 * em;
      this.element.append(make("path", { d: `M${x} ${this.queueY + this.queueHeight / 2}h${length}m${-0.4 * em} ${-0.35 * em}l${0.4 * em} ${0.35 * em}l${-0.4 * em} ${0.35 * em}`, class: "way" }));
    }
  }

  _bytes() {
    const { em, rowHeight, rowY, room } = this;
    for (const stream of STREAMS) {
      const what = this.shown.names[stream];
      for (const [name, where] of Object.entries(QUEUED)) {
        this._add(`${name}-${stream}`, explained(make("path", { class: `fill ${stream}` }), `${what}, ${where}. Each piece is a TLS record.`));
      }
    }
    STREAMS.forEach((stream, row) => {
      const what = this.shown.names[stream];
      this._add(`front-${stream}`, explained(make("rect", { height: rowHeight, y: rowY[row], class: `fill ${stream}` }), `${what}, in the front, which can still choose the order. The bytes at the right go next.`));
      this._add(`front-${stream}-text`, make("text", { y: rowY[row] + rowHeight / 2 + 0.35 * em, class: "inside" }));
      this._add(`client-${stream}`, explained(make("rect", { height: rowHeight, y: rowY[row], class: `fill ${stream}` }), `${what}, arrived at the client.`));
      this._add(`client-${stream}-text`, make("text", { y: rowY[row] + rowHeight / 2 + 0.35 * em, class: "inside" }));
    });
    const { important } = this.shown.names;
    this._add("coming", explained(make("rect", { y: rowY[1], height: rowHeight, class: "coming" }), `${important}: requested, but the origin does not have it yet.`));
    this._add("lost", explained(make("path", { class: "lost" }), "Lost on the way, or arrived behind a loss: TCP sends the lost packet again."));
    this._add("lost-name", worded(make("text", { y: this.queueY + this.queueHeight / 2, class: "lost-name" }, "lost, or behind a loss"), "lost"));
    this._add("bottleneck", explained(make("path", { class: "bottleneck" }), "These bytes wait in the queue of the bottleneck."));
    this._add("queue-name", worded(make("text", { y: this.queueY + this.queueHeight / 2 + 0.35 * em, class: "queue-name" }, "bottleneck"), "bottleneck"));
    this._add("lowat", make("line", { y1: room.y + TITLE * em, y2: this.lineEnd, class: "lowat" }));
    this._add("lowat-name", worded(make("text", { y: this.queueY + this.queueHeight / 2 + 0.35 * em, class: "lowat-name" }, "LOWAT"), "lowat"));
  }

  /** Draws a padlock. @param {Element} place @param {number} x @param {number} baseline */
  _lock(place, x, baseline) {
    const { em } = this;
    place.append(
      make("path", { d: `M${x + 0.16 * em} ${baseline - 0.5 * em}v${-0.15 * em}a${0.24 * em} ${0.24 * em} 0 0 1 ${0.48 * em} 0v${0.15 * em}`, class: "shackle", "stroke-width": 0.14 * em }),
      make("rect", { x, y: baseline - 0.52 * em, width: 0.8 * em, height: 0.62 * em, rx: 0.1 * em, class: "lock" }),
    );
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    const places = this.film.at(tMs);
    this._showFront(tMs, places.handed);
    const unsent = this._showLine("socket", places.sent, places.handed, this.full / this.scale.bytes);
    this._showLowat(tMs, unsent);
    this._showLink(places);
    this._showClient(tMs, places.arrived);
  }

  /** @param {number} tMs @param {number} handed */
  _showFront(tMs, handed) {
    const important = this.film.asked("important");
    const existsMs = this.film.availableMs;
    const stepped = smooth(within((tMs - existsMs) / (this.film.durationMs * STEP_PART)));
    const bytes = (/** @type {Stream} */ stream) => {
      const { available_ms, received_ms, sent_ms, size_bytes } = this.film.asked(stream);
      return tMs >= (available_ms ?? received_ms ?? sent_ms) ? size_bytes - this.film.before(stream, handed) : 0;
    };
    const held = { others: bytes("others"), important: bytes("important") };
    const widths = { others: this._width(held.others), important: this._width(held.important) };
    const part = held.important ? (this.film.importantNext(handed) ?? 1) * stepped : 0;
    // Half of what goes next is important: both streams are at the exit, and take turns.
    const behind = { important: (1 - within(2 * part)) * widths.others, others: within(2 * part - 1) * widths.important };
    const exit = this._exit(this.places.front);
    for (const stream of STREAMS) {
      const x = exit - behind[stream] - widths[stream];
      set(this.parts[`front-${stream}`], { x, width: widths[stream] });
      this._nameFrontBytes(stream, held.others && held.important ? held[stream] : 0, x);
    }
    const width = this._width(important.size_bytes);
    set(this.parts.coming, { x: exit - widths.others - width, width });
    show(this.parts.coming, tMs >= (important.received_ms ?? important.sent_ms) && tMs < existsMs);
    write(this.parts["front-bytes"], size(held.others + held.important));
  }

  /** Writes a stream's bytes beside its bar, left or right of it, where there is room. @param {Stream} stream @param {number} bytes @param {number} x */
  _nameFrontBytes(stream, bytes, x) {
    const { em, parts, places, pad } = this;
    const text = parts[`front-${stream}-text`];
    const words = size(bytes);
    const needed = (1.15 * words.length * LETTER + 0.3) * em;
    const left = x - needed > places.front.x + pad / 2;
    const end = x + this._width(bytes);
    write(text, words);
    set(text, { x: left ? x - needed : end + 0.3 * em });
    show(text, bytes > 0 && (left || end + needed < this._exit(places.front) + pad / 2));
  }

  /**
   * Draws queued TLS records; the next byte to leave is at the right. Returns the bytes.
   * @param {string} name of the place
   * @param {number} from
   * @param {number} to
   * @param {number} factor pixels per byte
   */
  _showLine(name, from, to, factor) {
    /** @type {Record<Stream, string>} */
    const paths = { others: "", important: "" };
    let right = this._exit(this.places[name]);
    let total = 0;
    for (const { stream, bytes } of this.film.records(from, to)) {
      const width = bytes * factor;
      const gap = Math.min(1.5, width / 3);
      paths[stream] += `M${(right - width + gap).toFixed(2)} ${this.queueY}h${(width - gap).toFixed(2)}v${this.queueHeight}h${(gap - width).toFixed(2)}z`;
      right -= width;
      total += bytes;
    }
    for (const stream of STREAMS) set(this.parts[`${name}-${stream}`], { d: paths[stream] });
    write(this.parts[`${name}-bytes`], size(total));
    return total;
  }

  /** Draws the limit of the unsent bytes; with a tuner it moves. @param {number} tMs @param {number} unsent */
  _showLowat(tMs, unsent) {
    const { lowat } = this.shown.arm.scenario;
    const bytes = this.film.lowatAt(tMs) ?? (typeof lowat === "number" ? lowat : null);
    const visible = bytes !== null && this._width(bytes) < this.full;
    const exit = this._exit(this.places.socket);
    const x = this.limitX(bytes ?? 0);
    const nameX = Math.min(x, exit - this._width(unsent)) - 0.3 * this.em;
    show(this.parts.lowat, visible);
    show(this.parts["lowat-name"], visible && nameX - 4 * this.em > this.places.socket.x);
    set(this.parts.lowat, { "data-bytes": bytes ?? "" });
    if (bytes === null) return;
    set(this.parts.lowat, { x1: x, x2: x });
    set(this.parts["lowat-name"], { x: nameX });
  }

  /** @param {import("./film.js").Places} places */
  _showLink({ arrived, farFrom, nearFrom, sent }) {
    const { em } = this;
    const box = this.places.link;
    const factor = (box.width - 2 * this.pad) / this.scale.linkBytes;
    this._showLine("link", arrived, sent, factor);
    const right = this._exit(box);
    const bytes = (/** @type {number} */ from, /** @type {number} */ to) =>
      STREAMS.reduce((sum, stream) => sum + this.film.before(stream, to) - this.film.before(stream, from), 0);
    const held = bytes(arrived, farFrom) * factor;
    const ahead = bytes(arrived, farFrom) * factor;
    const queue = bytes(farFrom, nearFrom) * factor;
    const left = right - bytes(arrived, sent) * factor - 0.3 * em;
    const bottom = this.queueY + this.queueHeight + 0.25 * em;
    set(this.parts.lost, { d: held > 1 ? `M${right - held} ${this.queueY - 0.15 * em}h${held}` : "" });
    set(this.parts["lost-name"], { x: left });
    const lost = held > 1 && left > box.x + 22 * LETTER * em;
    show(this.parts["lost-name"], lost);
    set(this.parts.bottleneck, { d: queue > 1 ? `M${right - ahead - queue} ${bottom}h${queue}` : "" });
    set(this.parts["queue-name"], { x: left });
    show(this.parts["queue-name"], queue > 1 && !lost && left > box.x + 11 * LETTER * em);
  }

  /** @param {number} tMs @param {number} arrived */
  _showClient(tMs, arrived) {
    let total = 0;
    const { client } = this.places;
    const left = client.x + this.pad;
    for (const stream of STREAMS) {
      const { size_bytes, last_byte_ms } = this.film.asked(stream);
      const bytes = this.film.before(stream, arrived);
      total += bytes;
      set(this.parts[`client-${stream}`], { x: left, width: this._width(bytes) });
      const text = this.parts[`client-${stream}-text`];
      write(text, tMs >= last_byte_ms ? "all" : bytes ? `${Math.floor((100 * bytes) / size_bytes)}%` : "");
      const x = left + Math.min(this._width(size_bytes) + 0.4 * this.em, this.full - 2.2 * this.em);
      set(text, { x });
      show(text, x > left + this._width(bytes));
    }
    write(this.parts["client-bytes"], size(total));
  }
}
