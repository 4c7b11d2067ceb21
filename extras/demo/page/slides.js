// @ts-check
// The slides: shows the story from data in the same file, and makes no requests.

import { onKeys, playerKeys } from "./keys.js";
import { Blank, remoteKeys, toggleFullScreen } from "./on_stage.js";
import { Presenter } from "./presenter.js";
import { BothArms } from "./both_arms.js";
import { closingSlide } from "./closing.js";
import { Talk } from "./talk.js";
import { tips } from "./tip.js";
import { followZoom, toggleTheme } from "./theme.js";

/** @typedef {import("./types.js").Slide} Slide */

/** @param {string} id */
function at(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no #${id}`);
  return found;
}

/** Keeps the place in the address, and tells the notes. */
function note() {
  history.replaceState(null, "", `#${presenter.index + 1}`);
  talk.tell();
}

/** @type {{arms: Record<string, import("./types.js").Shown>, slides: Slide[], closing: import("./types.js").Closing}} */
const told = JSON.parse(at("told").textContent ?? "");
const drawing = new BothArms(at("stages"), at("player"));
drawing.player.onStage = true;
const closing = {
  title: told.closing.title,
  open: () => {
    drawing.open([], [], 1);
    document.title = told.closing.title;
    at("stages").replaceChildren(closingSlide(told.closing));
    note();
  },
};
const presenter = new Presenter(at("story"), told.slides, (step) => {
  const { shown, names, speed, stops } = /** @type {Slide} */ (step);
  drawing.player.said = stops;
  document.title = step.title;
  drawing.open(shown.map((key) => told.arms[key]), names, speed);
  note();
}, closing);
const talk = new Talk(() => presenter.notes(told.closing), drawing.player, (key) => blank.press(keys[key]));
followZoom();
tips();
at("theme").addEventListener("click", toggleTheme);
const help = /** @type {HTMLDialogElement} */ (at("help"));
const blank = new Blank(drawing.player);
const black = () => blank.begin();
/** @type {Record<string, () => void>} */
const keys = {
  ...playerKeys(drawing.player),
  ...presenter.keys,
  ...remoteKeys(drawing.player, presenter),
  b: black,
  ".": black,
  t: toggleTheme,
  f: toggleFullScreen,
  s: () => talk.open(),
  "?": () => help.showModal(),
};
onKeys(() => true, keys);
at("notes").addEventListener("click", () => talk.open());
presenter.go(Number(location.hash.slice(1)) - 1 || 0);
