// @ts-check
// Chooses the language, formats numbers in it, and turns texts into nodes. In a text, {name} is a fact, {none.name} a fact
// of the recording that is compared, and [key|words] are words that explain themselves when they are tapped.

import { element, set } from "../svg.js";
import { strings as de } from "./strings.de.js";
import { strings as en } from "./strings.en.js";
import { strings as ja } from "./strings.ja.js";

/** @typedef {import("./facts.js").Fact} Fact */
/** @typedef {typeof en} Strings */

/** @type {Record<string, Strings>} */
export const LANGUAGES = { en, de, ja };

/** @param {string} wanted by the address @returns {string} */
export function chosenLanguage(wanted) {
  const all = [wanted, ...navigator.languages].map((tag) => tag.slice(0, 2).toLowerCase());
  return all.find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? "en";
}

const PART = /\{([\w.]+)\}|\[(\w+)\|([^\]]+)\]/g;

export class Language {
  /** @param {string} code */
  constructor(code) {
    this.code = code;
    this.strings = LANGUAGES[code];
    /** By the number of digits. @type {Intl.NumberFormat[]} */
    this.formats = [];
  }

  /** @param {number} value @param {number} digits */
  number(value, digits) {
    this.formats[digits] ??= new Intl.NumberFormat(this.code, { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return this.formats[digits].format(value);
  }

  /** @param {number} ms @param {number} [digits] */
  seconds(ms, digits = 2) {
    return this.strings.seconds.replace("{n}", this.number(ms / 1000, digits));
  }

  /** @param {number} bytes */
  kib(bytes) {
    return `${this.number(Math.round(bytes / 1024), 0)} KiB`;
  }

  /** @param {Fact} fact */
  fact({ kind, value }) {
    if (kind === "ms") return this.seconds(value);
    if (kind === "about") return this.seconds(value, 1);
    if (kind === "bytes") return this.kib(value);
    if (kind === "bit") return `${this.number(value / 1e6, 0)} Mbit/s`;
    return this.number(value, 0);
  }

  /** Lets an element say what a word means. @template {HTMLElement} E @param {E} place @param {string} word */
  worded(place, word) {
    set(place, { "data-word": word, "data-said": this.strings.words[/** @type {"page"} */ (word)] });
    return place;
  }

  /**
   * Returns a text as nodes. Facts are in elements that name the fact and its recording.
   * @param {string} text @param {Record<string, Fact>} facts by names, or by a recording's word and name
   */
  nodes(text, facts) {
    /** @type {(Node | string)[]} */
    const nodes = [];
    let last = 0;
    for (const match of text.matchAll(PART)) {
      nodes.push(text.slice(last, match.index));
      last = (match.index ?? 0) + match[0].length;
      if (match[1]) {
        const fact = facts[match[1]];
        if (!fact) throw new Error(`no fact ${match[1]}`);
        const shown = element("strong", "fact", this.fact(fact));
        shown.dataset.fact = match[1];
        nodes.push(shown);
      } else {
        // Not a button: its line could not break, and a full stop behind it might begin a line.
        const word = element("span", "word", match[3]);
        set(word, { role: "button", tabindex: 0 });
        nodes.push(this.worded(word, match[2]));
      }
    }
    nodes.push(text.slice(last));
    return nodes;
  }
}
