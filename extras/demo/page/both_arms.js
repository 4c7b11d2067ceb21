// @ts-check
// Shows both arms with common scales and one clock: for each arm its heading, its drawing and its phone; below, the
// filmstrip of both.

import { ArmDrawing } from "./arm_drawing.js";
import { Bet, Bets } from "./bet.js";
import { controls } from "./controls.js";
import { Film, STREAMS } from "./film.js";
import { Grip } from "./grip.js";
import { Filmstrip, LEAST } from "./filmstrip.js";
import { Heading } from "./heading.js";
import { linkFacts } from "./link.js";
import { marksOf } from "./marks.js";
import { Kept } from "./kept.js";
import { Phone } from "./phone.js";
import { Player } from "./player.js";
import { element, set, write } from "./svg.js";
import { reachable } from "./tip.js";
import { seconds, sentence } from "./words.js";

/** @typedef {import("./types.js").Shown} Shown */
/** @typedef {{show: (tMs: number) => void}} Drawn */

/** The link's scale has at least this many bytes, so that a few bytes are not drawn too large. */
const LEAST_ON_LINK = 64 * 1024;
/** The parts of the time for which arrived bytes are counted. */
const PARTS = 120;
/** Lengths in multiples of the text's size: the phone, its space in a narrow window, the filmstrip. */
const PHONE = 8.2;
const NARROW_PHONE = 11;
const NARROW = 40;
const TIGHT = 60;
const [LEAST_STRIP, STRIP] = [5, 8];
/** The height of an arm with its heading, at least, and of the borders. */
const ARM = 11.8;
const NARROW_ARM = 24;
/** The height of the words below a narrow filmstrip. */
const GAP = 3;
const BORDERS = 0.7;

/** The height that an element takes from its neighbours. @param {Element} element */
const taken = (element) => (getComputedStyle(element).position === "absolute" ? 0 : element.clientHeight);

export class BothArms {
  /** @param {HTMLElement} place @param {HTMLElement} bar the element for the player's controls */
  constructor(place, bar) {
    this.place = place;
    /** @type {Drawn[]} */
    this.drawn = [];
    /** @type {readonly Shown[]} */
    this.arms = [];
    /** @type {readonly string[]} */
    this.names = [];
    this.bets = new Bets();
    /** Lets the line of LOWAT be moved; null if nothing else can be shown. @type {import("./grip.js").Limits | null} */
    this.limits = null;
    this.player = new Player((tMs) => this._show(tMs));
    this.link = controls(bar, this.player);
    /** The space for which everything was drawn. */
    this.space = "";
    /** The arm that is drawn where there is room for one. */
    this.alone = 0;
    /** The instant at which the first important resource exists. */
    this.existsMs = 0;
    this.isRewound = false;
    /** The drawings of the last time: most of them do not change when one arm gets another film. */
    this.kept = new Kept();
    new ResizeObserver(() => {
      if (this._spaceNow !== this.space) this._draw();
    }).observe(place);
  }

  /**
   * @param {readonly Shown[]} arms
   * @param {readonly string[]} names
   * @param {number} speed
   * @param {number} [fromMs] the film's time
   */
  open(arms, names, speed, fromMs = 0) {
    this.player.pause();
    this.player.tMs = fromMs;
    this.arms = arms;
    this.names = names;
    const films = this._draw();
    this.existsMs = Math.min(...films.map((film) => film?.availableMs ?? 0));
    write(this.link, linkFacts(arms));
    this.player.setSpeed(speed);
    const { marks, decisive } = marksOf(films, names);
    this.player.load(Math.max(0, ...films.map((film) => film?.durationMs ?? 0)), marks, decisive, fromMs);
  }

  /** Draws this arm where there is room for one. @param {number} arm */
  see(arm) {
    this.alone = arm;
    if (this.isAlone) this._draw();
  }

  /** At the film's end shows the boxes again, at an instant at which a limit makes a difference. */
  rewind() {
    if (this.player.tMs < this.player.durationMs) return;
    this.player.seek(this.existsMs);
    this.isRewound = true;
  }

  /** Plays on from where the film was rewound to. */
  goOn() {
    if (this.isRewound && this.player.begins) this.player.play();
    this.isRewound = false;
  }

  /** True if the style sheet has room for one arm. */
  get isAlone() {
    return getComputedStyle(this.place).getPropertyValue("--room") === "one";
  }

  /** True if the window is too small to show everything at once. */
  get _scrolls() {
    return getComputedStyle(this.place).overflowY === "visible";
  }

  get _spaceNow() {
    const { clientWidth, clientHeight } = this.place;
    // In a page that scrolls, the height follows from the drawings.
    return `${clientWidth} ${this._scrolls ? "" : clientHeight} ${getComputedStyle(this.place).fontSize} ${this.isAlone}`;
  }

  /** Redraws everything for the available space; returns the films. */
  _draw() {
    this.space = this._spaceNow;
    // While the line is held, a focus that each drawing kept would make the browser lay out all of it once more.
    const focus = this.limits?.held ? null : document.activeElement?.closest(".grip, .bet");
    const kept = focus && [...this.place.querySelectorAll(".grip, .bet")].indexOf(focus);
    this.kept.turn();
    const ids = this.arms.map(({ experiment, run }) => `${experiment}/${run}`);
    const films = this.arms.map(({ film }, index) => (film ? this.kept.keep(`film ${index}`, ids[index], () => new Film(film)) : null));
    this.drawn = [];
    if (!films.length) return films;
    const scale = this._scale(films);
    const em = parseFloat(getComputedStyle(this.place).fontSize);
    const width = this.place.clientWidth;
    const [isNarrow, isAlone] = [width < NARROW * em, this.isAlone];
    this.place.classList.toggle("narrow", isNarrow);
    this.place.classList.toggle("tight", width < TIGHT * em);
    const headings = this.arms.map((shown, index) => new Heading(shown, this.names[index], this.arms[1 - index]));
    const articles = headings.map((heading, index) => {
      const article = element("article", "arm");
      article.append(heading.element);
      if (!films[index]) article.append(element("p", "no-film", sentence(`There is no film of this run: ${this.arms[index].film_reason}`)));
      article.append(heading.note);
      article.hidden = isAlone && index !== this.alone;
      return article;
    });
    const height = this._scrolls ? 0 : this.place.clientHeight;
    const there = articles.filter((article) => !article.hidden);
    const between = there.length * parseFloat(getComputedStyle(this.place).rowGap) + BORDERS * em;
    const spare = height - there.length * (isNarrow ? NARROW_ARM : ARM) * em - between - (isAlone || width < LEAST * em ? GAP * em : 0);
    const strip = new Filmstrip(films, this.names, scale.durationMs, { width, height: this._scrolls ? STRIP * em : Math.min(STRIP * em, Math.max(LEAST_STRIP * em, spare)), em }, ids, this.kept);
    this.place.replaceChildren(...articles, strip.element);
    const room = (height - strip.element.offsetHeight - between) / there.length;
    const phoneWidth = PHONE * em;
    // All that is read from the layout is read before the next change, because each reading after a change lays out anew.
    const notes = headings.map(({ note }) => taken(note));
    const phones = articles.map((article, index) => {
      const film = films[index];
      if (!film || article.hidden) return null;
      // A figure has its full width before the height of the text beside it is known.
      const phoneHeight = isNarrow ? NARROW_PHONE * em : room - notes[index];
      const phone = this.kept.keep(`phone ${index}`, [ids[index], phoneWidth, phoneHeight, em], () => new Phone(film, { width: phoneWidth, height: phoneHeight, em }));
      article.append(phone.element);
      return phone;
    });
    const heights = articles.map(({ children }, index) => [...children].reduce((sum, child) => sum + (child === phones[index]?.element ? 0 : taken(child)), 0));
    // On stage a speaker moves the line while the boxes are seen.
    const line = this.limits !== null && !this.player.onStage;
    articles.forEach((article, index) => {
      const [film, phone, words] = [films[index], phones[index], heights[index]];
      if (!film || !phone) return;
      const space = { width: isNarrow ? width : width - phoneWidth - 0.8 * em, height: room - words, em, axis: isNarrow || article === there.at(-1), line };
      const drawing = this.kept.keep(`arm ${index}`, [ids[index], scale, space], () => new ArmDrawing(film, scale, this.arms[index], space));
      for (const old of drawing.element.querySelectorAll(".bet, .grip, .grip-row")) old.remove();
      article.insertBefore(drawing.element, headings[index].note);
      const bet = new Bet(drawing.lanes, index, this.bets);
      drawing.lanes.element.append(bet.element);
      drawing.grip = this.limits && new Grip(drawing.places, index, this.arms[index].knobs.LOWAT, this.limits, this, drawing.lineY);
      if (drawing.grip) drawing.element.append(drawing.grip.row, drawing.grip.element);
      // A bet's text is beside the drawing's.
      this.drawn.push(drawing, bet, phone, { show: (tMs) => this._tell(drawing.element, index, tMs >= film.durationMs) });
    });
    // A small phone has room for the film only.
    const less = isAlone ? [...headings.map(({ note }) => note), strip.element] : [];
    for (const part of less) if (this.place.scrollHeight > height) part.remove();
    articles.forEach(reachable);
    this.drawn.push(...headings, strip);
    this._show(this.player.tMs);
    if (focus) /** @type {SVGElement | undefined} */ ([...this.place.querySelectorAll(".grip, .bet")][Number(kept)])?.focus();
    return films;
  }

  /** @param {readonly (Film | null)[]} films @returns {import("./arm_drawing.js").Scale} */
  _scale(films) {
    const there = films.filter((film) => film !== null);
    const durationMs = Math.max(1, ...there.map((film) => film.durationMs));
    const arrived = there.flatMap((film) => {
      const [others, important] = STREAMS.map((stream) => film.received(stream, PARTS, durationMs));
      return others.map((bytes, index) => bytes + important[index]).filter((bytes) => bytes);
    });
    // In most parts of the time the link is busy, so the median is the link's rate. A burst after a loss is above it.
    const usual = arrived.sort((one, other) => one - other)[arrived.length >> 1] ?? 1;
    return {
      bytes: Math.max(1, ...there.map((film) => film.asked("others").size_bytes + film.asked("important").size_bytes)),
      linkBytes: Math.max(LEAST_ON_LINK, ...there.map((film) => film.mostInFlight)),
      durationMs,
      bytesPerMs: (usual * PARTS) / durationMs,
      waitMs: Math.max(1, ...this.arms.map(({ arm }) => arm.ledger?.wait_ms ?? 0)),
    };
  }

  /** Describes a drawing for people who cannot see it. @param {Element} drawing @param {number} index @param {boolean} ended */
  _tell(drawing, index, ended) {
    const { arm, names } = this.arms[index];
    const reason = arm.verdict_reason ?? arm.reason ?? "";
    const times = `First byte of the ${names.important} after ${seconds(arm.first_byte_ms)}, last after ${seconds(arm.important_last_byte_ms)}.`;
    const result = ended ? [reason, times].filter((text) => text).map(sentence).join(" ") : "";
    set(drawing, { "aria-label": [this.names[index], result].filter((text) => text).join(": ") });
  }

  /** @param {number} tMs */
  _show(tMs) {
    for (const each of this.drawn) each.show(tMs);
  }
}
