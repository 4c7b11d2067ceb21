// @ts-check
// Says what a finger taps on. A pointer that hovers sees the same texts from the browser.

import { element, write } from "./svg.js";

const LASTS_MS = 6000;

/** Returns the text of the shape that is tapped, or of the shapes around it. @param {Element | null} tapped @param {HTMLElement} place */
function textOf(tapped, place) {
  for (let each = tapped; each && each !== place; each = each.parentElement) {
    const title = [...each.children].find(({ tagName }) => tagName === "title");
    if (title) return title.textContent ?? "";
  }
  return "";
}

/** @param {HTMLElement} place the element whose shapes have texts */
export function tips(place) {
  const tip = element("p", "tip");
  tip.setAttribute("role", "status");
  tip.hidden = true;
  let ends = 0;
  const hide = () => (tip.hidden = true);
  for (const type of ["pointerdown", "keydown", "input", "scroll"]) document.addEventListener(type, hide, { capture: true });
  place.addEventListener("click", (event) => {
    const { clientX, clientY, pointerType } = /** @type {PointerEvent} */ (event);
    const text = pointerType === "touch" ? textOf(/** @type {Element} */ (event.target), place) : "";
    if (!text) return;
    write(tip, text);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(4, Math.min(clientX - width / 2, window.innerWidth - width - 4));
    Object.assign(tip.style, { left: `${left}px`, top: `${clientY > height + 24 ? clientY - height - 20 : clientY + 24}px` });
    window.clearTimeout(ends);
    ends = window.setTimeout(hide, LASTS_MS);
  });
  document.body.append(tip);
}
