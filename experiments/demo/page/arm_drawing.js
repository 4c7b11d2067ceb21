// @ts-check
// Draws an arm: the four places with the bytes that each holds at an instant, and a timeline of when bytes arrived.
//
// Rules:
// 1. All places have the same scale for bytes, except the link: it holds so few bytes that it is magnified. A label
//    shows the factor.
// 2. In the front, streams are drawn apart: they can still be reordered. In the kernel and on the link they form a
//    queue.
// 3. Nothing is drawn before the instant at which it happened.

import { STREAMS } from "./film.js";
import { kib, seconds } from "./words.js";

/** @typedef {import("./film.js").Film} Film */
/** @typedef {import("./film.js").Stream} Stream */
/** @typedef {{bytes: number, linkBytes: number, durationMs: number}} Scale */

const NAMESPACE = "http://www.w3.org/2000/svg";
/** The drawing's height. Its width depends on the available space. */
const HEIGHT = 250;
const NARROWEST = 1000;
const WIDEST = 1700;

/** Left edge and width of each place in a drawing that is 1000 wide. */
const PLACES = {
  front: { x: 6, width: 166 },
  socket: { x: 200, width: 278 },
  link: { x: 506, width: 256 },
  client: { x: 790, width: 204 },
};
const PAD = 9;
const TICKETS_Y = 15;
const TICKET_WIDTH = 84;
const BOX_Y = 30;
const BOX_HEIGHT = 100;
const ROW = { others: BOX_Y + 38, important: BOX_Y + 66 };
const ROW_HEIGHT = 20;
const QUEUE_Y = BOX_Y + 41;
const QUEUE_HEIGHT = 44;
const NAME_WIDTH = 80;
const LOST_WIDTH = 115;

/** The timeline at the bottom. */
const STRIP_X = 80;
const STRIP_RIGHT = 26;
const LANE = { others: 152, important: 184 };
const LANE_HEIGHT = 22;
const STRIP_BOTTOM = 216;
/** Room for the labels beside the timeline and after its lanes. */
const NAME_ROOM = 80;
const WAITING_ROOM = 150;

/** @param {string} tag @param {Record<string, string | number>} attributes @param {string} [text] */
function make(tag, attributes, text) {
  const element = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, tag));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {SVGElement} element @param {Record<string, string | number>} attributes */
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** @param {number} most */
function tickStep(most) {
  const steps = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  return steps.find((step) => most / step <= 9) ?? most;
}

export class ArmDrawing {
  /**
   * @param {Film} film
   * @param {Scale} scale the same for all drawings that are shown together
   * @param {number | null} lowat LOWAT in bytes; null if it is unset or a tuner sets it
   * @param {import("./types.js").Stream | null} favoured the stream that the client asks for first
   * @param {number} aspect width of the available space divided by its height
   */
  constructor(film, scale, lowat, favoured, aspect) {
    this.film = film;
    this.scale = scale;
    this.favoured = favoured;
    this.width = Math.min(WIDEST, Math.max(NARROWEST, HEIGHT * aspect));
    const stretch = this.width / NARROWEST;
    const place = (/** @type {{x: number, width: number}} */ { x, width }) => ({ x: x * stretch, width: width * stretch });
    this.front = place(PLACES.front);
    this.socket = place(PLACES.socket);
    this.link = place(PLACES.link);
    this.client = place(PLACES.client);
    /** The width that both streams together have at this scale. */
    this.full = this.socket.width - 2 * PAD;
    const viewBox = `0 0 ${this.width.toFixed(0)} ${HEIGHT}`;
    this.element = /** @type {SVGSVGElement} */ (
      make("svg", { viewBox, class: "stage", role: "img", preserveAspectRatio: "xMidYMid meet" })
    );
    /** @type {Record<string, SVGElement>} */
    this.parts = {};
    this._places(lowat);
    this._tickets();
    this._strip();
    // Streams have the colours of all figures; the stream that the client asks for first has an outline.
    for (const fill of this.element.querySelectorAll(`.fill.${favoured}`)) fill.classList.add("asked-first");
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

  /** @param {number | null} lowat */
  _places(lowat) {
    const magnified = (this.link.width - 2 * PAD) / this.scale.linkBytes / (this.full / this.scale.bytes);
    const titles = [
      { name: "front", box: this.front, title: "front" },
      { name: "socket", box: this.socket, title: "kernel: not sent yet" },
      { name: "link", box: this.link, title: `network (scale ${magnified < 10 ? magnified.toFixed(1) : Math.round(magnified)}×)` },
      { name: "client", box: this.client, title: "client" },
    ];
    for (const { name, box, title } of titles) {
      this.element.append(
        make("rect", { x: box.x, y: BOX_Y, width: box.width, height: BOX_HEIGHT, rx: 6, class: `box ${name}` }),
        make("text", { x: box.x + PAD, y: BOX_Y + 20, class: "title" }, title),
      );
      this._add(`${name}-bytes`, make("text", { x: box.x + box.width - PAD, y: BOX_Y + 20, class: "bytes" }));
    }
    for (const [left, right] of [[this.front, this.socket], [this.socket, this.link], [this.link, this.client]]) {
      const x = left.x + left.width + 5;
      this.element.append(
        make("path", { d: `M${x} ${QUEUE_Y + 22} h${right.x - x - 10} m-6 -5 l7 5 l-7 5`, class: "way" }),
      );
    }
    for (const stream of STREAMS) {
      for (const name of ["socket", "link"]) this._add(`${name}-${stream}`, make("path", { class: `fill ${stream}` }));
      for (const name of ["front", "client"]) this._add(`${name}-${stream}`, make("rect", { height: ROW_HEIGHT, y: ROW[stream], class: `fill ${stream}` }));
      this._add(`client-${stream}-text`, make("text", { y: ROW[stream] + 15, class: "inside" }));
    }
    this._add("coming", make("rect", { x: this.front.x + PAD, y: ROW.important, width: this._width(this._size("important")), height: ROW_HEIGHT, class: "coming" }));
    this._add("lost", make("path", { class: "lost" }));
    this._add("lost-name", make("text", { y: QUEUE_Y - 5, class: "lost-name" }, "lost, or behind a loss"));
    this._add("bottleneck", make("path", { class: "bottleneck" }));
    this._add("queue-name", make("text", { y: QUEUE_Y + QUEUE_HEIGHT + 12, class: "queue-name" }, "bottleneck"));
    if (lowat !== null && this._width(lowat) < this.full) {
      const x = this.socket.x + this.socket.width - PAD - this._width(lowat);
      this.element.append(
        make("line", { x1: x, x2: x, y1: BOX_Y + 27, y2: BOX_Y + BOX_HEIGHT - 4, class: "lowat" }),
        make("text", { x: x - 5, y: BOX_Y + 36, class: "lowat-name" }, "LOWAT"),
      );
    }
  }

  _tickets() {
    for (const stream of STREAMS) {
      const group = this._add(`ticket-${stream}`, make("g", { class: `ticket ${stream}` }));
      // Points back to the client, which sent the request.
      const trail = make("path", { class: "trail" });
      this.parts[`trail-${stream}`] = trail;
      group.append(
        trail,
        make("rect", { width: TICKET_WIDTH, height: 19, y: -14, rx: 9 }),
        make("text", { x: TICKET_WIDTH / 2, y: 0 }, `GET ${this._name(stream)}`),
      );
    }
  }

  _strip() {
    const step = tickStep(this.scale.durationMs / 1000);
    for (let at = 0; at * 1000 <= this.scale.durationMs * 1.0001; at += step) {
      const x = this._x(at * 1000);
      this.element.append(
        make("line", { x1: x, x2: x, y1: LANE.others - 6, y2: STRIP_BOTTOM, class: "grid" }),
        make("text", { x, y: STRIP_BOTTOM + 16, class: "tick" }, `${Number(at.toFixed(2))} s`),
      );
    }
    for (const stream of STREAMS) {
      this.element.append(
        make("text", { x: 6, y: LANE[stream] + 15, class: `lane-name ${stream}` }, this._name(stream)),
      );
      if (this.favoured === stream) {
        this.element.append(make("text", { x: 6, y: LANE[stream] + 28, class: "asked" }, "asked first"));
      }
      this._add(`wait-${stream}`, make("rect", { y: LANE[stream] + 6, height: LANE_HEIGHT - 12, class: `wait ${stream}` }));
      this._add(`lane-${stream}`, make("rect", { y: LANE[stream], height: LANE_HEIGHT, class: `fill ${stream}` }));
    }
    this._add("available", make("line", { y1: LANE.others - 6, y2: STRIP_BOTTOM, class: "available" }));
    this._add("available-name", make("text", { y: LANE.others - 8, class: "available-name" }, `${this._name("important")} exists`));
    this._add("now", make("line", { y1: LANE.others - 10, y2: STRIP_BOTTOM, class: "now" }));
    this._add("waiting", make("text", { y: LANE.important + 16, class: "waiting" }));
  }

  /** @param {number} tMs */
  _x(tMs) {
    return STRIP_X + (Math.min(tMs, this.scale.durationMs) / this.scale.durationMs) * (this.width - STRIP_X - STRIP_RIGHT);
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
    this._showLine("socket", this.socket, places.sent, places.handed, this.full / this.scale.bytes);
    this._showLink(places);
    this._showClient(tMs, places.arrived);
    this._showTickets(tMs);
    this._showStrip(tMs);
  }

  /** @param {number} tMs @param {number} handed */
  _showFront(tMs, handed) {
    const asked = this.film.asked("important");
    const requested = tMs >= (asked.received_ms ?? asked.sent_ms);
    const exists = tMs >= this.film.availableMs;
    let total = 0;
    for (const stream of STREAMS) {
      const asked = this.film.asked(stream);
      const there = tMs >= (asked.available_ms ?? asked.received_ms ?? asked.sent_ms);
      const bytes = there ? this._size(stream) - this.film.before(stream, handed) : 0;
      total += bytes;
      const width = this._width(bytes);
      set(this.parts[`front-${stream}`], { x: this.front.x + this.front.width - PAD - width, width });
    }
    set(this.parts.coming, { visibility: requested && !exists ? "visible" : "hidden" });
    this.parts["front-bytes"].textContent = kib(total);
  }

  /**
   * Draws queued bytes; the next byte to leave is at the right.
   * @param {string} name
   * @param {{x: number, width: number}} box
   * @param {number} from
   * @param {number} to
   * @param {number} factor pixels per byte
   */
  _showLine(name, box, from, to, factor) {
    /** @type {Record<Stream, string>} */
    const paths = { others: "", important: "" };
    let right = box.x + box.width - PAD;
    let total = 0;
    for (const { stream, bytes } of this.film.segments(from, to)) {
      const width = bytes * factor;
      paths[stream] += `M${(right - width).toFixed(2)} ${QUEUE_Y}h${width.toFixed(2)}v${QUEUE_HEIGHT}h${(-width).toFixed(2)}z`;
      right -= width;
      total += bytes;
    }
    for (const stream of STREAMS) set(this.parts[`${name}-${stream}`], { d: paths[stream] });
    this.parts[`${name}-bytes`].textContent = kib(total);
    return right;
  }

  /** @param {import("./film.js").Places} places */
  _showLink({ arrived, farFrom, nearFrom, sent }) {
    const factor = (this.link.width - 2 * PAD) / this.scale.linkBytes;
    this._showLine("link", this.link, arrived, sent, factor);
    const right = this.link.x + this.link.width - PAD;
    const bytes = (/** @type {number} */ from, /** @type {number} */ to) =>
      STREAMS.reduce((sum, stream) => sum + this.film.before(stream, to) - this.film.before(stream, from), 0);
    const [from, to] = this.film.document.queue_first ? [nearFrom, sent] : [farFrom, nearFrom];
    const held = bytes(arrived, farFrom) * factor;
    const ahead = bytes(arrived, from) * factor;
    const queue = bytes(from, to) * factor;
    set(this.parts.lost, {
      d: held > 1 ? `M${right - held} ${QUEUE_Y - 4}h${held}` : "",
    });
    const lostX = right - held - 5;
    set(this.parts["lost-name"], {
      x: lostX,
      visibility: held > 1 && lostX > this.link.x + LOST_WIDTH ? "visible" : "hidden",
    });
    set(this.parts.bottleneck, {
      d: queue > 1 ? `M${right - ahead - queue} ${QUEUE_Y + QUEUE_HEIGHT + 5}h${queue}` : "",
    });
    const nameX = right - ahead - queue - 5;
    const isNamed = queue > 1 && nameX > this.link.x + NAME_WIDTH;
    set(this.parts["queue-name"], { x: nameX, visibility: isNamed ? "visible" : "hidden" });
  }

  /** @param {number} tMs @param {number} arrived */
  _showClient(tMs, arrived) {
    let total = 0;
    for (const stream of STREAMS) {
      const bytes = this.film.before(stream, arrived);
      total += bytes;
      const width = this._width(bytes);
      set(this.parts[`client-${stream}`], { x: this.client.x + PAD, width });
      const text = this.parts[`client-${stream}-text`];
      set(text, { x: this.client.x + PAD + this._width(this._size(stream)) + 6 });
      const done = tMs >= this.film.asked(stream).last_byte_ms;
      text.textContent = done ? "all" : bytes ? `${Math.floor((100 * bytes) / this._size(stream))}%` : "";
    }
    this.parts["client-bytes"].textContent = kib(total);
  }

  /** Draws requests: on their way to the front, and then there until the response's first byte arrives. @param {number} tMs */
  _showTickets(tMs) {
    STREAMS.forEach((stream, index) => {
      const asked = this.film.asked(stream);
      const ticket = this.parts[`ticket-${stream}`];
      const open = tMs >= asked.sent_ms && tMs < asked.first_byte_ms;
      set(ticket, { visibility: open ? "visible" : "hidden" });
      if (!open) return;
      const from = this.client.x + index * 90;
      const to = this.front.x + index * 90;
      const way = (asked.received_ms ?? asked.sent_ms) - asked.sent_ms;
      const part = way > 0 ? Math.min(1, (tMs - asked.sent_ms) / way) : 1;
      const x = from + (to - from) * part;
      set(ticket, { transform: `translate(${x.toFixed(1)} ${TICKETS_Y})` });
      const trail = this.client.x + this.client.width - x - TICKET_WIDTH - 4;
      const trailY = index * 6 - 7;
      set(this.parts[`trail-${stream}`], { d: `M${TICKET_WIDTH + 4} ${trailY}m6 -4l-6 4l6 4m-6 -4h${trail.toFixed(1)}` });
    });
  }

  /** @param {number} tMs */
  _showStrip(tMs) {
    const now = this._x(Math.min(tMs, this.film.durationMs));
    for (const stream of STREAMS) {
      const asked = this.film.asked(stream);
      const since = stream === "important" ? this.film.availableMs : (asked.available_ms ?? asked.sent_ms);
      this._bar(`wait-${stream}`, since, Math.min(tMs, asked.first_byte_ms), tMs >= since);
      this._bar(`lane-${stream}`, asked.first_byte_ms, Math.min(tMs, asked.last_byte_ms), tMs >= asked.first_byte_ms);
    }
    const exists = tMs >= this.film.availableMs;
    const x = this._x(this.film.availableMs);
    set(this.parts.available, { x1: x, x2: x, visibility: exists ? "visible" : "hidden" });
    const toTheLeft = x > this.width - STRIP_RIGHT - NAME_ROOM;
    set(this.parts["available-name"], {
      x: toTheLeft ? x - 4 : x + 4,
      "text-anchor": toTheLeft ? "end" : "start",
      visibility: exists ? "visible" : "hidden",
    });
    set(this.parts.now, { x1: now, x2: now });
    this._showWait(tMs, now);
  }

  /** @param {string} name @param {number} fromMs @param {number} toMs @param {boolean} begun */
  _bar(name, fromMs, toMs, begun) {
    const x = this._x(fromMs);
    set(this.parts[name], { x, width: begun ? Math.max(2, this._x(toMs) - x) : 0 });
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
    const toTheLeft = wanted > STRIP_X + 0.5 * (this.width - STRIP_X - STRIP_RIGHT);
    const behind = Math.max(this._x(Math.min(tMs, this.film.asked("important").last_byte_ms)), wanted);
    const x = answered && !toTheLeft ? Math.min(behind + 8, this.width - WAITING_ROOM) : wanted + (toTheLeft ? -8 : 8);
    set(text, {
      x,
      "text-anchor": toTheLeft ? "end" : "start",
      class: answered ? "waiting answered" : "waiting",
    });
  }
}
