// @ts-check
// The window with the speaker's notes: what is shown, what to say now and at the next marks of the film, and a timer. It
// calls no server.

import { CHANNEL } from "./talk.js";

/** @param {string} id */
function at(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no #${id}`);
  return found;
}

/** The keys that this window needs itself; the page gets all others. */
const KEPT = ["Tab", "Enter", "Shift", "CapsLock", "F11", "F12"];
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

/** What to say, sentence by sentence. @type {import("./types.js").Said[]} */
let sentences = [];
/** The marks that the film has passed. @type {string[]} */
let passed = [];

/** Shows which sentences fit the film's last mark, and at which marks the later ones fit. */
function say() {
  const reached = sentences.map(({ at: mark }) => mark === "start" || passed.includes(mark));
  const now = sentences.findLast((_, index) => reached[index])?.at;
  [...at("say").children].forEach((part, index) => {
    part.classList.toggle("now", sentences[index].at === now);
    part.classList.toggle("later", !reached[index]);
  });
}

/** @param {import("./types.js").Said[]} all */
function showSentences(all) {
  sentences = all;
  at("say").replaceChildren(
    ...all.map(({ words, at: mark }, index) => {
      const part = document.createElement("span");
      part.textContent = `${words} `;
      if (mark !== (all[index - 1]?.at ?? "start")) part.dataset.at = mark;
      return part;
    }),
  );
  say();
}

const timer = new Timer();
const channel = new BroadcastChannel(CHANNEL);
let shownStep = "";

/** @param {number} seconds */
function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** @param {string | null} minute */
function secondsOf(minute) {
  const [whole, rest] = (minute ?? "").split(":").map(Number);
  return minute ? 60 * whole + rest : null;
}

/** When the shown step begins and ends by the plan, in seconds. */
let plan = { from: /** @type {number | null} */ (null), until: /** @type {number | null} */ (null) };

/** Compares the timer with the plan. @param {number} seconds */
function late(seconds) {
  if (!timer.ms || plan.from === null) return "";
  if (seconds < plan.from) return `${minutes(plan.from - seconds)} early`;
  return plan.until !== null && seconds > plan.until ? `${minutes(seconds - plan.until)} late` : "in time";
}

function show() {
  const seconds = Math.floor(timer.ms / 1000);
  at("timer").textContent = minutes(seconds);
  at("late").textContent = late(seconds);
  at("run").textContent = timer.begunMs ? "Pause the timer" : "Start the timer";
}

channel.addEventListener("message", ({ data }) => {
  if (data.film) {
    const { tMs, stop, playing } = data.film;
    passed = data.film.passed;
    say();
    const where = stop ? `next stop: ${stop.text} at ${(stop.tMs / 1000).toFixed(2)} s` : "at its end";
    const does = playing ? "plays" : passed.length ? `stands after: ${passed[passed.length - 1]}` : "stands";
    at("film").textContent = `film ${(tMs / 1000).toFixed(2)} s, ${does}; ${where}`;
  }
  if (!data.notes) return;
  const { step, title, minute, until, next, presenting } = data.notes;
  plan = { from: secondsOf(minute), until: secondsOf(until) };
  at("step").textContent = step;
  at("title").textContent = title;
  showSentences(data.notes.say);
  at("planned").textContent = minute ? `planned for ${minute}${until ? ` to ${until}` : ""}` : "not in the talk of five minutes";
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
  if (event.ctrlKey || event.metaKey || event.altKey || KEPT.includes(event.key)) return;
  if (event.key === " " && document.activeElement instanceof HTMLButtonElement) return;
  event.preventDefault();
  channel.postMessage({ key: event.key });
});
setInterval(show, 250);
show();
channel.postMessage({ ask: true });
