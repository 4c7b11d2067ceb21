// @ts-check
// The present wish: two arms to be shown. Finds or requests their runs, and shows them when both are there.
//
// Rules:
// 1. The stage shows the films of the present wish; or the films of an earlier one, dimmed, while the present one is
//    run; or none. When a wish is refused, or the lab does not answer, no film stays. When a wish is cancelled, the wish
//    whose films were shown last becomes the present one again.
// 2. A wish takes its claims before it gives up those of the wish before, so that a run that both want goes on.
// 3. Arms that were shipped with the demo are shown, marked, until this machine has run them.

import { ask, result } from "./api.js";
import { known, Refused, shipped } from "./seen.js";

/** @typedef {import("./types.js").Shown} Shown */
/** @typedef {import("./knob_choice.js").Knobs} Knobs */
/**
 * key: equal for equal wishes. speed: the film's speed; null for the usual one. stops: the marks at which it stops on stage;
 * null for all. tMs: the time at which the film shall
 * stand still; null to play it. dragged: true while a slider moves. state: what the page's knobs or its step were.
 * @typedef {{key: string, arms: [Knobs, Knobs], names: [string, string], speed: number | null, stops: readonly string[] | null, tMs: number | null, dragged: boolean, state: import("./address.js").PageState}} Wish
 */
/** @typedef {{wish: Wish, arms: readonly Shown[], recorded: boolean}} Last */
/** @typedef {{wish: Wish, abort: AbortController}} Asking */
/** stays: true to be seen until something else is to be told. @typedef {{text: string, running?: boolean, wrong?: boolean, stays?: boolean}} Status */

const PATIENT_MS = 400;

/** @param {readonly (Shown | undefined)[]} arms @returns {arms is Shown[]} */
function complete(arms) {
  return arms.every((each) => each !== undefined);
}

export class Wishes {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {(status: Status) => void} tell
   * @param {(text: string) => void} fail says in place of the films why there are none
   * @param {(wish: Wish) => void} restore sets the page's knobs or its step to those of an earlier wish
   * @param {() => void} settled called when the present wish is shown or has failed
   */
  constructor(stage, tell, fail, restore, settled) {
    this.stage = stage;
    this.tell = tell;
    this.fail = fail;
    this.restore = restore;
    this.settled = settled;
    /** The films that were shown last. @type {Last | null} */
    this.last = null;
    /** @type {Asking | null} */
    this.asking = null;
    /** The request before a slider began to move: its runs go on until the slider rests. @type {Asking | null} */
    this.left = null;
  }

  get isIdle() {
    return this.asking === null;
  }

  /** Shows a wish at once if both arms are known here; otherwise dims the stage and requests them. @param {Wish} wish */
  want(wish) {
    if (this.asking?.wish.key === wish.key) return;
    const before = this.asking ?? this.left;
    this.left = null;
    if (!before && this.stage.shows(wish) && !this.stage.recorded && wish.tMs === null) return;
    const there = wish.arms.map(known);
    if (complete(there)) {
      this.rest();
      before?.abort.abort();
      this._show(wish, there);
      return;
    }
    this.stage.dim();
    const asking = { wish, abort: new AbortController() };
    this.asking = asking;
    void this._ask(asking, before);
  }

  /** Shows a wish at once if both arms are known; otherwise only dims the stage. @param {Wish} wish */
  preview(wish) {
    if (this.asking && this.asking.wish.key !== wish.key) {
      this.left?.abort.abort();
      this.left = this.asking;
      this.asking = null;
      this.tell({ text: "" });
    }
    const there = wish.arms.map(known);
    if (!complete(there)) this.stage.dim();
    else if (!this.stage.shows(wish)) this._place({ wish, arms: there, recorded: false });
  }

  /** Gives up the present wish's runs; the stage stays as it is. */
  rest() {
    this.asking?.abort.abort();
    this.left?.abort.abort();
    this.asking = this.left = null;
    this.tell({ text: "" });
  }

  /** Gives up the present wish, and goes back to the films that were shown last. */
  cancel() {
    const { asking } = this;
    if (!asking) return;
    this.rest();
    if (this.stage.shows(asking.wish) || !this.last) this._end(asking.wish, { text: "Cancelled." });
    else this.back({ text: "Cancelled." });
  }

  /** Shows again what was shown last, and runs nothing for it. @param {Status} status */
  back(status) {
    if (!this.last) return;
    this.restore(this.last.wish);
    this.tell(status);
    this._place(this.last);
    this.settled();
  }

  /** @param {Last} last */
  _place(last) {
    this.stage.show(last.wish, last.arms, last.recorded);
    this.last = { ...last, wish: { ...last.wish, tMs: null, dragged: false } };
  }

  /** @param {Wish} wish @param {readonly Shown[]} arms */
  _show(wish, arms) {
    // Without the status line the stage has another size, for which the films are drawn.
    this.tell({ text: "" });
    this._place({ wish, arms, recorded: arms.some(({ instead }) => instead) });
    this.settled();
    const lacks = [...new Set(arms.map(({ instead }) => instead ?? "").filter((text) => text))];
    if (lacks.length) this.tell({ text: `Recorded before, on another machine: ${lacks.join("; ")}` });
  }

  /** Shows the arms that were recorded before, if they are those of the wish. @param {Asking} asking */
  _showShipped(asking) {
    if (this.asking !== asking || this.stage.shows(asking.wish)) return;
    const there = asking.wish.arms.map(shipped);
    if (!complete(there)) return;
    this.tell({ text: "Being run on this machine …", running: true });
    this._place({ wish: asking.wish, arms: there, recorded: true });
  }

  /** @param {Wish} wish @param {Status} status */
  _end(wish, status) {
    if (!this.stage.shows(wish)) this.fail(status.text);
    this.tell(status);
    this.settled();
  }

  /** @param {Asking} asking @param {Asking | null} before */
  async _ask(asking, before) {
    const { wish, abort } = asking;
    const patience = window.setTimeout(() => this._showShipped(asking), PATIENT_MS);
    const said = ["", ""];
    const begun = performance.now();
    const told = (/** @type {number} */ arm) => (/** @type {import("./types.js").News} */ news) => {
      if (this.asking !== asking) return;
      said[arm] = `${wish.names[arm]}: ${news.text}`;
      const wall = ((performance.now() - begun) / 1000).toFixed(0);
      this.tell({ text: `${[...new Set(said.filter((text) => text))].join(" · ")} (${wall} s)`, running: true });
    };
    try {
      const answers = await Promise.allSettled(wish.arms.map((knobs) => ask(knobs)));
      before?.abort.abort();
      if (answers.every((each) => each.status === "fulfilled") && answers.some((each) => !each.value.shown)) {
        this._showShipped(asking);
      }
      const shown = await Promise.all(
        answers.map((each, arm) =>
          each.status === "rejected" ? Promise.reject(each.reason) : result(each.value, told(arm), abort.signal),
        ),
      );
      if (this.asking !== asking) return;
      this.asking = null;
      this._show(wish, shown);
    } catch (error) {
      if (this.asking !== asking) return;
      this.asking = null;
      abort.abort();
      if (!(error instanceof Refused)) throw error;
      this._end(wish, { text: error.message, wrong: true });
    } finally {
      before?.abort.abort();
      window.clearTimeout(patience);
    }
  }
}
