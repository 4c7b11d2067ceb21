// @ts-check
// The bar below the film of a small window: it has room for one film, so a switch says which, and a swipe across the film
// changes it; the panel puts LOWAT's sliders here. The style sheet decides which window is small, and shows the slider of
// the film that is seen. The film without a limit comes first, and then a button invites to limit it.

import { element, write } from "./svg.js";

/** A finger that moves farther, and mostly sideways, swipes. */
const SWIPE_PX = 40;

export class Pinned {
  /** @param {HTMLElement} place @param {import("./both_arms.js").BothArms} drawing */
  constructor(place, drawing) {
    this.place = place;
    this.drawing = drawing;
    this.invites = true;
    const choice = element("div", "which");
    choice.setAttribute("role", "group");
    choice.setAttribute("aria-label", "the film that is seen");
    this.buttons = [0, 1].map((arm) => {
      const button = /** @type {HTMLButtonElement} */ (element("button", "arm-choice"));
      button.type = "button";
      button.addEventListener("click", () => this.see(arm));
      choice.append(button);
      return button;
    });
    place.append(choice);
    /** @type {readonly string[]} */
    this.names = ["", ""];
    this.limited = false;
    this._draw();
    drawing.place.addEventListener("pointerdown", (event) => this._swipe(event));
  }

  /** @param {number} arm */
  see(arm) {
    const { player } = this.drawing;
    // Who limits it for the first time wants to see what changes, and not only how it ends.
    const again = arm === 1 && this.invites && player.durationMs && player.tMs >= player.durationMs;
    this.invites &&= arm === 0;
    this.drawing.see(arm);
    if (again) player.seek(0);
    if (again && player.begins) player.play();
    this._draw();
  }

  /** Names both films. @param {readonly (string | undefined)[]} names @param {boolean} limited true if only the second has a limit */
  name([above, below], limited) {
    this.names = [above ?? "", below ?? ""];
    this.limited = limited;
    this.place.classList.toggle("empty", above === undefined);
    this._draw();
  }

  _draw() {
    this.place.dataset.arm = String(this.drawing.alone);
    this.buttons.forEach((button, index) => {
      const name = this.names[index];
      write(button, index === 1 && this.limited && this.invites ? `Now limit it: ${name.replace(/^limit /, "")}` : name);
      button.setAttribute("aria-pressed", String(index === this.drawing.alone));
    });
  }

  /** Follows a finger to its end; the browser ends it if it scrolls. @param {PointerEvent} event */
  _swipe({ target, pointerId, pointerType, clientX, clientY }) {
    if (pointerType !== "touch" || !this.drawing.isAlone || /** @type {Element} */ (target).closest(".grip")) return;
    const end = (/** @type {PointerEvent} */ event) => {
      if (event.pointerId !== pointerId) return;
      for (const type of /** @type {const} */ (["pointerup", "pointercancel"])) document.removeEventListener(type, end);
      const [x, y] = [event.clientX - clientX, event.clientY - clientY];
      if (event.type === "pointerup" && Math.abs(x) > SWIPE_PX && Math.abs(x) > 2 * Math.abs(y)) this.see(x < 0 ? 1 : 0);
    };
    for (const type of /** @type {const} */ (["pointerup", "pointercancel"])) document.addEventListener(type, end);
  }
}
