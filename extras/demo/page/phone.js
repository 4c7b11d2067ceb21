// @ts-check
// The client's phone: its screen, and below it the page's moment when the important resources are complete.

import { GLOSSARY } from "./glossary.js";
import { Screen } from "./screen.js";
import { element, explained, make, write } from "./svg.js";
import { worded } from "./tip.js";

/** Width of a phone, divided by its height. */
const ASPECT = 0.78;
const CAPTION = 2.6;
const LEAST = 7;

export class Phone {
  /**
   * @param {import("./film.js").Film} film
   * @param {{width: number, height: number, em: number}} room in pixels
   */
  constructor(film, { width, height, em }) {
    this.film = film;
    const long = Math.max(LEAST * em, height - CAPTION * em);
    const [wide, high] = long * ASPECT > width ? [width, width / ASPECT] : [long * ASPECT, long];
    const bezel = wide / 22;
    this.screen = new Screen(film, { x: bezel, y: 2 * bezel, width: wide - 2 * bezel, height: high - 4 * bezel });
    const svg = make("svg", { class: "phone-picture", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": "the client's screen" });
    svg.style.width = `${wide}px`;
    svg.style.height = `${high}px`;
    this.body = make("rect", { x: 0, y: 0, width: wide, height: high, rx: 2 * bezel, class: "phone-body" });
    svg.append(this.body, this.screen.element);
    explained(svg, GLOSSARY.screen);
    this.caption = element("figcaption", "phone-caption");
    this.words = worded(element("span", ""), "screen");
    this.caption.append(this.words);
    this.element = element("figure", "phone");
    this.element.style.width = `${width}px`;
    this.element.append(svg, this.caption);
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    const ready = tMs >= this.film.readyMs;
    const text = ready ? `✓ ${this.film.document.ready}` : "loading";
    write(this.words, text);
    this.element.classList.toggle("ready", ready);
    this.screen.show(tMs);
  }
}
