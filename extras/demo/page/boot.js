// @ts-check
// Starts the page. Browsers drop all requests when the network of their machine changes, also those to this machine; then
// a module is missing, and the page is loaded again, each time after a longer pause: networks change several times in a
// row.

const KEPT = "priolab-starts";
const MOST = 5;
const PAUSE_MS = 300;

import("./first.js").then(
  () => sessionStorage.removeItem(KEPT),
  (error) => {
    const starts = Number(sessionStorage.getItem(KEPT)) + 1;
    if (!(error instanceof TypeError) || starts > MOST) throw error;
    sessionStorage.setItem(KEPT, String(starts));
    setTimeout(() => location.reload(), PAUSE_MS * starts);
  },
);
