// @ts-check
// The live page: knobs or story on one side, the films on the other.

import { ask, choices, Refused, result } from "./api.js";
import { onKeys, playerKeys } from "./keys.js";
import { Panel } from "./panel.js";
import { Presenter } from "./presenter.js";
import { BothArms, element } from "./both_arms.js";
import { followZoom, toggleTheme } from "./theme.js";
import { KnobChoice } from "./knob_choice.js";

/** @param {string} id */
function at(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no #${id}`);
  return found;
}

const USUAL_SPEED = 2;
const SHORT_MS = 1000;

class Page {
  /** @param {import("./types.js").Choices} offered */
  constructor(offered) {
    this.choice = new KnobChoice(offered.knobs);
    this.drawing = new BothArms(at("stages"), at("player"));
    this.panel = new Panel(at("panel"), offered, this.choice, () => void this.ask());
    this.presenter = new Presenter(at("story"), offered.story, (step) => {
      this.choice.step(step);
      this.panel.chosen = "";
      void this.ask(step.speed);
    });
    /** @type {AbortController | null} */
    this.asking = null;
    at("mode").addEventListener("click", () => this.present(!this.presenting));
    at("theme").addEventListener("click", toggleTheme);
    at("cancel").addEventListener("click", () => this.cancel());
    at("keys").addEventListener("click", () => this.help());
    const story = (/** @type {string} */ key) => () => {
      if (this.presenting) this.presenter.keys[/** @type {keyof Presenter["keys"]} */ (key)]();
    };
    onKeys(() => this.presenting, {
      ...playerKeys(this.drawing.player),
      ...Object.fromEntries(Object.keys(this.presenter.keys).map((key) => [key, story(key)])),
      p: () => this.present(!this.presenting),
      t: toggleTheme,
      "?": () => this.help(),
      Escape: () => (this.asking ? this.cancel() : this.present(false)),
    });
  }

  get presenting() {
    return document.body.classList.contains("presenting");
  }

  /** @param {boolean} on */
  present(on) {
    if (on === this.presenting) return;
    document.body.classList.toggle("presenting", on);
    this.drawing.player.onStage = on;
    at("mode").textContent = on ? "Explore" : "Present";
    if (on) this.presenter.go(this.presenter.index);
    else this.panel.draw();
  }

  help() {
    const dialog = /** @type {HTMLDialogElement} */ (at("help"));
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  cancel() {
    this.asking?.abort();
    this.asking = null;
    this._status("Cancelled. The page still shows the earlier arms.");
  }

  /** Shows both arms, one above the other, when both have been run. @param {number} [speed] */
  async ask(speed) {
    const before = this.asking;
    const asking = new AbortController();
    this.asking = asking;
    const { arms, names } = this.choice;
    const said = ["", ""];
    const stages = at("stages");
    const begun = performance.now();
    const wait = window.setTimeout(() => stages.classList.add("stale"), 150);
    try {
      const answers = await Promise.allSettled(arms.map((knobs) => ask(knobs)));
      before?.abort();
      const shown = await Promise.all(
        answers.map((answer, index) => {
          if (answer.status === "rejected") return Promise.reject(answer.reason);
          return result(
            answer.value,
            (news) => {
              said[index] = `${names[index]}: ${news.text}`;
              const wall = ((performance.now() - begun) / 1000).toFixed(0);
              this._status(`${[...new Set(said.filter((text) => text))].join(" · ")} (${wall} s)`, true);
            },
            asking.signal,
          );
        }),
      );
      if (this.asking !== asking) return;
      this.asking = null;
      const longest = Math.max(...shown.map((each) => each.film?.duration_ms ?? 0));
      this.drawing.open(shown, names, speed ?? (longest < SHORT_MS ? 0.1 : USUAL_SPEED));
      this._status("");
      document.body.dataset.experiment = shown.map((each) => `${each.experiment}/${each.run}`).join(" ");
      this.drawing.player.begin();
    } catch (error) {
      if (this.asking !== asking) return;
      asking.abort();
      this.asking = null;
      if (!(error instanceof Refused)) throw error;
      this._status(error.message, false, true);
    } finally {
      window.clearTimeout(wait);
      if (this.asking === null) stages.classList.remove("stale");
    }
  }

  /** @param {string} text @param {boolean} [running] @param {boolean} [wrong] */
  _status(text, running = false, wrong = false) {
    const status = at("status");
    status.classList.toggle("wrong", wrong);
    at("said").textContent = text;
    status.hidden = !text;
    at("cancel").hidden = !running;
  }
}

async function begin() {
  followZoom();
  try {
    const page = new Page(await choices());
    await page.ask();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    at("stages").replaceChildren(element("p", "no-film", error.message));
  }
}

void begin();
