// @ts-check
// Keyboard shortcuts. They have no effect while the user types or chooses a value.

const OF_SLIDERS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

/** Keys of a presenter's remote; they work wherever the focus is. */
const OF_STORIES = ["PageUp", "PageDown"];

/** Keys that no control needs. */
const OF_NOBODY = ["Escape", "F5"];

/** @param {Element | null} target @param {string} key @param {boolean} presenting */
function takes(target, key, presenting) {
  if (OF_NOBODY.includes(key) || (presenting && OF_STORIES.includes(key))) return false;
  if (target instanceof HTMLInputElement && target.type === "range") return OF_SLIDERS.includes(key);
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}

/**
 * @param {() => boolean} presenting
 * @param {Record<string, () => void>} actions by KeyboardEvent.key
 */
export function onKeys(presenting, actions) {
  document.addEventListener("keydown", (event) => {
    // An open dialog handles keys itself. The key that starts the story does not load the page again.
    if (document.querySelector("dialog[open]")) {
      if (event.key === "F5") event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || takes(document.activeElement, event.key, presenting())) {
      return;
    }
    // These keys press a focused button.
    if ((event.key === " " || event.key === "Enter") && document.activeElement instanceof HTMLButtonElement) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** @param {import("./player.js").Player} player */
export function playerKeys(player) {
  const step = (/** @type {number} */ part) => () => {
    player.pause();
    player.seek(player.tMs + part * player.durationMs);
  };
  return {
    " ": () => player.toggle(),
    ",": step(-0.01),
    ";": step(0.01),
    0: () => player.seek(0),
    e: () => player.seek(player.durationMs),
    n: () => player.jump(1),
    N: () => player.jump(-1),
    "+": () => player.setSpeed(player.speed * 1.5),
    "-": () => player.setSpeed(player.speed / 1.5),
  };
}
