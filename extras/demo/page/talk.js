// @ts-check
// The page's side of the speaker's notes: tells the notes' window what the audience sees, and obeys its keys.

/**
 * minute, until: when the step begins and ends by the plan. stop: where the film stops next. passed: the texts of
 * the marks so far.
 * @typedef {{step: string, title: string, say: import("./types.js").Said[], minute: string | null, until: string | null, next: string, presenting: boolean}} Notes
 * @typedef {{tMs: number, stop: import("./film.js").Mark | undefined, passed: string[], playing: boolean}} FilmTime
 */

import { APART } from "./marks.js";

export const CHANNEL = "priolab-talk";
const EACH_MS = 100;
const WINDOW = "popup,width=820,height=620";

export class Talk {
  /** @param {() => Notes} notes @param {import("./player.js").Player} player @param {(key: string) => void} press */
  constructor(notes, player, press) {
    this.notes = notes;
    this.player = player;
    player.changed.add(() => this._tellTime());
    this._toldMs = 0;
    this._timer = 0;
    this.channel = new BroadcastChannel(CHANNEL);
    this.channel.addEventListener("message", ({ data }) => {
      if (data.ask) this.tell();
      if (typeof data.key === "string") press(data.key);
    });
  }

  /** Tells the window what is shown. */
  tell() {
    this.channel.postMessage({ notes: this.notes() });
    this._tellTime();
  }

  /** Tells the film's time, several times a second while it plays. */
  _tellTime() {
    window.clearTimeout(this._timer);
    const { tMs, marks, stops, playing } = this.player;
    const wait = this._toldMs + EACH_MS - performance.now();
    if (wait > 0) {
      this._timer = window.setTimeout(() => this._tellTime(), wait);
      return;
    }
    this._toldMs = performance.now();
    const passed = marks.filter((mark) => mark.tMs <= tMs).flatMap(({ text }) => text.split(APART));
    this.channel.postMessage({ film: { tMs, playing, passed, stop: stops.find((mark) => mark.tMs > tMs) } });
  }

  /** Opens the window, which asks for the notes. A file without a server has the window's page in itself. */
  open() {
    const within = document.getElementById("notes-page")?.textContent;
    const opened = window.open(within ? "" : "/page/notes.html", "priolab-notes", WINDOW);
    if (!opened || !within) return;
    opened.document.open();
    opened.document.write(JSON.parse(within));
    opened.document.close();
  }
}
