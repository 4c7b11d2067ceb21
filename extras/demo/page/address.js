// @ts-check
// The page's state in its address: knobs or step, time and speed. So reload, back and a copied link show the same film.
//
// Parameters in small letters: step (1, 2, ... or `end`), or scenario, differ, above and below; t, the film's time in
// milliseconds; speed, if it was set by hand. Parameters in capitals are knobs that both arms share.

import { isExplored } from "./explain/address.js";

/** @typedef {import("./knob_choice.js").Knobs} Knobs */
/** @typedef {{compare: string, values: [string, string], shared: Knobs}} Chosen */
/**
 * step: the index of a step of the story; the number of steps for the closing slide; null outside of the story. unknown: what
 * the address names, and nobody knows.
 * @typedef {{step: number | null, scenario: string, chosen: Chosen, tMs: number | null, speed: number | null, unknown?: string[]}} PageState
 */

const END = "end";
/** What the query begins with if nothing else in it says that it is of Explore, and not of the explanation. */
const EXPLORE = "explore";
const NOTED_MS = 1000;
const SETTLED_MS = 150;

/**
 * Returns the query of an address, which is never empty. Knobs with default values are left out.
 * @param {PageState} state @param {Knobs} defaults @param {number} steps the number of steps of the story
 */
export function written({ step, scenario, chosen, tMs, speed }, defaults, steps) {
  const query = new URLSearchParams();
  if (step !== null) {
    query.set("step", step < steps ? String(step + 1) : END);
  } else {
    const { compare, values, shared } = chosen;
    const usual = compare === "LOWAT" && values[0] === "none" && values[1] === defaults.LOWAT;
    if (scenario) query.set("scenario", scenario);
    if (!usual) for (const [name, value] of [["differ", compare], ["above", values[0]], ["below", values[1]]]) query.set(name, value);
    for (const [name, value] of Object.entries(shared)) if (value !== defaults[name]) query.set(name, value);
  }
  if (tMs) query.set("t", String(Math.round(tMs)));
  if (speed !== null) query.set("speed", speed.toPrecision(3));
  const text = query.toString();
  return isExplored(text) ? `?${text}` : `?${EXPLORE}${text && `&${text}`}`;
}

/**
 * Reads the query of an address. Unknown parameters have no effect; the lab checks the knobs' values.
 * @param {string} search @param {Knobs} defaults @param {number} steps
 * @returns {PageState}
 */
export function read(search, defaults, steps) {
  const query = new URLSearchParams(search);
  const number = (/** @type {string} */ name) => {
    const value = Number(query.get(name));
    return Number.isFinite(value) && value > 0 ? value : null;
  };
  const named = query.get("step");
  const step = named === END ? steps : Math.floor(number("step") ?? 0) - 1;
  const compare = query.get("differ") ?? "LOWAT";
  const isKnown = compare in defaults;
  const above = query.get("above") ?? "none";
  const below = query.get("below") ?? defaults.LOWAT;
  const unknown = [...query.keys()].filter((name) => /^[A-Z]/.test(name) && !(name in defaults));
  if (!isKnown) unknown.push(`differ=${compare}`);
  if (named !== null && (step < 0 || step > steps || (named !== END && step === steps))) unknown.push(`step=${named}`);
  return {
    // A story has as many steps as it has; the nearest to a later one is its last.
    step: step >= 0 && (steps || named === END) ? (named === END ? steps : Math.min(step, steps - 1)) : null,
    scenario: query.get("scenario") ?? "",
    chosen: {
      compare: isKnown ? compare : "LOWAT",
      values: isKnown ? [above, below] : ["none", defaults.LOWAT],
      shared: Object.fromEntries([...query].filter(([name]) => name in defaults && name !== compare)),
    },
    tMs: number("t"),
    speed: number("speed"),
    unknown,
  };
}

export class Address {
  /** @param {() => PageState} state the page's present state @param {Knobs} defaults @param {number} steps */
  constructor(state, defaults, steps) {
    this.state = state;
    this.defaults = defaults;
    this.steps = steps;
    this.last = this._text(false);
    this._timer = 0;
    this._notedMs = 0;
  }

  /** The query without time and speed. */
  get text() {
    return this._text(false);
  }

  /** What the page shows if the address says nothing. */
  get usual() {
    return read("", this.defaults, this.steps);
  }

  /** Reads the present address. */
  read() {
    return read(location.search, this.defaults, this.steps);
  }

  /** Writes the page's state, as a new entry of the browser's history if it shows something else than before. */
  push() {
    const text = this._text(false);
    if (text === this.last) return this.replace();
    this._forget();
    this.last = text;
    history.pushState(null, "", location.pathname + text);
  }

  /** Writes the page's state into the present entry of the browser's history. */
  replace() {
    this._forget();
    this.last = this._text(false);
    history.replaceState(null, "", location.pathname + this._text(true));
  }

  /** Writes the film's time soon: once a second while it plays. @param {boolean} playing */
  note(playing) {
    if (playing && performance.now() - this._notedMs < NOTED_MS) return;
    this._forget();
    this._notedMs = performance.now();
    this._timer = window.setTimeout(() => this.replace(), SETTLED_MS);
  }

  _forget() {
    window.clearTimeout(this._timer);
  }

  /** @param {boolean} timed */
  _text(timed) {
    const state = this.state();
    return written(timed ? state : { ...state, tMs: null, speed: null }, this.defaults, this.steps);
  }
}
