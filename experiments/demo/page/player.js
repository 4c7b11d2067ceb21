// @ts-check
// The clock of a film: playing or paused, speed, and position in milliseconds of link time.

export const SLOWEST = 0.1;
export const FASTEST = 50;

export class Player {
  /** @param {(tMs: number) => void} show called for every frame, and after every change */
  constructor(show) {
    this._show = show;
    this.durationMs = 0;
    this.tMs = 0;
    this.speed = 1;
    this.playing = false;
    this._lastMs = 0;
    this._frame = 0;
    /** @type {Set<() => void>} */
    this.changed = new Set();
  }

  /** @param {number} durationMs */
  load(durationMs) {
    this.durationMs = durationMs;
    this.seek(0);
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

  /** @param {number} speed as a multiple of real time */
  setSpeed(speed) {
    this.speed = Math.min(FASTEST, Math.max(SLOWEST, speed));
    this._tell();
  }

  /** @param {number} nowMs */
  _tick(nowMs) {
    if (!this.playing) return;
    this.tMs = Math.min(this.durationMs, this.tMs + Math.max(0, nowMs - this._lastMs) * this.speed);
    this._lastMs = nowMs;
    this._show(this.tMs);
    if (this.tMs >= this.durationMs) {
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
