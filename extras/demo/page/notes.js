// @ts-check
// The window with the speaker's notes: what is shown, what to say, what comes next, and a timer. It calls no server.

import { CHANNEL } from "./talk.js";

/** @param {string} id */
function at(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no #${id}`);
  return found;
}

/** The keys that the page obeys. */
const SENT = ["ArrowRight", "ArrowLeft", "PageDown", "PageUp", "Home", "End", " "];
const BEGUN = "priolab-talk-begun";
const PASSED = "priolab-talk-passed";

/** The timer goes on when this window is loaded again. */
class Timer {
  constructor() {
    this.begunMs = Number(sessionStorage.getItem(BEGUN));
    this.passedMs = Number(sessionStorage.getItem(PASSED));
  }

  get ms() {
    return this.passedMs + (this.begunMs ? Date.now() - this.begunMs : 0);
  }

  toggle() {
    this._keep(this.begunMs ? 0 : Date.now(), this.ms);
  }

  reset() {
    this._keep(0, 0);
  }

  /** @param {number} begunMs @param {number} passedMs */
  _keep(begunMs, passedMs) {
    this.begunMs = begunMs;
    this.passedMs = passedMs;
    sessionStorage.setItem(BEGUN, String(begunMs));
    sessionStorage.setItem(PASSED, String(passedMs));
    show();
  }
}

const timer = new Timer();
const channel = new BroadcastChannel(CHANNEL);
let shownStep = "";

function show() {
  const seconds = Math.floor(timer.ms / 1000);
  at("timer").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  at("run").textContent = timer.begunMs ? "Pause the timer" : "Start the timer";
}

channel.addEventListener("message", ({ data }) => {
  if (!data.notes) return;
  const { step, title, say, minute, next, presenting } = data.notes;
  at("step").textContent = step;
  at("title").textContent = title;
  at("say").textContent = say;
  at("planned").textContent = minute ? `planned for ${minute}` : "not in the talk of five minutes";
  at("next").textContent = next ? `Next: ${next}` : "";
  at("planned").hidden = !presenting;
  // The first step that follows another one starts the timer.
  if (presenting && shownStep && step !== shownStep && !timer.ms) timer.toggle();
  shownStep = presenting ? step : "";
});
at("run").addEventListener("click", () => timer.toggle());
at("reset").addEventListener("click", () => timer.reset());
for (const [id, key] of [["back", "ArrowLeft"], ["forward", "ArrowRight"]]) {
  at(id).addEventListener("click", () => channel.postMessage({ key }));
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !SENT.includes(event.key)) return;
  if (event.key === " " && document.activeElement instanceof HTMLButtonElement) return;
  event.preventDefault();
  channel.postMessage({ key: event.key });
});
setInterval(show, 250);
show();
channel.postMessage({ ask: true });
