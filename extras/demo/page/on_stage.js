// @ts-check
// What a speaker needs on stage: a remote plays the whole talk, the screen can be blanked, and the story does not end by
// accident.

import { element } from "./svg.js";

/** The time after the end of full screen in which Escape means only this. */
const FULL_SCREEN_MS = 500;

/** Keys that are held while another one is pressed. */
const ALONE = ["Shift", "Control", "Alt", "AltGraph", "Meta"];

/**
 * The keys of a remote: forward plays to the next mark, or goes there at once if the film plays; at the film's end, to the
 * next step. Back goes to the mark before; at the film's beginning, to the step before.
 * @param {import("./player.js").Player} player @param {import("./presenter.js").Presenter} presenter
 */
export function remoteKeys(player, presenter) {
  return {
    PageDown: () => {
      if (player.playing) player.jump(1, player.stops);
      else if (player.tMs < player.durationMs) player.play();
      else presenter.go(presenter.index + 1);
    },
    PageUp: () => {
      if (player.tMs > 0) player.jump(-1, player.stops);
      else presenter.go(presenter.index - 1);
    },
  };
}

/** A black screen in front of everything. */
export class Blank {
  /** @param {import("./player.js").Player} player is paused while nothing is seen */
  constructor(player) {
    this.player = player;
    this.element = element("div", "blank");
    this.element.hidden = true;
    document.body.append(this.element);
    this.element.addEventListener("click", () => this.end());
    document.addEventListener("keydown", (event) => {
      if (ALONE.includes(event.key) || !this.end()) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    }, { capture: true });
  }

  begin() {
    this.player.pause();
    this.element.hidden = false;
  }

  /** Shows the page again; returns false if it was not blanked. */
  end() {
    const was = !this.element.hidden;
    this.element.hidden = true;
    return was;
  }

  /** A key of the notes' window, which only ends the blank screen, if there is one. @param {() => void} [act] */
  press(act) {
    if (!this.end()) act?.();
  }
}

/** Asks before the story ends. Escape ends full screen first. */
export class Leaving {
  /** @param {() => void} leave */
  constructor(leave) {
    this.dialog = document.createElement("dialog");
    this.dialog.id = "leave";
    const form = document.createElement("form");
    form.method = "dialog";
    const [stay, go] = ["Stay", "Leave"].map((text) => {
      const button = document.createElement("button");
      button.value = button.textContent = text;
      form.append(button);
      return button;
    });
    stay.autofocus = true;
    go.className = "leave";
    this.dialog.append(element("h2", "", "Leave the story?"), form);
    this.dialog.setAttribute("aria-label", "leave the story");
    document.body.append(this.dialog);
    this.dialog.addEventListener("close", () => {
      if (this.dialog.returnValue === go.value) leave();
      this.dialog.returnValue = "";
    });
    this._endedMs = -FULL_SCREEN_MS;
    document.addEventListener("fullscreenchange", () => {
      if (!document.fullscreenElement) this._endedMs = performance.now();
    });
  }

  ask() {
    if (document.fullscreenElement || performance.now() - this._endedMs < FULL_SCREEN_MS) return;
    this.dialog.showModal();
  }
}

/** Fills the screen with the page, or ends that. */
export function toggleFullScreen() {
  if (document.fullscreenElement) void document.exitFullscreen();
  else void document.documentElement.requestFullscreen().catch(() => undefined);
}
