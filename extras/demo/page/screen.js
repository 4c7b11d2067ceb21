// @ts-check
// Draws the client's screen: what the page looks like when the bytes so far can be read.
//
// Rules:
// 1. A resource shows what its content type stands for. HTML: lines of text. JPEG: a picture, from its top down to the
//    part that can be read. A style sheet: colours, when it is complete. A script: buttons and a pin, when it is
//    complete. An event stream: words. Any other type: a bar of progress.
// 2. The page is ready when all important resources are complete.

import { PARK, PIN, PIN_SIZE, ROADS, SHORE } from "./map.js";
import { make, set, show } from "./svg.js";

/** @typedef {import("./film.js").Film} Film */
/** @typedef {import("./types.js").Delivery} Delivery */
/** @typedef {{x: number, y: number, width: number, height: number}} Box */

const WORDS = [0.55, 0.3, 0.7, 0.4, 0.62, 0.35, 0.5, 0.66, 0.28, 0.58];
let made = 0;

/** @param {Delivery} delivery */
function kindOf({ content_type: type, stream }) {
  if (type === "text/html") return "text";
  if (type.startsWith("image/")) return "picture";
  if (type === "text/css") return "style";
  if (type === "text/javascript") return "script";
  if (type === "text/event-stream") return "words";
  return stream === "documents" ? "text" : "bar";
}

export class Screen {
  /**
   * @param {Film} film
   * @param {Box} box
   */
  constructor(film, box) {
    this.film = film;
    this.box = box;
    this.element = make("g", { class: "screen" });
    this.clip = `screen-${(made += 1)}`;
    const clip = make("clipPath", { id: this.clip });
    clip.append(make("rect", { ...box, rx: box.width / 24 }));
    const back = make("rect", { ...box, rx: box.width / 24, class: "paper" });
    this.inside = make("g", { "clip-path": `url(#${this.clip})` });
    this.edge = make("rect", { ...box, rx: box.width / 24, class: "edge" });
    this.element.append(clip, back, this.inside, this.edge);
    /** Shows what can be read. Each function gets the part of its resource, 0 to 1. @type {[Delivery, (part: number) => void][]} */
    this.shows = [];
    this._parts();
  }

  _parts() {
    const { x, y, width, height } = this.box;
    const unit = width / 24;
    const kinds = new Map(this.film.document.deliveries.map((each) => [each, kindOf(each)]));
    const of = (/** @type {string} */ kind) => [...kinds].filter(([, each]) => each === kind).map(([each]) => each);
    const head = { x: x + unit, y: y + unit, width: width - 2 * unit, height: 2.6 * unit };
    const foot = { x: x + unit, y: y + height - 4 * unit, width: width - 2 * unit, height: 3 * unit };
    const top = head.y + head.height + unit;
    const body = { x: x + unit, y: top, width: width - 2 * unit, height: foot.y - unit - top };
    const styled = of("style");
    const header = this._rect(head, "header");
    if (styled.length) this._when(styled, (complete) => header.classList.toggle("styled", complete));
    else header.classList.add("styled");
    const texts = of("text");
    /** The page when its text has begun: its header, and space for pictures. @type {SVGElement[]} */
    this.ofText = [header];
    const middle = [...of("picture"), ...of("words"), ...of("bar")];
    const columns = middle.length > 6 ? (width > height ? 7 : 4) : middle.length > 3 && width > height ? 2 : 1;
    const rows = Math.max(1, Math.ceil(middle.length / columns));
    const gap = rows > 1 || columns > 1 ? unit / 2 : 0;
    middle.forEach((delivery, index) => {
      const cell = {
        x: body.x + (index % columns) * (body.width / columns),
        y: body.y + Math.floor(index / columns) * (body.height / rows),
        width: body.width / columns - gap,
        height: body.height / rows - gap,
      };
      const kind = kinds.get(delivery);
      if (kind === "picture") this._picture(delivery, cell, unit);
      else if (kind === "words") this._words(delivery, cell, unit);
      else this._bar(delivery, cell);
    });
    if (of("script").length) this._scripts(of("script"), foot, body, middle.length <= 2);
    if (texts.length) this._when(texts, (_, begun) => this.ofText.forEach((each) => show(each, begun)));
  }

  /** @param {Box} box @param {string} name */
  _rect(box, name) {
    const rect = make("rect", { ...box, class: name });
    this.inside.append(rect);
    return rect;
  }

  /** @param {Delivery[]} deliveries @param {(complete: boolean, begun: boolean) => void} act */
  _when(deliveries, act) {
    const parts = new Map(deliveries.map((each) => [each, 0]));
    for (const each of deliveries) {
      this.shows.push([each, (part) => {
        parts.set(each, part);
        const values = [...parts.values()];
        act(values.every((value) => value >= 1), values.some((value) => value > 0));
      }]);
    }
  }

  /** Draws a street map, or the picture of a smaller image. @param {Delivery} delivery @param {Box} box @param {number} unit */
  _picture(delivery, box, unit) {
    const { x, y, width, height } = box;
    const id = `${this.clip}-${this.shows.length}`;
    const clip = make("clipPath", { id });
    const seen = make("rect", { ...box, height: 0 });
    clip.append(seen);
    const group = make("g", { "clip-path": `url(#${id})` });
    const through = (/** @type {import("./map.js").Points} */ points) =>
      `M${points.map(([along, down]) => `${(x + width * along).toFixed(1)} ${(y + height * down).toFixed(1)}`).join("L")}`;
    group.append(
      make("rect", { ...box, class: "land" }),
      make("path", { class: "water", d: `${through([...SHORE, [1, 1], [0, 1]])}z` }),
      make("path", { class: "park", d: `${through(PARK)}z` }),
      make("path", { class: "road", "stroke-width": Math.max(1, unit / 2), d: ROADS.map(through).join("") }),
    );
    this.ofText.push(this._rect(box, "awaited"));
    const line = make("line", { x1: x, x2: x + width, class: "front-line" });
    this.inside.append(clip, group, line);
    this.shows.push([delivery, (part) => {
      set(group, { "data-part": part });
      set(seen, { height: height * part });
      set(line, { y1: y + height * part, y2: y + height * part });
      show(line, part > 0 && part < 1);
    }]);
  }

  /** @param {Delivery} delivery @param {Box} box @param {number} unit */
  _words(delivery, box, unit) {
    const row = 2 * unit;
    const rows = Math.max(1, Math.floor(box.height / row));
    /** @type {SVGElement[]} */
    const words = [];
    for (let line = 0; line < rows; line += 1) {
      let at = 0;
      for (let number = line * 3; at < box.width - unit; number += 1) {
        const width = Math.min(box.width - at, (WORDS[number % WORDS.length] * box.width) / 2.2);
        words.push(this._rect({ x: box.x + at, y: box.y + line * row, width, height: unit }, "word"));
        at += width + unit / 2;
      }
    }
    this.shows.push([delivery, (part) => words.forEach((word, index) => show(word, index < part * words.length))]);
  }

  /** @param {Delivery} delivery @param {Box} box */
  _bar(delivery, box) {
    const height = Math.min(box.height * 0.6, this.box.height / 12);
    const frame = { ...box, y: box.y + (box.height - height) / 2, height };
    const name = delivery.stream === "important" ? "important" : "others";
    this.ofText.push(this._rect(frame, "awaited"));
    const bar = this._rect({ ...frame, width: 0 }, `fill ${name}`);
    this.shows.push([delivery, (part) => set(bar, { width: frame.width * part })]);
  }

  /**
   * Draws the buttons of the page's text, and a pin if the page is a map.
   * @param {Delivery[]} scripts @param {Box} foot @param {Box} body @param {boolean} pinned
   */
  _scripts(scripts, foot, body, pinned) {
    const unit = this.box.width / 24;
    const width = (foot.width - 2 * unit) / 3;
    const buttons = [0, 1, 2].map((index) =>
      this._rect({ x: foot.x + index * (width + unit), y: foot.y, width, height: foot.height }, "button"),
    );
    for (const button of buttons) set(button, { rx: unit / 2 });
    const size = Math.min(body.width, body.height) * PIN_SIZE;
    const [x, y] = [body.x + body.width / 2, body.y + body.height / 2];
    const pin = make("path", { class: "pin", d: `M${PIN.map(([along, down]) => `${(x + along * size).toFixed(1)} ${(y + down * size).toFixed(1)}`).join("L")}z` });
    if (pinned) this.inside.append(pin);
    this.ofText.push(...buttons);
    this._when(scripts, (complete) => {
      for (const button of buttons) button.classList.toggle("works", complete);
      show(pin, complete);
    });
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    const { arrived } = this.film.at(tMs);
    for (const [delivery, act] of this.shows) act(this.film.readable(delivery, arrived) / Math.max(1, delivery.size_bytes));
    this.element.classList.toggle("ready", tMs >= this.film.readyMs);
  }
}
