// @ts-check
// The clock of a film: playing or paused, speed, position in milliseconds of link time, and chapter marks.

import { isCalm } from "./calm.js";
import { APART } from "./marks.js";

/** @typedef {import("./film.js").Mark} Mark */

export const SLOWEST = 0.1;
export const FASTEST = 50;
/** The speed in the decisive time, as a part of the usual speed. */
const SLOWER = 0.2;

export class Player {
  /** @param {(tMs: number) => void} show called for every frame, and after every change */
  constructor(show) {
    this._show = show;
    this.durationMs = 0;
    this.tMs = 0;
    this.speed = 1;
    this.playing = false;
    /** The chapter marks, in order of time. @type {readonly Mark[]} */
    this.marks = [];
    /** The texts of the marks at which a film on stage stops, if it does not stop at each. @type {readonly string[] | null} */
    this.said = null;
    /** The time in which a film on stage is slower. @type {readonly [number, number]} */
    this.decisive = [0, 0];
    /** True to begin paused, to pause at each mark, and to be slower in the decisive time. */
    this.onStage = false;
    this._lastMs = 0;
    this._frame = 0;
    /** @type {Set<() => void>} */
    this.changed = new Set();
  }

  /**
   * @param {number} durationMs
   * @param {readonly Mark[]} marks in order of time
   * @param {readonly [number, number]} decisive
   * @param {number} [fromMs]
   */
  load(durationMs, marks, decisive, fromMs = 0) {
    this.durationMs = durationMs;
    this.marks = marks;
    this.decisive = decisive;
    this.seek(fromMs);
  }

  /** The marks at which a film on stage stops: those at which there is something to say, and its end. */
  get stops() {
    const { said } = this;
    return said === null ? this.marks : this.marks.filter(({ text }, index) => index === this.marks.length - 1 || text.split(APART).some((part) => said.includes(part)));
  }

  /** The text of the last chapter mark so far. */
  get chapter() {
    return this.marks.findLast((mark) => mark.tMs <= this.tMs)?.text ?? "";
  }

  /** True if a film that was loaded plays by itself. On stage the speaker begins; calm visitors begin, too. */
  get begins() {
    return !this.onStage && !isCalm();
  }

  /** True if the film goes through the decisive time on stage, and so is slower. */
  get isSlow() {
    return this.onStage && this.tMs >= this.decisive[0] && this.tMs < this.decisive[1];
  }

  /** The speed at this instant, as a multiple of real time. */
  get pace() {
    return this.speed * (this.isSlow ? SLOWER : 1);
  }

  play() {
    if (this.playing || !this.durationMs) return;
    if (this.tMs >= this.durationMs) this.tMs = 0;
    this.playing = true;
    this._lastMs = performance.now();
    this._frame = requestAnimationFrame((nowMs) => this._tick(nowMs));
    this._tell();
  }

  pause() {
    this.playing = false;
    cancelAnimationFrame(this._frame);
    this._tell();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  /** @param {number} tMs */
  seek(tMs) {
    this.tMs = Math.min(this.durationMs, Math.max(0, tMs));
    this._show(this.tMs);
    this._tell();
  }

  /** Pauses at the next chapter mark, or at the one before. @param {1 | -1} way @param {readonly Mark[]} [marks] */
  jump(way, marks = this.marks) {
    this.pause();
    const found = way > 0 ? marks.find(({ tMs }) => tMs > this.tMs) : marks.findLast(({ tMs }) => tMs < this.tMs);
    this.seek(found?.tMs ?? (way > 0 ? this.durationMs : 0));
  }

  /** @param {number} speed as a multiple of real time */
  setSpeed(speed) {
    this.speed = Math.min(FASTEST, Math.max(SLOWEST, speed));
    this._tell();
  }

  /** @param {number} nowMs */
  _tick(nowMs) {
    if (!this.playing) return;
    const wanted = Math.min(this.durationMs, this.tMs + Math.max(0, nowMs - this._lastMs) * this.pace);
    const mark = this.onStage ? this.stops.find(({ tMs }) => tMs > this.tMs && tMs <= wanted) : undefined;
    this.tMs = mark?.tMs ?? wanted;
    this._lastMs = nowMs;
    this._show(this.tMs);
    if (mark || this.tMs >= this.durationMs) {
      this.pause();
      return;
    }
    this._tell();
    this._frame = requestAnimationFrame((each) => this._tick(each));
  }

  _tell() {
    for (const tell of this.changed) tell();
  }
}
