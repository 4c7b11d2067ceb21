// @ts-check
// The stage: shows the films of a wish, dims them when another wish is waited for, and clears them when there are none.
//
// A film that is not dimmed belongs to the present wish.

import { element } from "./svg.js";
import { fade } from "./fade.js";

/** @typedef {import("./types.js").Shown} Shown */
/** @typedef {import("./wishes.js").Wish} Wish */

const USUAL_SPEED = 2;
const SHORT_SPEED = 0.1;
const SHORT_MS = 1000;

export class Stage {
  /**
   * @param {HTMLElement} place
   * @param {import("./both_arms.js").BothArms} drawing
   * @param {HTMLElement} mark is visible while a film is shown that was recorded before
   * @param {(names: readonly string[]) => void} compares called with the names of the arms that are shown now
   */
  constructor(place, drawing, mark, compares) {
    this.compares = compares;
    this.place = place;
    this.drawing = drawing;
    this.mark = mark;
    /** The key of the wish whose films are on the stage, dimmed or not. */
    this.key = "";
    this.recorded = false;
    this.wasPlaying = false;
    /** The speed that was set by hand, and the usual speed of the films for which it was set. */
    this.byHand = { speed: /** @type {number | null} */ (null), usual: /** @type {number | null} */ (null) };
    this.usual = USUAL_SPEED;
    this.opening = false;
    drawing.player.changed.add(() => {
      const { speed } = drawing.player;
      if (!this.opening && this.key && speed !== this.speed) this.byHand = { speed, usual: this.usual };
    });
  }

  /** The speed of the present film. */
  get speed() {
    const { speed, usual } = this.byHand;
    return speed !== null && (usual === null || usual === this.usual) ? speed : this.usual;
  }

  get isDim() {
    return this.place.classList.contains("stale");
  }

  /** The time of the film, if it belongs to the present wish. */
  get tMs() {
    return this.key && !this.isDim ? this.drawing.player.tMs : null;
  }

  /** True if the films of this wish are on the stage, and not dimmed. @param {Wish} wish */
  shows(wish) {
    return this.key === wish.key && !this.isDim;
  }

  /**
   * Shows a wish's films. A film goes on at the same time if it is a fresh run in place of a recorded one, and while a
   * slider moves, so that films of neighbouring stops can be compared.
   * @param {Wish} wish @param {readonly Shown[]} arms @param {boolean} recorded
   */
  show(wish, arms, recorded) {
    const { player } = this.drawing;
    const again = this.key === wish.key || (wish.dragged && Boolean(this.key));
    const from = wish.tMs ?? (again ? (player.tMs >= player.durationMs ? Infinity : player.tMs) : 0);
    const playing = wish.tMs === null && (again ? (this.isDim ? this.wasPlaying : player.playing) : player.begins);
    const longest = Math.max(...arms.map((each) => each.film?.duration_ms ?? 0));
    const change = () => {
      this.opening = true;
      this.usual = wish.speed ?? (longest < SHORT_MS ? SHORT_SPEED : USUAL_SPEED);
      if (!again) this.drawing.bets.clear();
      player.said = wish.stops;
      this.drawing.open(arms, wish.names, this.speed, from);
      this.byHand.usual ??= this.usual;
      this.key = wish.key;
      this.compares(wish.names);
      this.recorded = recorded;
      this.mark.hidden = !recorded;
      this._dim(false);
      document.body.dataset.experiment = arms.map((each) => `${each.experiment}/${each.run}`).join(" ");
      this.opening = false;
    };
    if (wish.dragged) fade(this.place, change);
    else change();
    if (playing && player.tMs < player.durationMs) player.play();
  }

  /**
   * Dims the films, which do not belong to the present wish; in place of any other text says that the arms are run. On
   * stage, where the title is the present wish's, the style sheet hides them.
   */
  dim() {
    if (!this.key) this.clear([element("p", "no-film", "The films of both arms appear when they are there …")]);
    if (!this.key || this.isDim) return;
    this.wasPlaying = this.drawing.player.playing;
    this.drawing.player.pause();
    this.mark.hidden = true;
    this._dim(true);
  }

  /** @param {boolean} on */
  _dim(on) {
    this.place.classList.toggle("stale", on);
    this.place.parentElement?.classList.toggle("waits", on);
  }

  /** Removes the films, and shows other elements instead. @param {readonly HTMLElement[]} instead */
  clear(instead) {
    this.key = "";
    this.compares([]);
    this.recorded = false;
    this.mark.hidden = true;
    delete document.body.dataset.experiment;
    this.opening = true;
    this.drawing.open([], [], this.speed);
    this.opening = false;
    this._dim(false);
    this.place.replaceChildren(...instead);
  }

  /** @param {string} text @param {Record<string, () => void>} actions by the texts of their buttons */
  explain(text, actions) {
    const said = element("div", "no-film");
    said.append(element("p", "", text));
    for (const [what, act] of Object.entries(actions)) {
      const button = /** @type {HTMLButtonElement} */ (element("button", "instead", what));
      button.type = "button";
      button.addEventListener("click", act);
      said.append(button);
    }
    this.clear([said]);
  }
}
