// @ts-check
// Draws both arms with common scales and one clock, each with its verdict and its figures.

import { Film } from "./film.js";
import { Player, FASTEST, SLOWEST } from "./player.js";
import { ArmDrawing } from "./arm_drawing.js";
import { kib, seconds, times } from "./words.js";

/** @typedef {import("./types.js").Shown} Shown */

/** @param {string} tag @param {string} className @param {string} [text] */
export function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const VERDICTS = {
  kept: "order kept",
  inverted: "order inverted",
  "nothing-to-prioritize": "nothing to prioritize",
  undecided: "undecided",
};

/** The link's scale has at least this many bytes, so that a few bytes are not drawn too large. */
const LEAST_ON_LINK = 64 * 1024;

/** @param {unknown} scenario */
function lowatOf(scenario) {
  const lowat = /** @type {{lowat?: unknown}} */ (scenario).lowat;
  return typeof lowat === "number" ? lowat : null;
}

/** An arm's name, verdict and figures. @param {Shown} shown @param {string} name */
function heading(shown, name) {
  const { arm } = shown;
  const head = element("header", "arm-head");
  const word = arm.verdict ?? arm.status;
  head.append(
    element("h2", "arm-name", name),
    element("span", `verdict ${word}`, VERDICTS[/** @type {keyof typeof VERDICTS} */ (word)] ?? word),
  );
  const figures = element("dl", "figures");
  const add = (/** @type {string} */ what, /** @type {string} */ value, /** @type {string} */ key) => {
    const term = element("dt", "", what);
    const said = element("dd", "", value);
    said.dataset.figure = key;
    figures.append(term, said);
  };
  const { important, others } = shown.names;
  add(`${important} begins`, seconds(arm.first_byte_ms), "first_byte_ms");
  add(`${important} complete`, seconds(arm.important_last_byte_ms), "important_last_byte_ms");
  add(`${others} complete`, seconds(arm.others_last_byte_ms), "others_last_byte_ms");
  add(`${others} before it`, kib(arm.other_bytes_before), "other_bytes_before");
  if (arm.oracle) add("possible", seconds(arm.oracle.first_byte_ms), "oracle.first_byte_ms");
  head.append(figures);
  return head;
}

/** The verdict's reason; the full text is shown on hover and focus. @param {Shown} shown */
function note(shown) {
  const { verdict_reason: reason, warnings } = shown.arm;
  const told = [reason ? `${reason}.` : "", shown.wait ?? "", ...warnings].filter((text) => text);
  const made = element("p", "note", told.join(" "));
  made.tabIndex = 0;
  made.setAttribute("role", "note");
  return made;
}

export class BothArms {
  /** @param {HTMLElement} place @param {HTMLElement} bar the element for the player's controls */
  constructor(place, bar) {
    this.place = place;
    /** @type {ArmDrawing[]} */
    this.drawings = [];
    /** @type {readonly Shown[]} */
    this.arms = [];
    /** @type {readonly string[]} */
    this.names = [];
    this.player = new Player((tMs) => this._show(tMs));
    this._controls(bar);
    new ResizeObserver(() => this._draw()).observe(place);
  }

  /**
   * @param {readonly Shown[]} arms
   * @param {readonly string[]} names
   * @param {number} speed
   */
  open(arms, names, speed) {
    this.player.pause();
    this.arms = arms;
    this.names = names;
    const durationMs = this._draw();
    this.player.setSpeed(speed);
    this.player.load(durationMs);
  }

  /** Redraws everything for the available space; returns the longer film's duration. */
  _draw() {
    const films = this.arms.map((shown) => (shown.film ? new Film(shown.film) : null));
    const there = films.filter((film) => film !== null);
    const scale = {
      bytes: Math.max(1, ...there.map((film) => film.asked("others").size_bytes + film.asked("important").size_bytes)),
      linkBytes: Math.max(LEAST_ON_LINK, ...there.map((film) => film.mostInFlight)),
      durationMs: Math.max(1, ...there.map((film) => film.durationMs)),
    };
    this.drawings = [];
    const drawn = this.arms.map((shown, index) => {
      const article = element("article", "arm");
      article.append(heading(shown, this.names[index]));
      if (!films[index]) article.append(element("p", "no-film", `There is no film of this run: ${shown.film_reason}.`));
      article.append(note(shown));
      return article;
    });
    if (!drawn.length) return 0;
    this.place.replaceChildren(...drawn);
    // Only now the height of the text is known, and so the space for the drawings.
    const room = this.place.clientHeight / drawn.length;
    drawn.forEach((article, index) => {
      const film = films[index];
      if (!film) return;
      const { arm, favoured } = this.arms[index];
      const words = [...article.children].reduce((sum, child) => sum + child.clientHeight, 16);
      const aspect = this.place.clientWidth / Math.max(1, room - words);
      const drawing = new ArmDrawing(film, scale, lowatOf(arm.scenario), favoured, aspect);
      drawing.element.setAttribute("aria-label", this._told(this.arms[index], this.names[index]));
      this.drawings.push(drawing);
      article.insertBefore(drawing.element, article.lastElementChild);
    });
    this._show(this.player.tMs);
    return scale.durationMs;
  }

  /** @param {Shown} shown @param {string} name */
  _told(shown, name) {
    const { arm, names } = shown;
    return `${name}: ${arm.verdict_reason ?? arm.reason ?? ""}. First byte of the ${names.important} after ${seconds(arm.first_byte_ms)}, last after ${seconds(arm.important_last_byte_ms)}.`;
  }

  /** @param {number} tMs */
  _show(tMs) {
    for (const drawing of this.drawings) drawing.show(tMs);
  }

  /** @param {HTMLElement} bar */
  _controls(bar) {
    const { player } = this;
    const play = /** @type {HTMLButtonElement} */ (element("button", "play"));
    play.type = "button";
    const scrub = document.createElement("input");
    Object.assign(scrub, { type: "range", min: "0", max: "1000", step: "1", value: "0", className: "scrub" });
    scrub.setAttribute("aria-label", "position in the film");
    const clock = element("output", "clock");
    const speed = document.createElement("input");
    const span = Math.log(FASTEST / SLOWEST);
    Object.assign(speed, { type: "range", min: "0", max: "100", step: "1", className: "speed" });
    speed.setAttribute("aria-label", "speed of the film");
    const factor = element("output", "factor");
    play.addEventListener("click", () => player.toggle());
    scrub.addEventListener("input", () => {
      const wanted = (Number(scrub.value) / 1000) * player.durationMs;
      player.pause();
      player.seek(wanted);
    });
    speed.addEventListener("input", () => player.setSpeed(SLOWEST * Math.exp((Number(speed.value) / 100) * span)));
    player.changed.add(() => {
      play.textContent = player.playing ? "Pause" : "Play";
      scrub.value = String(player.durationMs ? Math.round((player.tMs / player.durationMs) * 1000) : 0);
      clock.textContent = `${(player.tMs / 1000).toFixed(2)} s`;
      scrub.setAttribute("aria-valuetext", clock.textContent);
      speed.value = String(Math.round((Math.log(player.speed / SLOWEST) / span) * 100));
      factor.textContent = times(player.speed);
      speed.setAttribute("aria-valuetext", `${factor.textContent} real time`);
    });
    bar.append(play, scrub, clock, speed, factor);
  }
}
