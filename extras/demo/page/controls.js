// @ts-check
// The player's controls: buttons, position with chapter marks, clock, speed. Below: why the film stands or how fast it
// runs, the last chapter mark, and the facts of the link.

import { isCalm } from "./calm.js";
import { FASTEST, SLOWEST } from "./player.js";
import { element, set, write } from "./svg.js";
import { reachable, worded } from "./tip.js";
import { pace, times } from "./words.js";

const SPAN = Math.log(FASTEST / SLOWEST);

/** @param {string} className @param {string} text @param {() => void} act */
function button(className, text, act) {
  const made = /** @type {HTMLButtonElement} */ (element("button", className, text));
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** @param {string} className @param {string} label @param {Record<string, string>} range */
function slider(className, label, range) {
  const made = document.createElement("input");
  Object.assign(made, { type: "range", step: "1", value: "0", className, ...range });
  made.setAttribute("aria-label", label);
  return made;
}

/** Says why the film stands, or how fast it runs; the last chapter mark follows. @param {import("./player.js").Player} player */
function state(player) {
  const { playing, tMs, stops, durationMs, chapter } = player;
  if (!durationMs) return "";
  if (!playing && player.onStage && stops.some((mark) => mark.tMs === tMs)) return "stopped at:";
  const fast = player.isSlow ? `slow motion, ${times(player.pace)}` : pace(player.pace);
  if (!chapter) return playing || !tMs ? `plays at ${fast}` : "paused";
  return `${playing ? fast : "paused"}, after:`;
}

/** Says on stage how a film that stands goes on, and to calm visitors why it has not begun. @param {import("./player.js").Player} player */
function goesOn({ playing, onStage, durationMs, tMs }) {
  if (!durationMs || playing) return "";
  if (onStage) return "Page Down goes on";
  return isCalm() && !tMs ? "paused: your system asks for less motion" : "";
}

/**
 * Fills the bar, and keeps it up to date. Returns the element for the facts of the link.
 * @param {HTMLElement} bar @param {import("./player.js").Player} player
 */
export function controls(bar, player) {
  const play = button("play", "Play", () => player.toggle());
  const next = button("next-mark", "Next mark", () => player.jump(1));
  const scrub = slider("scrub", "position in the film", { min: "0", max: "1000" });
  const speed = slider("speed", "speed of the film", { min: "0", max: "100" });
  const [clock, chapter, factor, told, hint] = ["clock", "chapter", "factor", "told", "hint"].map((name) => element("output", name));
  hint.id = "player-hint";
  set(play, { "aria-describedby": hint.id });
  const link = worded(element("span", "link-facts"), "link");
  const words = element("p", "player-words");
  words.append(told, chapter, hint, link);
  reachable(words);
  const track = element("div", "track");
  const ticks = element("div", "ticks");
  track.append(ticks, scrub);
  scrub.addEventListener("input", () => {
    const wanted = (Number(scrub.value) / 1000) * player.durationMs;
    player.pause();
    player.seek(wanted);
  });
  speed.addEventListener("input", () => player.setSpeed(SLOWEST * Math.exp((Number(speed.value) / 100) * SPAN)));
  /** @type {readonly unknown[] | null} */
  let drawn = null;
  player.changed.add(() => {
    const part = (/** @type {number} */ tMs) => (player.durationMs ? tMs / player.durationMs : 0);
    if (drawn !== player.marks) {
      drawn = player.marks;
      ticks.replaceChildren(
        ...player.marks.map((mark) => {
          const tick = element("span", "tick-mark");
          tick.style.left = `${100 * part(mark.tMs)}%`;
          tick.title = mark.text;
          return tick;
        }),
      );
    }
    write(play, player.playing ? "Pause" : "Play");
    scrub.value = String(Math.round(1000 * part(player.tMs)));
    write(clock, `${(player.tMs / 1000).toFixed(2)} s`);
    write(chapter, player.chapter);
    write(told, state(player));
    write(hint, goesOn(player));
    hint.classList.toggle("calm", !player.onStage && hint.textContent !== "");
    set(scrub, { "aria-valuetext": `${clock.textContent} ${player.chapter}`.trim() });
    speed.value = String(Math.round((Math.log(player.speed / SLOWEST) / SPAN) * 100));
    write(factor, times(player.speed));
    set(speed, { "aria-valuetext": `${factor.textContent} real time` });
  });
  bar.append(play, next, track, clock, speed, factor, words);
  return link;
}
