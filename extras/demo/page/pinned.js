// @ts-check
// The bar below the film of a small window: it has room for one film, so a switch says which; the panel puts LOWAT's
// sliders here. The style sheet decides which window is small, and shows the slider of the film that is seen.

import { element, write } from "./svg.js";

export class Pinned {
  /** @param {HTMLElement} place @param {import("./both_arms.js").BothArms} drawing */
  constructor(place, drawing) {
    this.place = place;
    this.drawing = drawing;
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
    this.see(drawing.alone);
  }

  /** @param {number} arm */
  see(arm) {
    this.drawing.see(arm);
    this.place.dataset.arm = String(arm);
    this.buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index === arm)));
  }

  /** Names both films. @param {readonly (string | undefined)[]} names */
  name(names) {
    this.buttons.forEach((button, index) => write(button, names[index] ?? ""));
    this.place.classList.toggle("empty", names[0] === undefined);
  }
}
