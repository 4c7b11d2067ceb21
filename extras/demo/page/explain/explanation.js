// @ts-check
// The explanation: a question, sections with a figure each, and what to do. The reader scrolls, drags and taps.

import { choices, recordings } from "../api.js";
import { Refused } from "../seen.js";
import { element, write } from "../svg.js";
import { followZoom, toggleTheme } from "../theme.js";
import { tips } from "../tip.js";
import { bytesOf } from "../words.js";
import { isCalm } from "../calm.js";
import { placeOf, queryOf } from "./address.js";
import { Recording } from "./facts.js";
import { Figure, LEAST_GAIN_MS } from "./figure.js";
import { chosenLanguage, Language, LANGUAGES } from "./language.js";
import { Line } from "./line.js";
import { CHOICES, COMPARED, SECTIONS, WISHES } from "./sections.js";
import { yours } from "./yours.js";

/** @typedef {import("./facts.js").Fact} Fact */
/** @typedef {import("./sections.js").Wish} Wish */
/** @typedef {import("./sections.js").Section} Section */

const NOTED_MS = 400;
/** A bet that is off by less is a good one. */
const CLOSE_MS = 250;
/** Without these recordings there is nothing to explain. @type {readonly Wish[]} */
const NEEDED = ["none", "price"];

/** True if a recording has these knobs; some knobs may have come since. @param {Recording} recording @param {Record<string, string>} wish @param {Record<string, string>} defaults */
function isOf({ shown }, wish, defaults) {
  return Object.entries({ ...defaults, ...wish }).every(([name, value]) => (shown.knobs[name] ?? defaults[name]) === value);
}

class Explanation {
  /**
   * @param {HTMLElement} article @param {readonly Recording[]} all @param {Record<string, string>} defaults of all knobs
   * @param {Record<string, string>} about where the recordings came from
   */
  constructor(article, all, defaults, about) {
    this.article = article;
    this.all = all;
    this.defaults = defaults;
    this.about = about;
    /** @type {Map<string, Figure>} */
    this.figures = new Map();
    this._noting = 0;
    this.stops = all.filter((each) => isOf(each, { LOWAT: each.shown.knobs.LOWAT }, defaults) && each.shown.knobs.LOWAT !== "auto").sort((one, other) => other.limit - one.limit);
    const place = placeOf(location.search);
    this.language = new Language(chosenLanguage(place.lang));
    this.bet = place.bet;
    this.when = CHOICES.find((each) => each === place.when && this.found(each)) ?? CHOICES[0];
    const wanted = bytesOf(place.line || "none");
    const near = (/** @type {Recording} */ { limit }) => (limit === wanted ? 0 : Math.abs(Math.min(limit, 2 ** 31) - (wanted ?? 2 ** 31)));
    this.line = this.stops.reduce((best, each) => (near(each) < near(best) ? each : best), this.stops[0]);
    this.notice = place.line && this.line.limit !== wanted ? place.line : "";
    this.view = SECTIONS.some(({ id }) => id === place.at) || place.at === "yours" ? place.at : "";
    this.opened = place.tMs;
    this.isGiven = Boolean(place.lang);
    this.build();
    tips((place) => place.closest("section")?.querySelectorAll(`.of-${CSS.escape(place.getAttribute("data-word") ?? "")}`));
    window.addEventListener("scroll", () => this.note(), { passive: true });
    if (this.view) this.go(this.view, false);
  }

  /** @param {Wish} wish */
  found(wish) {
    return this.all.find((each) => isOf(each, WISHES[wish], this.defaults));
  }

  /** Makes the whole article, in the language of the moment. */
  build() {
    const { strings, code } = this.language;
    document.documentElement.lang = code;
    document.title = strings.sections.start.title;
    this.figures.clear();
    this.article.replaceChildren(this._bar(), ...SECTIONS.map((section) => this._section(section)), yours(this.language, this.about));
    for (const section of SECTIONS) this.refresh(section);
    this.article.classList.add("built");
    performance.mark("built");
  }

  _bar() {
    const { strings } = this.language;
    const bar = element("div", "bar-of-article");
    bar.append(element("p", "lab-name", strings.lab));
    const languages = element("div", "languages");
    languages.setAttribute("role", "group");
    languages.setAttribute("aria-label", strings.language);
    for (const [code, { name }] of Object.entries(LANGUAGES)) {
      const button = this._button(name, () => this.speak(code));
      button.lang = code;
      button.setAttribute("aria-pressed", String(code === this.language.code));
      languages.append(button);
    }
    const theme = this._button("", toggleTheme, "theme-choice");
    theme.append("◐", element("span", "theme-words", ` ${strings.theme}`));
    theme.setAttribute("aria-label", strings.theme);
    bar.append(languages, theme);
    return bar;
  }

  /** @param {string} text @param {() => void} act @param {string} [name] */
  _button(text, act, name = "") {
    const button = /** @type {HTMLButtonElement} */ (element("button", name, text));
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  }

  /** @param {string} code */
  speak(code) {
    const view = this.inView();
    const times = new Map([...this.figures].map(([id, { tMs }]) => [id, tMs]));
    this.figures.forEach((figure) => figure.pause());
    this.language = new Language(code);
    this.isGiven = true;
    this.build();
    for (const [id, tMs] of times) this.figures.get(id)?.show(tMs);
    if (view !== SECTIONS[0].id) this.go(view, false);
    /** @type {HTMLElement | null} */ (this.article.querySelector(`.languages [lang="${code}"]`))?.focus({ preventScroll: true });
    this.note();
  }

  /** @param {Section} section */
  _section(section) {
    const { strings } = this.language;
    const texts = strings.sections[/** @type {"start"} */ (section.id)];
    const place = element("section", `part of-${section.id}`);
    place.id = section.id;
    const title = element(section === SECTIONS[0] ? "h1" : "h2", "", texts.title);
    title.id = `title-of-${section.id}`;
    title.tabIndex = -1;
    place.setAttribute("aria-labelledby", title.id);
    const words = element("div", "words");
    words.append(...texts.text.map(() => element("p", "told")), ...this._control(section));
    const answer = element("div", "answer");
    answer.setAttribute("role", "status");
    words.append(answer, this._onward(section));
    const figure = new Figure(section, this.language, () => this.note());
    this.figures.set(section.id, figure);
    if (section.control === "line") this._lineIn(figure);
    if (section === SECTIONS[0] && words.firstElementChild) {
      const lead = element("div", "lead");
      lead.append(words.firstElementChild);
      place.append(title, lead, figure.element, words);
    } else {
      place.append(title, figure.element, words);
    }
    return place;
  }

  /** A step to the next section, and a link to this one. @param {Section} section */
  _onward(section) {
    const { strings } = this.language;
    const ids = [...SECTIONS.map(({ id }) => id), "yours"];
    const next = ids[ids.indexOf(section.id) + 1];
    const { title } = strings.sections[/** @type {"start"} */ (next)];
    const onward = element("div", "onward");
    const copied = element("p", "copied");
    copied.setAttribute("role", "status");
    onward.append(this._button(strings.next.replace("{title}", title), () => this.go(next), "next"), this._button(strings.copy, () => void this.copy(section.id, copied), "copy"), copied);
    return onward;
  }

  /** @param {Section} section @returns {HTMLElement[]} */
  _control(section) {
    const { strings } = this.language;
    if (section.control === "bet") {
      const slider = /** @type {HTMLInputElement} */ (element("input", "bet-slider"));
      const most = Math.ceil((this.found("none")?.facts.works.value ?? 1) / 1000);
      Object.assign(slider, { type: "range", min: "0", max: String(most), step: "0.1", value: String((this.bet ?? 0) / 1000) });
      slider.setAttribute("aria-label", strings.sections.bet.control);
      slider.addEventListener("input", () => this.placeBet(Number(slider.value) * 1000));
      this.betSlider = slider;
      const ends = element("div", "ends-of-bet");
      ends.setAttribute("aria-hidden", "true");
      ends.append(...[0, most].map((end) => element("span", "", this.language.seconds(end * 1000, 0))));
      return [slider, ends];
    }
    if (section.control === "line") {
      const steps = element("div", "steps-of-line");
      this.lineValue = element("output", "value-of-line");
      steps.append(this._button(strings.sections.line.less, () => this.grip?.go(this.grip.at + 1)), this.lineValue, this._button(strings.sections.line.more, () => this.grip?.go(this.grip.at - 1)));
      return [steps];
    }
    if (section.control === "when") {
      const choices = element("div", "choices-of-cost");
      choices.setAttribute("role", "group");
      choices.setAttribute("aria-label", strings.sections.cost.control);
      for (const choice of CHOICES.filter((each) => this.found(each))) {
        const button = this._button(strings.sections.cost.choices[/** @type {"price"} */ (choice)].name, () => this.choose(choice));
        button.dataset.choice = choice;
        choices.append(button);
      }
      this.choices = choices;
      return [choices];
    }
    return [];
  }

  /** @param {Figure} figure */
  _lineIn(figure) {
    const { strings } = this.language;
    this.grip = new Line(figure.way, this.stops, (recording) => this.limitOf(recording), strings.sections.line.control, (recording) => {
      this.line = recording;
      this.notice = "";
      this.refreshOf("line");
      this.note();
    });
  }

  /** @param {Recording} recording */
  limitOf({ limit }) {
    return limit === Infinity ? this.language.strings.sections.line.unset : this.language.kib(limit);
  }

  /** @param {number} ms */
  placeBet(ms) {
    this.bet = ms;
    this.refreshOf("bet");
    this.refreshOf("happened");
    this.note();
  }

  /** @param {Wish} choice */
  choose(choice) {
    this.when = choice;
    this.refreshOf("cost");
    this.note();
  }

  /** @param {string} id */
  refreshOf(id) {
    for (const section of SECTIONS) if (section.id === id) this.refresh(section);
  }

  /** The recording that a section shows now. @param {Section} section @returns {Recording} */
  recordingOf({ film }) {
    const found = film === "line" ? this.line : this.found(film === "when" ? this.when : film);
    if (!found) throw new Error(`no recording for ${film}`);
    return found;
  }

  /** The recording that is compared, if any. @param {Section} section */
  otherOf(section) {
    if (!section.compare) return null;
    return this.found(section.film === "when" ? COMPARED[this.when] ?? "none" : "none") ?? null;
  }

  /** Shows in a section what the state says: film, texts and answer. @param {Section} section */
  refresh(section) {
    const place = document.getElementById(section.id);
    const figure = this.figures.get(section.id);
    if (!place || !figure) return;
    const recording = this.recordingOf(section);
    const other = this.otherOf(section);
    const facts = this.factsOf(recording, other);
    place.dataset.film = recording.name;
    const texts = this.language.strings.sections[/** @type {"start"} */ (section.id)];
    place.querySelectorAll(".told").forEach((told, index) => told.replaceChildren(...this.language.nodes(texts.text[index], facts)));
    const answer = place.querySelector(".answer");
    const said = this._answer(section, recording, facts).map((text, index) => {
      const line = element("p", index ? "answer-more" : "answer-first");
      line.append(...this.language.nodes(text, facts));
      return line;
    });
    answer?.replaceChildren(...said);
    const bet = section.bet ? this.bet : null;
    const { line, cost } = this.language.strings.sections;
    const { upper, lower } = section.control === "when" ? cost.choices[/** @type {"price"} */ (this.when)] : line;
    figure.load(recording, other, [upper, lower].map((text) => text.replace("{limit}", this.limitOf(recording))), bet, facts);
    if (section.control === "line") {
      this.grip?.show(recording);
      if (this.lineValue) write(this.lineValue, this.limitOf(recording));
    }
    if (section.control === "when") {
      for (const button of this.choices?.querySelectorAll("button") ?? []) button.setAttribute("aria-pressed", String(button.dataset.choice === this.when));
    }
  }

  /** @param {Recording} recording @param {Recording | null} other @returns {Record<string, Fact>} */
  factsOf(recording, other) {
    const none = this.found("none")?.facts ?? {};
    const named = (/** @type {string} */ name, /** @type {Record<string, Fact>} */ facts) => Object.fromEntries(Object.entries(facts).map(([key, fact]) => [`${name}.${key}`, fact]));
    const gain = Math.max(0, (none.works?.value ?? 0) - recording.facts.works.value);
    const off = Math.abs((this.bet ?? 0) - recording.facts.first.value);
    return {
      ...recording.facts,
      ...named("none", none),
      ...(other ? named("other", other.facts) : {}),
      gain: { kind: "about", value: gain },
      bet: { kind: "about", value: this.bet ?? 0 },
      off: { kind: "about", value: off },
    };
  }

  /** @param {Section} section @param {Recording} recording @param {Record<string, Fact>} facts @returns {string[]} */
  _answer(section, recording, facts) {
    const { bet, happened, line, cost } = this.language.strings.sections;
    if (section.id === "bet") return [this.bet === null ? bet.none : bet.placed];
    if (section.id === "happened") {
      if (this.bet === null) return [happened.none];
      return [facts.off.value < CLOSE_MS ? happened.close : this.bet < facts.first.value ? happened.early : happened.late];
    }
    if (section.id === "line") {
      const notice = this.notice ? [this.language.strings.nearest.replace("{wanted}", this.notice)] : [];
      if (recording.limit === Infinity) return [line.none, ...notice];
      const before = this.stops[this.stops.indexOf(recording) - 1];
      if (facts.gain.value < LEAST_GAIN_MS) return [line.same, ...notice];
      const same = before && before.limit !== Infinity && before.facts.works.value - facts.works.value < LEAST_GAIN_MS;
      return [line.sooner, line.why, ...(same ? [line.enough] : []), ...notice];
    }
    if (section.id === "cost") return [cost.choices[/** @type {"price"} */ (this.when)].text];
    return [];
  }

  /** @param {string} id @param {boolean} [focused] */
  go(id, focused = true) {
    const place = document.getElementById(id);
    place?.scrollIntoView({ behavior: focused && !isCalm() ? "smooth" : "auto", block: "start" });
    if (focused) document.getElementById(`title-of-${id}`)?.focus({ preventScroll: true });
    if (!focused && this.opened !== null) this.figures.get(id)?.show(this.opened);
    this.opened = null;
  }

  /** The section in the middle of the window. */
  inView() {
    const middle = window.innerHeight / 2;
    const parts = [...this.article.querySelectorAll(".part")];
    return (parts.findLast((part) => part.getBoundingClientRect().top <= middle) ?? parts[0]).id;
  }

  /** The state as a query, with a section. @param {string} at */
  queryAt(at) {
    const tMs = this.figures.get(at)?.tMs ?? null;
    return queryOf({ lang: this.isGiven ? this.language.code : "", line: this.line === this.stops[0] ? "" : this.line.shown.knobs.LOWAT, bet: this.bet, when: this.when === CHOICES[0] ? "" : this.when, at, tMs });
  }

  /** Writes the state into the address soon. */
  note() {
    window.clearTimeout(this._noting);
    this._noting = window.setTimeout(() => history.replaceState(null, "", location.pathname + this.queryAt(this.inView())), NOTED_MS);
  }

  /** @param {string} id of the section @param {HTMLElement} said where to say so */
  async copy(id, said) {
    const { strings } = this.language;
    const address = new URL(this.queryAt(id), location.href.split(/[?#]/)[0]).href;
    try {
      await navigator.clipboard.writeText(address);
      write(said, strings.copied);
    } catch {
      // Not all browsers let a file use the clipboard.
      const field = /** @type {HTMLInputElement} */ (element("input", ""));
      Object.assign(field, { value: address, readOnly: true });
      field.setAttribute("aria-label", strings.copyByHand);
      said.replaceChildren(strings.copyByHand, field);
      field.select();
    }
  }
}

async function begin() {
  followZoom();
  const article = /** @type {HTMLElement} */ (document.getElementById("explanation"));
  const summary = document.getElementById("summary")?.textContent ?? "";
  try {
    if (!("DecompressionStream" in window)) throw new Refused(new Language(chosenLanguage("")).strings.unreadable);
    const [offered, all] = await Promise.all([choices(), recordings()]);
    const defaults = Object.fromEntries(offered.knobs.map((knob) => [knob.name, knob.default]));
    const recorded = all.filter(({ film }) => film).map((shown) => new Recording(shown));
    if (NEEDED.every((wish) => recorded.some((each) => isOf(each, WISHES[wish], defaults)))) new Explanation(article, recorded, defaults, offered.published ?? {});
    else location.replace("?explore");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    article.append(element("p", "refused", error.message));
    article.insertAdjacentHTML("beforeend", summary);
  }
}

await begin();
