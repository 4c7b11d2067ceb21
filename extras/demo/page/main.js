// @ts-check
// The live page: knobs or story on one side, the films on the other.

import { Address } from "./address.js";
import { choices, readShipped } from "./api.js";
import { BothArms } from "./both_arms.js";
import { closingSlide } from "./closing.js";
import { onKeys, playerKeys } from "./keys.js";
import { KnobChoice } from "./knob_choice.js";
import { Blank, Leaving, remoteKeys, toggleFullScreen } from "./on_stage.js";
import { nearest } from "./nearest.js";
import { Panel } from "./panel.js";
import { Pinned } from "./pinned.js";
import { Presenter } from "./presenter.js";
import { known, knowns, Refused } from "./seen.js";
import { Stage } from "./stage.js";
import { Stops } from "./stops.js";
import { element, write } from "./svg.js";
import { Talk } from "./talk.js";
import { explaining, reachable, tips } from "./tip.js";
import { followZoom, toggleTheme } from "./theme.js";
import { Wishes } from "./wishes.js";
import { bytesOf } from "./words.js";

/** @typedef {import("./address.js").PageState} PageState */

/** @param {string} id */
function at(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no #${id}`);
  return found;
}

/** The time after which a slider that has stopped moving has been set. */
const SETTLED_MS = 300;
/** The time for which an outcome is told that needs no answer. */
const TOLD_MS = 3000;

class Page {
  /** @param {import("./types.js").Choices} offered */
  constructor(offered) {
    this.offered = offered;
    this.choice = new KnobChoice(offered.knobs);
    this.drawing = new BothArms(at("stages"), at("player"));
    this.drawing.limits = {
      limits: (arm) => this._limits(arm),
      name: (value) => this.choice.nameOf("LOWAT", value),
      move: (arm, value) => this._limit(arm, value),
      held: false,
    };
    const about = at("comparison").lastElementChild;
    about?.replaceChildren(explaining(about.textContent ?? ""));
    reachable(at("comparison"));
    this.pinned = new Pinned(at("pinned"), this.drawing);
    this.stage = new Stage(at("stages"), this.drawing, at("mark"), (names) => this._compares(names));
    this.wishes = new Wishes(
      this.stage,
      (status) => this._tell(status),
      (text) => this._explain(text),
      ({ state }) => this._take(state),
      () => this._settled(),
    );
    this.panel = new Panel(at("panel"), this.pinned.place, offered, this.choice, () => this.want(), () => this._moving());
    const closing = { title: offered.closing.title, open: () => this.want() };
    this.presenter = new Presenter(at("story"), offered.story, (step) => this._step(step), closing);
    this.stops = new Stops(
      offered.lowats,
      () => (this.choice.compare === "LOWAT" ? [this.choice.arms[1]] : [this.choice.arms[1], this.choice.arms[0]]),
      () => offered.ahead && !this.presenting && this.wishes.isIdle,
      () => this.panel.showStops(this.stops.all),
    );
    this.address = new Address(() => this.state, this.choice.defaults, offered.story.length);
    this._settling = this._telling = 0;
    this.blank = new Blank(this.drawing.player);
    this.leaving = new Leaving(() => this.present(false));
    /** @type {Record<string, () => void>} */
    this.keys = this._keys();
    this.talk = new Talk(() => this._notes(), this.drawing.player, (key) => this.blank.press(this.keys[key]));
    onKeys(() => this.presenting, this.keys);
    at("mode").addEventListener("click", () => this.present(!this.presenting));
    at("theme").addEventListener("click", toggleTheme);
    at("cancel").addEventListener("click", () => this.cancel());
    at("own-back").addEventListener("click", () => this.presenter.go(this.presenter.index));
    at("keys").addEventListener("click", () => this.help());
    at("notes").addEventListener("click", () => this.talk.open());
    // The printed address, opened where the page is open already: it may have another token.
    window.addEventListener("hashchange", () => location.hash && location.reload());
    window.addEventListener("popstate", () => this.restore(this.address.read()));
    const { player } = this.drawing;
    player.changed.add(() => this.stage.tMs !== null && this.address.note(player.playing));
  }

  _keys() {
    const { player } = this.drawing;
    const onStage = { ...this.presenter.keys, ...remoteKeys(player, this.presenter), b: () => this.blank.begin(), ".": () => this.blank.begin() };
    return {
      ...playerKeys(player),
      ...Object.fromEntries(Object.entries(onStage).map(([key, act]) => [key, () => this.presenting && act()])),
      p: () => this.present(!this.presenting),
      s: () => this.talk.open(),
      t: toggleTheme,
      f: toggleFullScreen,
      F5: () => this.present(true),
      "?": () => this.help(),
      Escape: () => (this.wishes.isIdle ? this.presenting && this.leaving.ask() : this.cancel()),
    };
  }

  get presenting() {
    return document.body.classList.contains("presenting");
  }

  /** @returns {PageState} */
  get state() {
    const { compare, values, shared } = this.choice;
    return {
      step: this.presenting ? this.presenter.index : null,
      scenario: this.panel.chosen === "maps" ? "" : this.panel.chosen,
      chosen: { compare, values: [...values], shared: { ...shared } },
      tMs: this.stage.tMs ?? this.wishes.asking?.wish.tMs ?? null,
      speed: this.stage.byHand.speed,
    };
  }

  /** @param {boolean} on */
  present(on) {
    if (on === this.presenting) return;
    this._mode(on);
    if (on) this.presenter.go(this.presenter.index);
    else this.want();
  }

  /** @param {boolean} on */
  _mode(on) {
    document.body.classList.toggle("presenting", on);
    this.drawing.player.onStage = on;
    // A control that is no longer seen takes no keys.
    if (on && document.activeElement instanceof HTMLElement && !document.activeElement.checkVisibility()) document.activeElement.blur();
    at("mode").textContent = on ? "Explore" : "Present";
    if (!on) this.panel.draw();
  }

  /** @param {import("./types.js").StepOffer} step */
  _step(step) {
    this.choice.step(step);
    this.panel.chosen = "";
    this.want();
  }

  help() {
    const dialog = /** @type {HTMLDialogElement} */ (at("help"));
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  /** Shows what knobs or step ask for. @param {{entry?: boolean, tMs?: number | null}} [how] entry: false for no new entry of the history */
  want({ entry = true, tMs = null } = {}) {
    window.clearTimeout(this._settling);
    if (this.presenting && !this.presenter.step) {
      this.wishes.rest();
      this.stage.clear([closingSlide(this.offered.closing)]);
    } else {
      this.wishes.want(this._wish({ tMs }));
    }
    this._own();
    if (!this.wishes.isIdle) this.stops.yield();
    if (entry) this.address.push();
    this.panel.showStops(this.stops.all);
    this.stops.look();
    this.talk.tell();
  }

  /** @param {{tMs?: number | null, dragged?: boolean}} how @returns {import("./wishes.js").Wish} */
  _wish({ tMs = null, dragged = false }) {
    const { arms, names } = this.choice;
    const { speed = null, stops = null } = (this.presenting && this.presenter.step) || {};
    return { key: JSON.stringify([arms, names]), arms, names, speed, stops, tMs, dragged, state: { ...this.state, tMs: null } };
  }

  /** The values of LOWAT that can be shown at once in an arm. @param {number} arm @returns {import("./grip.js").Limit[]} */
  _limits(arm) {
    const knobs = this.choice.arms[arm];
    return this.offered.lowats.flatMap((value) => {
      const bytes = bytesOf(value);
      return bytes !== null && known({ ...knobs, LOWAT: value }) ? [{ value, bytes }] : [];
    });
  }

  /** The line of LOWAT has been moved in an arm. @param {number} arm @param {string} value */
  _limit(arm, value) {
    this.choice.set("LOWAT", value, arm === 0 ? 0 : 1);
    this.panel.chosen = "";
    this.panel.draw();
    this._moving();
  }

  /** Says above a step's title that its films have another LOWAT than the step, if they do. */
  _own() {
    const { step } = this.presenter;
    const own = this.presenting && step ? this.choice.ownOf(step) : [];
    const name = (/** @type {string} */ value) => this.choice.nameOf("LOWAT", value);
    at("own").hidden = !own.length;
    write(at("own-said"), `Your value: ${own.map(({ place, value, told }) => `${place}${name(value)} in place of ${name(told)}`).join("; ")}.`);
  }

  /** A slider moves: shows a film of its value if there is one. */
  _moving() {
    this.wishes.preview(this._wish({ dragged: true }));
    this._own();
    window.clearTimeout(this._settling);
    this._settling = window.setTimeout(() => this.want(), SETTLED_MS);
  }

  /** Shows the state of an address. @param {PageState} state */
  restore(state) {
    this._take(state);
    if (state.step !== null) this.choice.step(this.offered.story[Math.min(state.step, this.offered.story.length - 1)]);
    if (state.speed !== null) this.stage.byHand = { speed: state.speed, usual: null };
    const said = [(state.unknown ?? []).length ? `Unknown in this address: ${state.unknown?.join(", ")}.` : "", this._nearest()];
    this.want({ entry: false, tMs: state.tMs });
    this.address.last = this.address.text;
    if (said.some((text) => text)) this._tell({ text: said.join(" ").trim(), stays: true });
  }

  /** In a published file chooses the nearest films if the wanted ones are not there; returns a text that says so. */
  _nearest() {
    const { arms, compare } = this.choice;
    if (!this.offered.published || arms.every(known)) return "";
    const found = nearest(arms, compare, knowns());
    if (!found) return "";
    this.choice.step(found);
    this.panel.chosen = "";
    this.panel.draw();
    const missed = arms.flatMap((wanted, arm) => Object.keys(wanted).filter((name) => wanted[name] !== this.choice.arms[arm][name]).map((name) => `${name}=${wanted[name]}`));
    return `This file has no film of ${[...new Set(missed)].join(", ")}; these are the nearest that it has.`;
  }

  /** Gives up what is being run, and shows what was shown before. */
  cancel() {
    if (this.wishes.isIdle) return;
    window.clearTimeout(this._settling);
    this.wishes.cancel();
    this.address.push();
  }

  /** Sets the knobs, or the step, to a state. @param {PageState} state */
  _take(state) {
    const { compare, values, shared } = state.chosen;
    Object.assign(this.choice, { compare, values: [...values], shared: { ...shared } });
    this.panel.chosen = state.scenario || (this._isUsual ? "maps" : "");
    if (state.step !== null) {
      this.panel.chosen = "";
      this.presenter.draw(state.step);
    }
    this._mode(state.step !== null);
    this._own();
  }

  get _isUsual() {
    const { compare, values, shared, defaults } = this.choice;
    return compare === "LOWAT" && values[0] === "none" && values[1] === defaults.LOWAT && !Object.keys(shared).length;
  }

  _settled() {
    this.panel.showStops(this.stops.all);
    this.stops.look();
  }

  /** Says in place of the films why there are none. @param {string} text */
  _explain(text) {
    const { last } = this.wishes;
    this.stage.explain(`${text} So there is no film of these knobs.`.replace(/([^.?])( So there)/, "$1.$2"), {
      "Try again": () => this.want({ entry: false }),
      ...(last
        ? { "Back to the earlier arms": () => (this.wishes.back({ text: "" }), this.address.push()) }
        : { "Show the usual films": () => (this.restore(this.address.usual), this.address.push()) }),
    });
  }

  /** @returns {import("./talk.js").Notes} */
  _notes() {
    if (!this.presenting) {
      const title = this.choice.names.join(" / ");
      return { step: "exploring", title, say: [], minute: null, until: null, next: "", presenting: false };
    }
    return this.presenter.notes(this.offered.closing);
  }

  /** Says above the films what is compared, and how to go on. @param {readonly string[]} names */
  _compares([above, below]) {
    const place = at("comparison");
    place.hidden = above === undefined;
    this.pinned.name([above, below], above === this.choice.nameOf("LOWAT", "none"));
    write(at("pair"), `Above: ${above}. Below: ${below}. `);
  }

  /** @param {import("./wishes.js").Status} status */
  _tell({ text, running = false, wrong = false, stays = false }) {
    const status = at("status");
    status.classList.toggle("wrong", wrong);
    write(at("said"), text);
    status.hidden = !text;
    at("cancel").hidden = !running;
    window.clearTimeout(this._telling);
    if (text && !running && !wrong && !stays) this._telling = window.setTimeout(() => this._tell({ text: "" }), TOLD_MS);
  }
}

async function begin() {
  followZoom();
  tips();
  try {
    const [offered] = await Promise.all([choices(), readShipped()]);
    const page = new Page(offered);
    page.restore(page.address.read());
    page.address.replace();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    at("stages").replaceChildren(element("p", "no-film", error.message));
  }
}

void begin();
