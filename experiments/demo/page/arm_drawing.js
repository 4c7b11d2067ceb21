// @ts-check
// Draws an arm: the four places with the bytes that each holds at an instant, and a timeline of the bytes that arrived.
//
// Rules:
// 1. All places have the same scale for bytes, except the link: it holds so few bytes that it is magnified. A label
//    shows the factor.
// 2. In the front, streams are drawn apart: they can still be reordered. The upper one is handed over next. In the
//    kernel and on the link TLS records form a queue, and the kernel has a lock.
// 3. Nothing is drawn before the instant at which it happened.
// 4. All lengths follow from the size of the text, so that no text is smaller than the page's.

import { STREAMS } from "./film.js";
import { make, set, show } from "./svg.js";
import { kib, seconds } from "./words.js";

/** @typedef {import("./film.js").Film} Film */
/** @typedef {import("./film.js").Stream} Stream */
/** @typedef {{bytes: number, linkBytes: number, durationMs: number, binBytes: number, waitMs: number}} Scale */
/** @typedef {{width: number, height: number, em: number}} Room */
/** @typedef {{x: number, width: number}} Place */

/** The width of a letter, as a part of the text's size. */
const LETTER = 0.58;
/** Parts of the width for the places, without the ways between them. */
const SHARES = { front: 0.255, socket: 0.275, link: 0.225, client: 0.245 };
const WAY = 1.7;
const TITLE = 1.45;
/** The height in which everything can be drawn. */
const LEAST_HEIGHT = 11.2;
/** The width of a bar of the timeline, in pixels. */
const BAR_PX = 3;
const LEAST_BAR = 0.12;
/** In a drawing that is narrower than this, boxes have short titles. */
const NARROW = 46;
/** The longest time in which the important stream steps in front of the others, as a part of the film. */
const STEP_PART = 0.02;

/** Names of the ledger's parts, and the places where the time was spent. */
const PARTS = [
  { key: "front_pending", name: "front", place: "front" },
  { key: "front_committed", name: "front, committed", place: "front" },
  { key: "kernel_unsent", name: "kernel", place: "socket" },
  { key: "bottleneck_queue", name: "queue", place: "link" },
  { key: "propagation", name: "way", place: "link" },
  { key: "recovery", name: "loss", place: "link" },
  { key: "tls_record", name: "record", place: "client" },
];

/** @param {number} most @param {number} count */
export function tickStep(most, count) {
  const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  return steps.find((step) => most / step <= count) ?? most;
}

/** @param {number} t */
const smooth = (t) => t * t * (3 - 2 * t);

let made = 0;

export class ArmDrawing {
  /**
   * @param {Film} film
   * @param {Scale} scale the same for all drawings that are shown together
   * @param {import("./types.js").Shown} shown
   * @param {Room} room the space for the drawing, and the size of its text, in pixels
   */
  constructor(film, scale, shown, { width, height, em }) {
    this.film = film;
    this.scale = scale;
    this.shown = shown;
    this.em = em;
    this.width = width;
    this.height = Math.max(height, LEAST_HEIGHT * em);
    this.pad = 0.6 * em;
    this.brief = width < NARROW * em;
    const way = (this.brief ? 0.9 : WAY) * em;
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
    this._rows();
    this.element = /** @type {SVGSVGElement} */ (
      make("svg", { viewBox: `0 0 ${this.width.toFixed(1)} ${this.height.toFixed(1)}`, class: "stage", role: "img" })
    );
    this.element.style.height = `${this.height}px`;
    /** @type {Record<string, SVGElement>} */
    this.parts = {};
    this._places();
    this._tickets();
    this._strip();
    this._ledger();
    // Streams have the colours of all figures; the stream that the client asks for first has an outline.
    for (const fill of this.element.querySelectorAll(`.fill.${shown.favoured}`)) fill.classList.add("asked-first");
  }

  /** Distributes the height. */
  _rows() {
    const { em } = this;
    const spare = Math.max(0, this.height - LEAST_HEIGHT * em);
    this.boxY = 1.6 * em;
    this.boxHeight = 4 * em + Math.min(0.55 * spare, 4 * em);
    this.laneHeight = 1.4 * em + Math.min(0.15 * spare, em);
    this.laneGap = 0.3 * em;
    this.stripBottom = this.height - 1.25 * em;
    /** @type {Record<Stream, number>} */
    this.lane = { important: this.stripBottom - this.laneHeight - this.laneGap, others: 0 };
    this.lane.others = this.lane.important - this.laneHeight - this.laneGap;
    const inside = this.boxHeight - TITLE * em - 0.35 * em;
    this.rowHeight = Math.min(1.6 * em, inside / 2 - 0.15 * em);
    const free = (inside - 2 * this.rowHeight) / 3;
    this.rowY = [0, 1].map((row) => this.boxY + TITLE * em + free * (row + 1) + row * this.rowHeight);
    this.queueHeight = Math.min(2.6 * em, inside - 0.7 * em);
    this.queueY = this.boxY + TITLE * em + (inside - this.queueHeight) / 2;
  }

  /** @param {number} bytes */
  _width(bytes) {
    return (bytes / this.scale.bytes) * this.full;
  }

  /** @param {string} name @param {SVGElement} element */
  _add(name, element) {
    this.parts[name] = element;
    this.element.append(element);
    return element;
  }

  _places() {
    const { em, pad } = this;
    const magnified = (this.places.link.width - 2 * pad) / this.scale.linkBytes / (this.full / this.scale.bytes);
    const factor = `×${magnified < 10 ? magnified.toFixed(1) : Math.round(magnified)}`;
    /** The second title is for small drawings. @type {Record<string, string[]>} */
    const titles = {
      front: ["front: may choose", "front"],
      socket: ["kernel: order fixed", "kernel"],
      link: [`network, ${factor}`, "network"],
      client: ["client", "client"],
    };
    for (const [name, box] of Object.entries(this.places)) {
      const locked = name === "socket";
      const left = box.x + pad + (locked ? 1.05 * em : 0);
      const room = box.width - 2 * pad - (locked ? 1.05 * em : 0) - 4.6 * em;
      const title = titles[name].find((text) => text.length * LETTER * em <= room) ?? titles[name][1];
      const baseline = this.boxY + 1.1 * em;
      this.element.append(make("rect", { x: box.x, y: this.boxY, width: box.width, height: this.boxHeight, rx: 0.4 * em, class: `box ${name}` }));
      if (locked) this._lock(box.x + pad, baseline);
      this.element.append(make("text", { x: left, y: baseline, class: "title" }, title));
      const bytes = this._add(`${name}-bytes`, make("text", { x: box.x + box.width - pad, y: baseline, class: "bytes" }));
      if (this.brief) set(bytes, { y: this.boxY + this.boxHeight - 0.35 * em });
    }
    const { front, socket, link, client } = this.places;
    for (const [from, to] of [[front, socket], [socket, link], [link, client]]) {
      const x = from.x + from.width + 0.2 * em;
      const length = to.x - x - 0.4 * em;
      this.element.append(make("path", { d: `M${x} ${this.queueY + this.queueHeight / 2}h${length}m${-0.4 * em} ${-0.35 * em}l${0.4 * em} ${0.35 * em}l${-0.4 * em} ${0.35 * em}`, class: "way" }));
    }
    for (const stream of STREAMS) {
      for (const name of ["socket", "link"]) this._add(`${name}-${stream}`, make("path", { class: `fill ${stream}` }));
    }
    // The important stream is drawn last, because it steps past the others.
    STREAMS.forEach((stream, row) => {
      this._add(`front-${stream}`, make("rect", { height: this.rowHeight, class: `fill ${stream}` }));
      this._add(`client-${stream}`, make("rect", { height: this.rowHeight, y: this.rowY[row], class: `fill ${stream}` }));
      this._add(`client-${stream}-text`, make("text", { y: this.rowY[row] + this.rowHeight / 2 + 0.35 * em, class: "inside" }));
    });
    this._add("coming", make("rect", { y: this.rowY[1], height: this.rowHeight, class: "coming" }));
    this._add("lost", make("path", { class: "lost" }));
    this._add("lost-name", make("text", { y: this.queueY - 0.3 * em, class: "lost-name" }, "lost, or behind a loss"));
    this._add("bottleneck", make("path", { class: "bottleneck" }));
    this._add("queue-name", make("text", { y: this.queueY + this.queueHeight + 0.85 * em, class: "queue-name" }, "bottleneck"));
    this._add("lowat", make("line", { y1: this.boxY + TITLE * em, y2: this.boxY + this.boxHeight - 0.2 * em, class: "lowat" }));
    this._add("lowat-name", make("text", { y: this.boxY + this.boxHeight - 0.4 * em, class: "lowat-name" }, "LOWAT"));
  }

  /** Draws a padlock on the kernel's box. @param {number} x @param {number} baseline */
  _lock(x, baseline) {
    const { em } = this;
    this.element.append(
      make("rect", { x, y: baseline - 0.55 * em, width: 0.75 * em, height: 0.6 * em, rx: 0.1 * em, class: "lock" }),
      make("path", { d: `M${x + 0.15 * em} ${baseline - 0.55 * em}v${-0.12 * em}a${0.225 * em} ${0.225 * em} 0 0 1 ${0.45 * em} 0v${0.12 * em}`, class: "shackle", "stroke-width": 0.13 * em }),
    );
  }

  _tickets() {
    const { em } = this;
    for (const stream of STREAMS) {
      const text = `GET ${this._name(stream)}`;
      const width = (text.length * LETTER + 1) * em;
      const group = this._add(`ticket-${stream}`, make("g", { class: `ticket ${stream}` }));
      // Points back to the client, which sent the request.
      const trail = make("path", { class: "trail" });
      this.parts[`trail-${stream}`] = trail;
      group.append(
        trail,
        make("rect", { width, height: 1.35 * em, y: -1.05 * em, rx: 0.65 * em }),
        make("text", { x: width / 2, y: 0 }, text),
      );
      group.dataset.width = String(width);
    }
  }

  _strip() {
    const { em, lane, laneHeight } = this;
    const longest = Math.max(...STREAMS.map((stream) => this._name(stream).length));
    this.stripX = Math.max(4.5, longest * 0.62 + 1) * em;
    this.stripRight = this.width - 2 * em;
    const step = tickStep(this.scale.durationMs / 1000, this.brief ? 4 : 9);
    const top = lane.others - 0.2 * em;
    for (let at = 0; at * 1000 <= this.scale.durationMs * 1.0001; at += step) {
      const x = this._x(at * 1000);
      const text = step < 0.02 ? `${Number((at * 1000).toFixed(1))} ms` : `${Number(at.toFixed(2))} s`;
      this.element.append(
        make("line", { x1: x, x2: x, y1: top, y2: this.stripBottom, class: "grid" }),
        make("text", { x, y: this.height - 0.2 * em, class: "tick" }, text),
      );
    }
    const count = Math.max(20, Math.round((this.stripRight - this.stripX) / BAR_PX));
    const clip = `arrived-${(made += 1)}`;
    const window = make("clipPath", { id: clip });
    window.append(this._add("window", make("rect", { x: this.stripX - 2, y: 0, height: this.height, width: 0 })));
    this.element.append(window);
    for (const stream of STREAMS) {
      const first = this.shown.favoured === stream;
      this.element.append(make("text", { x: 0.3 * em, y: lane[stream] + laneHeight / 2 + 0.35 * em, class: `lane-name ${stream}` }, `${first ? "▸ " : ""}${this._name(stream)}`));
      this._add(`wait-${stream}`, make("rect", { y: lane[stream] + laneHeight * 0.35, height: laneHeight * 0.3, class: `wait ${stream}` }));
      this._add(`lane-${stream}`, make("path", { d: this._bars(stream, count), class: `fill ${stream}`, "clip-path": `url(#${clip})` }));
    }
    this._add("available", make("line", { y1: top, y2: this.stripBottom, class: "available" }));
    this._add("available-name", make("text", { y: lane.others - 0.45 * em, class: "available-name" }, `${this._name("important")} exists`));
    this._add("now", make("line", { y1: top - 0.2 * em, y2: this.stripBottom, class: "now" }));
    this._add("waiting", make("text", { y: lane.important + laneHeight / 2 + 0.4 * em, class: "waiting" }));
  }

  /** Returns bars for the bytes that arrived in each part of the film. @param {Stream} stream @param {number} count */
  _bars(stream, count) {
    const width = (this.stripRight - this.stripX) / count;
    const bottom = this.lane[stream] + this.laneHeight;
    const height = (/** @type {number} */ bytes) => this.laneHeight * Math.min(1, Math.max(LEAST_BAR, bytes / this.scale.binBytes));
    return this.film
      .received(stream, count, this.scale.durationMs)
      .map((bytes, index) => (bytes ? `M${(this.stripX + index * width).toFixed(2)} ${bottom}v${(-height(bytes)).toFixed(2)}h${width.toFixed(2)}V${bottom}z` : ""))
      .join("");
  }

  /** The end card: where the important resource spent its wait, at a scale that both arms share. */
  _ledger() {
    const { em } = this;
    const { ledger } = this.shown.arm;
    const card = this._add("card", make("g", { class: "card-of-waits" }));
    show(card, false);
    if (!ledger) return;
    const right = this.width - 2;
    card.append(
      make("rect", { x: 0, y: this.boxY - 0.2 * em, width: this.width, height: this.boxHeight + 0.5 * em, class: "veil" }),
      make("text", { x: 2, y: this.boxY + 1.1 * em, class: "waited" }, `${ledger.focal} waited ${seconds(ledger.wait_ms)}`),
    );
    const y = this.boxY + 1.7 * em;
    const height = Math.min(2.4 * em, this.boxHeight - 1.9 * em);
    let x = 2;
    for (const { key, name, place } of PARTS) {
      const waitMs = ledger.parts_ms[key] ?? 0;
      const width = (waitMs / this.scale.waitMs) * (right - 2);
      if (width < 1) continue;
      card.append(make("rect", { x, y, width, height, class: `part ${place}` }));
      const texts = [`${name} ${seconds(waitMs)}`, name].filter((text) => (text.length * 0.62 + 0.6) * em < width);
      if (texts.length) card.append(make("text", { x: x + width / 2, y: y + height / 2 + 0.35 * em, class: `part-name ${place}` }, texts[0]));
      x += width;
    }
  }

  /** @param {number} tMs */
  _x(tMs) {
    return this.stripX + (Math.min(tMs, this.scale.durationMs) / this.scale.durationMs) * (this.stripRight - this.stripX);
  }

  /** @param {Stream} stream */
  _name(stream) {
    return this.film.asked(stream).name;
  }

  /** @param {Stream} stream */
  _size(stream) {
    return this.film.asked(stream).size_bytes;
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    const places = this.film.at(tMs);
    this._showFront(tMs, places.handed);
    this._showLine("socket", places.sent, places.handed, this.full / this.scale.bytes);
    this._showLowat(tMs);
    this._showLink(places);
    this._showClient(tMs, places.arrived);
    this._showTickets(tMs);
    this._showStrip(tMs);
    show(this.parts.card, tMs >= this.scale.durationMs && this.shown.arm.ledger !== null);
  }

  /** @param {number} tMs @param {number} handed */
  _showFront(tMs, handed) {
    const important = this.film.asked("important");
    const requested = tMs >= (important.received_ms ?? important.sent_ms);
    const existsMs = this.film.availableMs;
    const step = this.film.durationMs * STEP_PART;
    const stepped = tMs < existsMs ? 0 : smooth(Math.min(1, (tMs - existsMs) / step));
    /** The part of the way from the lower row to the upper one. */
    const raised = stepped * (this.film.importantNext(handed) ?? 1);
    const [upper, lower] = this.rowY;
    const right = this.places.front.x + this.places.front.width - this.pad;
    let total = 0;
    for (const stream of STREAMS) {
      const asked = this.film.asked(stream);
      const there = tMs >= (asked.available_ms ?? asked.received_ms ?? asked.sent_ms);
      const bytes = there ? this._size(stream) - this.film.before(stream, handed) : 0;
      total += bytes;
      const width = this._width(bytes);
      const up = stream === "important" ? raised : 1 - raised;
      set(this.parts[`front-${stream}`], { x: right - width, width, y: lower + (upper - lower) * up });
    }
    const width = this._width(this._size("important"));
    set(this.parts.coming, { x: right - width, width });
    show(this.parts.coming, requested && tMs < existsMs);
    this.parts["front-bytes"].textContent = kib(total);
  }

  /**
   * Draws queued TLS records; the next byte to leave is at the right.
   * @param {string} name of the place
   * @param {number} from
   * @param {number} to
   * @param {number} factor pixels per byte
   */
  _showLine(name, from, to, factor) {
    /** @type {Record<Stream, string>} */
    const paths = { others: "", important: "" };
    const box = this.places[name];
    let right = box.x + box.width - this.pad;
    let total = 0;
    for (const { stream, bytes } of this.film.records(from, to)) {
      const width = bytes * factor;
      const gap = Math.min(1, width / 4);
      paths[stream] += `M${(right - width + gap).toFixed(2)} ${this.queueY}h${(width - gap).toFixed(2)}v${this.queueHeight}h${(gap - width).toFixed(2)}z`;
      right -= width;
      total += bytes;
    }
    for (const stream of STREAMS) set(this.parts[`${name}-${stream}`], { d: paths[stream] });
    this.parts[`${name}-bytes`].textContent = kib(total);
  }

  /** Draws the limit of the unsent bytes; with a tuner it moves. @param {number} tMs */
  _showLowat(tMs) {
    const { lowat } = this.shown.arm.scenario;
    const bytes = this.film.lowatAt(tMs) ?? (typeof lowat === "number" ? lowat : null);
    const visible = bytes !== null && this._width(bytes) < this.full;
    show(this.parts.lowat, visible);
    show(this.parts["lowat-name"], visible);
    if (bytes === null) return;
    const box = this.places.socket;
    const x = box.x + box.width - this.pad - this._width(bytes);
    set(this.parts.lowat, { x1: x, x2: x });
    set(this.parts["lowat-name"], { x: x - 0.3 * this.em });
    this.parts.lowat.dataset.bytes = String(bytes);
  }

  /** @param {import("./film.js").Places} places */
  _showLink({ arrived, farFrom, nearFrom, sent }) {
    const { em } = this;
    const box = this.places.link;
    const factor = (box.width - 2 * this.pad) / this.scale.linkBytes;
    this._showLine("link", arrived, sent, factor);
    const right = box.x + box.width - this.pad;
    const bytes = (/** @type {number} */ from, /** @type {number} */ to) =>
      STREAMS.reduce((sum, stream) => sum + this.film.before(stream, to) - this.film.before(stream, from), 0);
    const [from, to] = this.film.document.queue_first ? [nearFrom, sent] : [farFrom, nearFrom];
    const held = bytes(arrived, farFrom) * factor;
    const ahead = bytes(arrived, from) * factor;
    const queue = bytes(from, to) * factor;
    const bottom = this.queueY + this.queueHeight + 0.25 * em;
    set(this.parts.lost, { d: held > 1 ? `M${right - held} ${this.queueY - 0.15 * em}h${held}` : "" });
    const lostX = right - held - 0.3 * em;
    set(this.parts["lost-name"], { x: lostX });
    show(this.parts["lost-name"], held > 1 && lostX > box.x + 22 * LETTER * em);
    set(this.parts.bottleneck, { d: queue > 1 ? `M${right - ahead - queue} ${bottom}h${queue}` : "" });
    const nameX = right - ahead - queue - 0.3 * em;
    set(this.parts["queue-name"], { x: nameX });
    show(this.parts["queue-name"], queue > 1 && nameX > box.x + 11 * LETTER * em && !this.brief);
  }

  /** @param {number} tMs @param {number} arrived */
  _showClient(tMs, arrived) {
    let total = 0;
    const left = this.places.client.x + this.pad;
    for (const stream of STREAMS) {
      const bytes = this.film.before(stream, arrived);
      total += bytes;
      const width = this._width(bytes);
      set(this.parts[`client-${stream}`], { x: left, width });
      const text = this.parts[`client-${stream}-text`];
      const done = tMs >= this.film.asked(stream).last_byte_ms;
      text.textContent = done ? "all" : bytes ? `${Math.floor((100 * bytes) / this._size(stream))}%` : "";
      set(text, { x: left + Math.min(this._width(this._size(stream)) + 0.4 * this.em, this.full - 2.4 * this.em) });
    }
    this.parts["client-bytes"].textContent = kib(total);
  }

  /** Draws requests: on their way to the front, and then there until the response's first byte arrives. @param {number} tMs */
  _showTickets(tMs) {
    const { front, client } = this.places;
    let taken = 0;
    STREAMS.forEach((stream, index) => {
      const asked = this.film.asked(stream);
      const ticket = this.parts[`ticket-${stream}`];
      const width = Number(ticket.dataset.width);
      const offset = taken;
      taken += width + 0.4 * this.em;
      const open = tMs >= asked.sent_ms && tMs < asked.first_byte_ms;
      show(ticket, open);
      if (!open) return;
      const from = Math.min(client.x + offset, this.width - width - 2);
      const to = front.x + offset;
      const way = (asked.received_ms ?? asked.sent_ms) - asked.sent_ms;
      const part = way > 0 ? Math.min(1, (tMs - asked.sent_ms) / way) : 1;
      const x = from + (to - from) * part;
      set(ticket, { transform: `translate(${x.toFixed(1)} ${(1.15 * this.em).toFixed(1)})` });
      const trail = client.x + client.width - x - width - 4;
      const trailY = (index * 0.4 - 0.6) * this.em;
      set(this.parts[`trail-${stream}`], { d: trail > 8 ? `M${width + 4} ${trailY}m6 -4l-6 4l6 4m-6 -4h${trail.toFixed(1)}` : "" });
    });
  }

  /** @param {number} tMs */
  _showStrip(tMs) {
    const now = this._x(Math.min(tMs, this.film.durationMs));
    set(this.parts.window, { width: Math.max(0, now - this.stripX + 2) });
    for (const stream of STREAMS) {
      const asked = this.film.asked(stream);
      const since = stream === "important" ? this.film.availableMs : (asked.available_ms ?? asked.sent_ms);
      const x = this._x(since);
      const to = this._x(Math.min(tMs, asked.first_byte_ms));
      set(this.parts[`wait-${stream}`], { x, width: tMs >= since ? Math.max(2, to - x) : 0 });
    }
    const exists = tMs >= this.film.availableMs;
    const x = this._x(this.film.availableMs);
    const room = (this._name("important").length + 7) * LETTER * this.em;
    const toTheLeft = x + room > this.width;
    set(this.parts.available, { x1: x, x2: x });
    set(this.parts["available-name"], { x: toTheLeft ? x - 4 : x + 4, "text-anchor": toTheLeft ? "end" : "start" });
    show(this.parts.available, exists);
    show(this.parts["available-name"], exists);
    set(this.parts.now, { x1: now, x2: now });
    this._showWait(tMs, now);
  }

  /** Shows beside the playhead how long the important resource has waited for its first byte. @param {number} tMs @param {number} now */
  _showWait(tMs, now) {
    const { first_byte_ms: firstMs } = this.film.asked("important");
    const text = this.parts.waiting;
    if (tMs < this.film.availableMs) {
      text.textContent = "";
      return;
    }
    const answered = tMs >= firstMs;
    text.textContent = answered
      ? `waited ${seconds(firstMs - this.film.availableMs)}`
      : `waiting ${seconds(tMs - this.film.availableMs)}`;
    // The text is on the side that has room; after the first byte it does not move.
    const wanted = answered ? this._x(firstMs) : now;
    const room = 15 * LETTER * this.em;
    const toTheLeft = wanted + room > this.width || (answered && wanted - this._x(this.film.availableMs) > room);
    set(text, {
      x: wanted + (toTheLeft ? -0.5 : 0.5) * this.em,
      "text-anchor": toTheLeft ? "end" : "start",
      class: answered ? "waiting answered" : "waiting",
    });
  }
}
