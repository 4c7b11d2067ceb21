// @ts-check
// The presenter's mode: shows one step of the story at a time, in large type. The live page and the slides use it.

import { element } from "./both_arms.js";

/** @typedef {import("./types.js").StepOffer} StepOffer */

export class Presenter {
  /**
   * @param {HTMLElement} place the element for title, text and buttons
   * @param {readonly StepOffer[]} steps
   * @param {(step: StepOffer) => void} open shows the arms of a step
   */
  constructor(place, steps, open) {
    this.place = place;
    this.steps = steps;
    this.open = open;
    this.index = 0;
  }

  get step() {
    return this.steps[this.index];
  }

  /** @param {number} index */
  go(index) {
    this.index = Math.min(this.steps.length - 1, Math.max(0, index));
    const { step } = this;
    const heading = element("h1", "step-title", step.title);
    heading.tabIndex = -1;
    const nav = element("nav", "step-nav");
    nav.setAttribute("aria-label", "steps");
    nav.append(
      this._button("Back", this.index > 0, -1),
      element("span", "step-count", `${this.index + 1} of ${this.steps.length}`),
      this._button("Next", this.index < this.steps.length - 1, 1),
    );
    const text = element("p", "step-text", step.text);
    const words = element("div", "step-words");
    words.append(heading, text);
    this.place.replaceChildren(words, nav);
    this.open(step);
  }

  /** @param {string} text @param {boolean} enabled @param {number} way */
  _button(text, enabled, way) {
    const button = /** @type {HTMLButtonElement} */ (element("button", "step-button", text));
    button.type = "button";
    button.disabled = !enabled;
    button.addEventListener("click", () => {
      this.go(this.index + way);
      // The button has been replaced; the keyboard focus moves to the new one.
      const buttons = this.place.querySelectorAll("button");
      const again = buttons[way > 0 ? 1 : 0];
      (again.disabled ? buttons[way > 0 ? 0 : 1] : again).focus();
    });
    return button;
  }

  get keys() {
    return {
      ArrowRight: () => this.go(this.index + 1),
      ArrowLeft: () => this.go(this.index - 1),
      PageDown: () => this.go(this.index + 1),
      PageUp: () => this.go(this.index - 1),
      Home: () => this.go(0),
      End: () => this.go(this.steps.length - 1),
    };
  }
}
