// @ts-check
// Fades from one recorded film to another: the earlier shapes, without texts and controls, vanish over the new ones. Invents
// nothing. While a fade lasts, the next films appear at once: whoever drags fast sees no fade.

import { isCalm } from "./calm.js";

const FADE_MS = 220;

/** @param {HTMLElement} place @param {() => void} change replaces the drawings in the place */
export function fade(place, change) {
  const before = isCalm() || document.querySelector(".fading") ? [] : [...place.querySelectorAll("svg.stage")].map((each) => ({ copy: each.cloneNode(true), box: each.getBoundingClientRect() }));
  change();
  for (const { copy, box } of before) {
    if (!(copy instanceof SVGElement)) continue;
    for (const part of copy.querySelectorAll("text, .grip, .grip-row")) part.remove();
    copy.classList.add("fading");
    copy.removeAttribute("aria-label");
    copy.setAttribute("aria-hidden", "true");
    const { left, top, width, height } = box;
    Object.assign(copy.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    document.body.append(copy);
    copy.animate([{ opacity: 1 }, { opacity: 0 }], FADE_MS).finished.finally(() => copy.remove());
  }
}
