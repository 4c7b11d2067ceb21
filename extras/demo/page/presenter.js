// @ts-check
// The presenter's mode: shows one step of the story at a time, in large type. The live page and the slides use it.

import { element } from "./svg.js";

/** @typedef {import("./types.js").StepOffer} StepOffer */

export class Presenter {
  /**
   * @param {HTMLElement} place the element for title, text and buttons
   * @param {readonly StepOffer[]} steps
   * @param {(step: StepOffer) => void} open shows the arms of a step
   * @param {{title: string, open: () => void}} [closing] the slide after the last step
   */
  constructor(place, steps, open, closing) {
    this.place = place;
    this.steps = steps;
    this.open = open;
    this.closing = closing;
    this.index = 0;
  }

  /** The present step; undefined at the closing slide. @returns {StepOffer | undefined} */
  get step() {
    return this.steps[this.index];
  }

  get last() {
    return this.closing ? this.steps.length : this.steps.length - 1;
  }

  /** The number of the present step, or that the story has ended. */
  get count() {
    return this.step ? `${this.index + 1} of ${this.steps.length}` : "end";
  }

  /** @param {number} index */
  go(index) {
    this.draw(index);
    if (this.step) this.open(this.step);
    else this.closing?.open();
  }

  /** Draws title, text and buttons of a step. @param {number} index */
  draw(index) {
    this.index = Math.min(this.last, Math.max(0, index));
    const { step } = this;
    const heading = element("h1", "step-title", step ? step.title : this.closing?.title);
    heading.tabIndex = -1;
    const nav = element("nav", "step-nav");
    nav.setAttribute("aria-label", "steps");
    nav.append(
      this._button("Back", this.index > 0, -1),
      element("span", "step-count", this.count),
      this._button("Next", this.index < this.last, 1),
    );
    const words = element("div", "step-words");
    words.append(heading);
    if (step) {
      const text = element("p", "step-text", `${step.text} `);
      if (step.bet) text.append(element("strong", "step-bet", step.bet));
      words.append(text);
    }
    this.place.replaceChildren(words, nav);
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

  /** What the speaker needs now. @param {import("./types.js").Closing} closing @returns {import("./talk.js").Notes} */
  notes(closing) {
    const { title, say, minute } = this.step ?? closing;
    const after = this.step ? [...this.steps.slice(this.index + 1), closing] : [];
    const until = after.find((each) => each.minute)?.minute ?? null;
    return { step: this.count, title, say, minute, until, next: after[0]?.title ?? "", presenting: true };
  }

  get keys() {
    return {
      ArrowRight: () => this.go(this.index + 1),
      ArrowLeft: () => this.go(this.index - 1),
      Home: () => this.go(0),
      End: () => this.go(this.last),
    };
  }
}
