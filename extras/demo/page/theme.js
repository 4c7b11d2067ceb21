// @ts-check
// Light or dark theme: the system's setting, until the user chooses. And the browser's zoom: type on stage has a part of
// the window's height, which alone would undo the zoom.

/** Screens have a whole multiple of this many device pixels per pixel of CSS, unless the browser zooms. */
const STEP = 0.25;

export function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : window.matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

/** Returns by how much the browser enlarges the page, 1 if it is unknown. */
function zoom() {
  const found = window.outerWidth / window.innerWidth;
  // Beside the page there may be a sidebar; then the screen would have an odd resolution.
  const screen = window.devicePixelRatio / found;
  const isPlausible = screen > 0.95 && Math.abs(screen / STEP - Math.round(screen / STEP)) < 0.1;
  return found > 1.05 && isPlausible ? Math.min(4, found) : 1;
}

/** Keeps --zoom equal to the browser's zoom. */
export function followZoom() {
  const follow = () => document.documentElement.style.setProperty("--zoom", zoom().toFixed(3));
  window.addEventListener("resize", follow);
  follow();
}
