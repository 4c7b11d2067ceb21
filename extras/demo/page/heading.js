// @ts-check
// An arm's name, its verdict and its figures. Verdict and figures appear at their instants and not before.

import { GLOSSARY } from "./glossary.js";
import { element } from "./svg.js";
import { explaining, worded } from "./tip.js";
import { kib, seconds, sentence } from "./words.js";

/** @typedef {import("./types.js").Shown} Shown */

const VERDICTS = {
  kept: "order kept",
  inverted: "order inverted",
  "nothing-to-prioritize": "nothing to prioritize",
  undecided: "undecided",
};

/** Times that differ by a smaller part are the same. */
const SAME = 0.005;

/** @param {number | null} one @param {number | null} other */
const isSame = (one, other) => one !== null && other !== null && Math.abs(one - other) <= SAME * Math.max(one, other);

/**
 * Says what a verdict is about, where the films do not show it: it is undecided, or differs between two films that are
 * the same. @param {Shown} shown @param {Shown} [other] the other arm
 */
function aboutVerdict({ arm, names, favoured }, other) {
  if (arm.verdict === "undecided") {
    return favoured ? `Undecided: the ${names.important} did not come before the ${names.others}, nor after.` : "Undecided: the client asked for no order.";
  }
  const same = other && isSame(arm.first_byte_ms, other.arm.first_byte_ms) && isSame(arm.important_last_byte_ms, other.arm.important_last_byte_ms);
  if (!same || !favoured || other.arm.verdict === arm.verdict) return "";
  return `The same film: the verdict is about what the client asked for, here the ${names[favoured]} first.`;
}

export class Heading {
  /** @param {Shown} shown @param {string} name @param {Shown} [other] the other arm */
  constructor(shown, name, other) {
    const { arm, film } = shown;
    this.element = element("header", "arm-head");
    /** Parts that appear, and their times. @type {{tMs: number, part: HTMLElement}[]} */
    this.later = [];
    const endMs = film?.duration_ms ?? 0;
    const word = arm.verdict ?? arm.status;
    const verdict = element("span", `verdict ${word}`, VERDICTS[/** @type {keyof typeof VERDICTS} */ (word)] ?? word);
    if (word in GLOSSARY) worded(verdict, /** @type {import("./glossary.js").Word} */ (word));
    this.later.push({ tMs: endMs, part: verdict });
    this.figures = element("dl", "figures");
    const heading = element("h2", "arm-name");
    heading.append(worded(element("span", "", name), "arm"));
    this.element.append(heading, verdict, this.figures);
    this.names = shown.names;
    // The film rounds its times down to a microsecond.
    const at = (/** @type {number | null} */ tMs) => Math.min(Math.floor((tMs ?? endMs) * 1000) / 1000, endMs);
    const { important, others } = shown.names;
    this._add(`${important} begins`, seconds(arm.first_byte_ms), "first_byte_ms", at(arm.first_byte_ms), "begins", "middle");
    this._add(`${important} complete`, seconds(arm.important_last_byte_ms), "important_last_byte_ms", at(arm.important_last_byte_ms), "complete", "main");
    this._add(`${others} complete`, seconds(arm.others_last_byte_ms), "others_last_byte_ms", at(arm.others_last_byte_ms), "complete");
    this._add(`${others} before it`, kib(arm.other_bytes_before), "other_bytes_before", at(arm.first_byte_ms), "before");
    if (arm.oracle) this._add("soonest possible", seconds(arm.oracle.first_byte_ms), "oracle.first_byte_ms", endMs, "possible");
    this.note = this._note(shown, aboutVerdict(shown, other));
    this.later.push({ tMs: endMs, part: this.note });
  }

  /** @param {string} what @param {string} value @param {string} key @param {number} tMs @param {import("./glossary.js").Word} word @param {string} [weight] */
  _add(what, value, key, tMs, word, weight = "minor") {
    const figure = element("div", `figure ${weight}`);
    const said = element("dd", "", value);
    said.dataset.figure = key;
    const term = element("dt", "");
    term.append(worded(element("span", "", what), word, this.names));
    figure.append(term, said);
    this.figures.append(figure);
    this.later.push({ tMs, part: figure });
  }

  /** The verdict's reason; the full text is shown on hover and focus. @param {Shown} shown @param {string} about the verdict */
  _note(shown, about) {
    const { verdict_reason: reason, warnings } = shown.arm;
    const told = [reason ?? "", shown.wait ?? "", ...warnings].filter((text) => text).map(sentence);
    const made = element("p", about ? "note about" : "note");
    const why = element("span", "reason");
    why.append(explaining(told.join(" "), shown.names));
    made.append(element("span", "about-verdict", about), " ", why);
    made.tabIndex = 0;
    made.setAttribute("role", "note");
    return made;
  }

  /** @param {number} tMs since the page was requested */
  show(tMs) {
    for (const each of this.later) each.part.classList.toggle("not-yet", tMs < each.tMs);
  }
}
