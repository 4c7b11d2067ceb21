// @ts-check
// Draws an arm: the four places with the bytes that each holds at an instant, and below them the bytes that arrived over
// time. At the film's end, a card with the parts of the wait takes the place of the four places.
//
// All lengths follow from the size of the text, so that no text is smaller than the page's.

import { STREAMS } from "./film.js";
import { ROW } from "./grip.js";
import { ABOVE, AXIS, GAP, Lanes } from "./lanes.js";
import { Places } from "./places.js";
import { make, set, show } from "./svg.js";
import { worded } from "./tip.js";
import { WaitCard } from "./wait_card.js";
import { BOLD } from "./words.js";

/** @typedef {import("./film.js").Film} Film */
/** @typedef {{bytes: number, linkBytes: number, durationMs: number, bytesPerMs: number, waitMs: number}} Scale */
/** line: true if LOWAT's line stands below the end card. @typedef {{width: number, height: number, em: number, axis: boolean, line: boolean}} Room */

/** In a drawing that is narrower than this, numbers have a row of their own. */
const NARROW = 40;
const TICKETS = 1.45;
const LEAST_BOX = 3.95;
const LEAST_LANE = 1.15;

export class ArmDrawing {
  /**
   * @param {Film} film
   * @param {Scale} scale the same for all drawings that are shown together
   * @param {import("./types.js").Shown} shown
   * @param {Room} room the space for the drawing, and the size of its text, in pixels
   */
  constructor(film, scale, shown, { width, height, em, axis, line }) {
    this.film = film;
    this.scale = scale;
    this.em = em;
    this.width = width;
    const brief = width < NARROW * em;
    const fixed = TICKETS + ABOVE + GAP + (axis ? AXIS : 0.2);
    const { ledger } = shown.arm;
    /** Null if the run has no ledger. */
    this.card = ledger ? new WaitCard(ledger, scale.waitMs, { width, em }) : null;
    const least = Math.max(LEAST_BOX + (brief ? 1 : 0), (this.card?.least ?? 0) + (line ? ROW : 0) - TICKETS) + 2 * LEAST_LANE;
    this.height = Math.max(height, (fixed + least) * em);
    const spare = this.height - (fixed + least) * em;
    const laneHeight = LEAST_LANE * em + Math.min(0.25 * spare, 1.5 * em);
    const boxHeight = this.height - fixed * em - 2 * laneHeight;
    const y = TICKETS * em;
    this.places = new Places(film, scale, shown, { width, em, y, height: boxHeight, brief });
    this.lanes = new Lanes(film, scale, shown, { width, em, y: y + boxHeight, laneHeight, brief, axis });
    // At the film's end there are no tickets.
    const space = y + boxHeight;
    /** The upper end of the line below the end card; null if there is none. */
    this.lineY = line && this.card ? space - ROW * em : null;
    this.card?.draw(this.lineY ?? space);
    this.element = /** @type {SVGSVGElement} */ (
      make("svg", { viewBox: `0 0 ${width.toFixed(1)} ${this.height.toFixed(1)}`, class: brief ? "stage brief" : "stage", role: "group" })
    );
    this.element.style.height = `${this.height}px`;
    this.element.append(this.places.element, this.lanes.element);
    if (this.card) this.element.append(this.card.element);
    /** The line of LOWAT, if it can be moved. @type {import("./grip.js").Grip | null} */
    this.grip = null;
    /** @type {Record<string, SVGElement>} */
    this.parts = {};
    this._tickets();
  }

  _tickets() {
    const { em } = this;
    for (const stream of STREAMS) {
      const text = `GET ${this.film.asked(stream).name}`;
      const width = (text.length * BOLD + 1) * em;
      const group = (this.parts[stream] = worded(make("g", { class: `ticket ${stream}` }), "request"));
      // Points back to the client, which sent the request.
      const trail = (this.parts[`trail-${stream}`] = make("path", { class: "trail" }));
      group.append(
        trail,
        make("rect", { width, height: 1.25 * em, y: -em, rx: 0.6 * em }),
        make("text", { x: width / 2, y: -0.05 * em }, text),
      );
      group.dataset.width = String(width);
      this.element.append(group);
    }
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    const ended = this.card !== null && tMs >= this.scale.durationMs;
    show(this.places.element, !ended);
    if (this.card) show(this.card.element, ended);
    this.grip?.end(ended);
    this.places.show(tMs);
    this.lanes.show(tMs);
    this._showTickets(tMs);
  }

  /** Draws requests: on their way to the front, and then there until the response's first byte arrives. @param {number} tMs */
  _showTickets(tMs) {
    const { front, client } = this.places.places;
    let taken = 0;
    STREAMS.forEach((stream, index) => {
      const asked = this.film.asked(stream);
      const ticket = this.parts[stream];
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
      set(ticket, { transform: `translate(${x.toFixed(1)} ${(1.05 * this.em).toFixed(1)})` });
      const trail = client.x + client.width - x - width - 4;
      const trailY = (index * 0.4 - 0.6) * this.em;
      set(this.parts[`trail-${stream}`], { d: trail > 8 ? `M${width + 4} ${trailY}m6 -4l-6 4l6 4m-6 -4h${trail.toFixed(1)}` : "" });
    });
  }
}
