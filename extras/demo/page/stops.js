// @ts-check
// The stops of the LOWAT slider: runs them beforehand, one after the other, while the visitor explores and waits for
// nothing.

import { ask, result } from "./api.js";
import { known, Refused } from "./seen.js";

/** @typedef {import("./knob_choice.js").Knobs} Knobs */
/** @typedef {import("./types.js").Shown} Shown */
/** @typedef {{value: string, shown: Shown | undefined}} Stop */

const PAUSE_MS = 300;

export class Stops {
  /**
   * @param {readonly string[]} values the stops, in the slider's order
   * @param {() => Knobs[]} arms the knobs of the arms that the slider changes
   * @param {() => boolean} isIdle false while the visitor waits for a run, or sees no slider
   * @param {() => void} changed called when a stop has been run
   */
  constructor(values, arms, isIdle, changed) {
    this.values = values;
    this.arms = arms;
    this.isIdle = isIdle;
    this.changed = changed;
    /** Stops that the lab refuses, or whose runs failed. @type {Set<string>} */
    this.refused = new Set();
    /** @type {AbortController | null} */
    this.running = null;
    this._timer = 0;
  }

  /** All stops of the first arm, each with the result of its run, if any. @returns {Stop[]} */
  get all() {
    const [knobs] = this.arms();
    return this.values.map((value) => ({ value, shown: known({ ...knobs, LOWAT: value }) }));
  }

  /** Runs the next stop soon, unless one is being run for the same arm. @param {number} [pauseMs] */
  look(pauseMs = PAUSE_MS) {
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => void this._run(), pauseMs);
  }

  /** Gives up the run of a stop: the visitor comes first. */
  yield() {
    window.clearTimeout(this._timer);
    this.running?.abort();
    this.running = null;
  }

  /** The nearest stop that has not been run. */
  get _next() {
    const arms = this.arms();
    const here = this.values.indexOf(arms[0].LOWAT);
    const near = [...this.values].sort((one, other) => this._far(one, here) - this._far(other, here));
    const all = near.flatMap((value) => arms.map((knobs) => ({ ...knobs, LOWAT: value })));
    return all.find((knobs) => !known(knobs) && !this.refused.has(JSON.stringify(knobs)));
  }

  /** @param {string} value @param {number} here */
  _far(value, here) {
    return Math.abs(this.values.indexOf(value) - here);
  }

  async _run() {
    const knobs = this._next;
    if (!knobs || this.running || !this.isIdle()) return;
    const running = new AbortController();
    this.running = running;
    let wasThere = false;
    try {
      const answer = await ask(knobs, true);
      wasThere = answer.shown !== undefined;
      await result(answer, () => undefined, running.signal);
    } catch (error) {
      if (running.signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      if (error.isFinal) return;
      this.refused.add(JSON.stringify(knobs));
    } finally {
      if (this.running === running) this.running = null;
    }
    this.changed();
    // A stop that had been run before was only read.
    this.look(wasThere ? 0 : PAUSE_MS);
  }
}
