// @ts-check
// A section's figure: the way of the bytes, the visitor's screen, results in large type, and the film's time with a button
// that plays it. It shows one recording at one instant; nothing plays unasked.

import { Screen } from "../screen.js";
import { element, make, write } from "../svg.js";
import { Axis } from "./axis.js";
import { WORDS_OF_RESULTS } from "./sections.js";
import { Way } from "./way.js";

/** @typedef {import("./facts.js").Recording} Recording */
/** @typedef {import("./facts.js").Fact} Fact */
/** @typedef {import("./language.js").Language} Language */
/** @typedef {import("./sections.js").Section} Section */

/** The time in which the whole of a film plays. */
const PLAYED_MS = 10_000;
/** A gain that is worth a word. */
export const LEAST_GAIN_MS = 50;
const SCREEN = { x: 1, y: 1, width: 96, height: 128 };

/** The figure that plays. @type {Figure | null} */
let playing = null;

export class Figure {
  /** @param {Section} section @param {Language} language @param {() => void} changed called when the reader has moved it */
  constructor(section, language, changed) {
    this.section = section;
    this.language = language;
    this.changed = changed;
    const { strings } = language;
    this.element = element("figure", "film");
    this.element.dataset.section = section.id;
    this.way = new Way(language);
    this.screen = make("svg", { class: "screen-of-visitor", viewBox: "0 0 98 130", "aria-hidden": "true" });
    this.map = element("button", "word map-of-visitor");
    this.map.setAttribute("type", "button");
    this.map.setAttribute("aria-label", strings.screen);
    this.map.append(this.screen);
    const side = element("div", "side");
    const head = element("div", "station-head of-browser");
    head.append(...language.nodes(`[browser|${strings.places.browser}]`, {}));
    this.results = element("dl", "results");
    side.append(head, this.map, this.results);
    this.axisPlace = element("div", section.compare ? "axis-place compared" : "axis-place");
    this.play = /** @type {HTMLButtonElement} */ (element("button", "play-film"));
    this.play.type = "button";
    this.play.addEventListener("click", () => this.toggle());
    this.icon = element("span", "play-icon");
    this.icon.setAttribute("aria-hidden", "true");
    this.playWords = element("span", "play-words");
    this.play.append(this.icon, this.playWords);
    this.clock = element("output", "film-clock");
    const row = element("div", "film-row");
    row.append(this.play, this.axisPlace, this.clock);
    this.legend = element("p", "legend");
    this.caption = element("figcaption", "");
    this.scene = element("div", "scene");
    this.scene.append(this.way.element, side, row);
    this.element.append(this.scene, this.legend, this.caption);
    this.tMs = 0;
    this.isTouched = false;
    this.fromMs = section.fromMs;
    this.toMs = 1;
    /** @type {Recording | null} */
    this.recording = null;
    /** @type {Axis | null} */
    this.axis = null;
    this.frame = 0;
    this.bet = /** @type {number | null} */ (null);
    /** True if the figure is in the window, or near it; others are not drawn. */
    this.isNear = false;
    // The scene itself has no box in a flat window.
    new ResizeObserver(() => this.layOut()).observe(this.way.element);
    const near = (/** @type {IntersectionObserverEntry} */ entry) => {
      this.isNear = entry.isIntersecting;
      this.layOut();
    };
    new IntersectionObserver((entries) => near(entries[entries.length - 1]), { rootMargin: "60% 0px" }).observe(this.way.element);
  }

  /**
   * Shows a recording. The instant stays the same if there was another one before.
   * @param {Recording} recording @param {Recording | null} other @param {readonly string[]} names of both, if they are compared
   * @param {number | null} bet @param {Record<string, Fact>} facts
   */
  load(recording, other, names, bet, facts) {
    const { section, language } = this;
    const before = this.recording;
    const part = before && (this.tMs - this.fromMs) / (this.toMs - this.fromMs);
    this.recording = recording;
    this.way.load(recording);
    this.bet = bet;
    this.element.dataset.film = recording.name;
    const whole = Math.max(recording.film.durationMs, other?.film.durationMs ?? 0) * 1.02;
    const toMs = section.toMs(recording) ?? whole;
    const axisMs = section.bet ? Math.max(whole, bet ?? 0) : toMs;
    if (!this.axis || this.axis.toMs !== axisMs) {
      this.axis = new Axis(language, this.fromMs, axisMs, (tMs) => this._sought(tMs));
      this.axisPlace.replaceChildren(this.axis.element);
    }
    const same = before && Math.abs(toMs - this.toMs) < 0.1 * toMs;
    this.toMs = toMs;
    this.axis.load(recording, other, names, this._marks(recording));
    if (this.isNear) this.axis.draw();
    const { element: drawn } = (this.drawnScreen = new Screen(recording.film, SCREEN));
    this.screen.replaceChildren(drawn);
    this.facts = facts;
    this._results();
    this.legend.replaceChildren(...this._legend());
    this.show(before ? (same ? this.tMs : section.film === "when" ? section.atMs(recording) : this.fromMs + (part ?? 0) * (toMs - this.fromMs)) : section.atMs(recording));
  }

  /** @param {Recording} recording */
  _marks(recording) {
    const { section, bet } = this;
    const marks = [{ kind: "ready", tMs: recording.facts.ready.value, always: section.early || section.bet }];
    if (section.id !== "bet" && section.id !== "asks") marks.push({ kind: "first", tMs: recording.facts.first.value, always: section.id === "happened" });
    if (section.bet && bet !== null) marks.push({ kind: "bet", tMs: bet, always: true });
    return marks;
  }

  /** Names what the figure's colours and marks are. */
  _legend() {
    const { section, bet, language } = this;
    return section.legend.filter((name) => name !== "bet" || bet !== null).map((name) => {
      const key = element("span", `key of-${name}`);
      key.append(element("i", ""), ...language.nodes(`[${name}|${language.strings.legend[/** @type {"gap"} */ (name)]}]`, {}));
      return key;
    });
  }

  _results() {
    const { section, language, facts } = this;
    this.shownResults = section.results.map((name) => {
      const group = element("div", `result of-${name}`);
      const value = element("dd", "");
      const term = element("dt", "");
      term.append(...language.nodes(`[${WORDS_OF_RESULTS[name]}|${language.strings.results[/** @type {"works"} */ (name)]}]`, {}));
      group.append(term, value);
      return { name, group, value };
    });
    this.results.replaceChildren(...this.shownResults.map(({ group }) => group));
    this.results.hidden = !section.results.length || !facts;
  }

  /** Measures and draws anew. */
  layOut() {
    if (!this.isNear) return;
    this.way.measure();
    this.axis?.draw();
    if (this.recording) this.show(this.tMs);
  }

  /** @param {number} tMs */
  show(tMs) {
    const { recording, axis, language } = this;
    if (!recording || !axis) return;
    this.tMs = Math.min(this.toMs, Math.max(this.fromMs, tMs));
    axis.show(this.tMs);
    if (this.isNear) {
      this.way.show(recording, this.tMs);
      this.drawnScreen?.show(this.tMs);
    }
    write(this.clock, language.seconds(this.tMs));
    for (const { name, group, value } of this.shownResults ?? []) {
      const fact = this.facts?.[name];
      if (!fact) continue;
      group.classList.toggle("none", name === "gain" && fact.value < LEAST_GAIN_MS);
      const seen = this.section.early || fact.kind !== "ms" || fact.value <= this.tMs;
      group.classList.toggle("coming", !seen);
      write(value, seen ? language.fact(fact) : "…");
      if (seen) value.dataset.fact = name;
      else delete value.dataset.fact;
    }
    language.worded(this.map, this.tMs >= recording.facts.works.value ? "alive" : "dead");
    this._caption();
    this._button();
  }

  _caption() {
    const { recording, language } = this;
    if (!recording) return;
    const bytes = Way.bytesAt(recording, this.tMs);
    const { strings } = language;
    const { film, facts } = recording;
    const picture = film.asked("others").size_bytes;
    const moment = { works: facts.works, tMs: /** @type {Fact} */ ({ kind: "ms", value: this.tMs }), buffer: { kind: /** @type {const} */ ("bytes"), value: bytes.buffer.others }, behind: { kind: /** @type {const} */ ("bytes"), value: bytes.buffer.important }, server: { kind: /** @type {const} */ ("bytes"), value: bytes.server.others } };
    const told = strings.moments;
    const text =
      this.tMs < facts.pictureReady.value ? told.page
      : this.tMs < facts.ready.value ? told.coming
      : bytes.browser.important >= film.asked("important").size_bytes ? told.works
      : bytes.browser.important > 0 && bytes.browser.others < picture ? told.both
      : bytes.browser.important > 0 ? told.script
      : bytes.buffer.important > 0 && bytes.buffer.others > 0 ? told.behind
      : bytes.server.others > 0 && bytes.server.important > 0 ? ((film.importantNext(film.at(this.tMs).handed) ?? 1) > 0.5 ? told.choice : told.waits)
      : bytes.server.important > 0 && bytes.buffer.others > 0 ? told.ready
      : told.onWay;
    const words = language.nodes(text, moment);
    const said = words.map((node) => (typeof node === "string" ? node : node.textContent)).join("");
    if (this.caption.textContent !== said) this.caption.replaceChildren(...words);
  }

  _button() {
    const { play } = this.language.strings;
    const [icon, text] = playing === this ? ["❚❚", play.pause] : this.isTouched && this.tMs >= this.toMs ? ["↻", play.again] : ["▶", play.play];
    write(this.icon, icon);
    write(this.playWords, text);
  }

  /** @param {number} tMs */
  _sought(tMs) {
    this.isTouched = true;
    this.pause();
    this.show(tMs);
    this.changed();
  }

  toggle() {
    if (playing === this) this.pause();
    else this.begin();
    this.changed();
  }

  begin() {
    playing?.pause();
    playing = this;
    this.isTouched = true;
    if (this.tMs >= this.toMs) this.tMs = this.fromMs;
    let lastMs = performance.now();
    const pace = (this.toMs - this.fromMs) / PLAYED_MS;
    const tick = (/** @type {number} */ nowMs) => {
      if (playing !== this) return;
      this.show(this.tMs + Math.max(0, nowMs - lastMs) * pace);
      lastMs = nowMs;
      if (this.tMs >= this.toMs) this.pause();
      else this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
    this.show(this.tMs);
  }

  pause() {
    if (playing === this) playing = null;
    cancelAnimationFrame(this.frame);
    this._button();
  }
}
