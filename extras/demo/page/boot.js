// @ts-check
// Starts the page. Browsers drop all requests when the network of their machine changes, also those to this machine; then
// a module or a style sheet is missing, and the page is loaded again, each time after a longer pause: networks change
// several times in a row. The server puts this module into the page, so it comes with it.

const KEPT = "priolab-starts";
const MOST = 10;
const PAUSE_MS = 300;

/** @param {Error} error */
function again(error) {
  const starts = Number(sessionStorage.getItem(KEPT)) + 1;
  const isOver = !(error instanceof TypeError) || starts > MOST;
  sessionStorage.setItem(KEPT, isOver ? "0" : String(starts));
  if (isOver) throw error;
  setTimeout(() => location.reload(), PAUSE_MS * starts);
}

/** @type {NodeListOf<HTMLLinkElement>} */
const sheets = document.querySelectorAll("link[rel=stylesheet]");
const lost = [...sheets].find((each) => !each.sheet);
if (lost) again(new TypeError(`${lost.href} is missing`));
else import("./first.js").then(() => sessionStorage.removeItem(KEPT), again);
