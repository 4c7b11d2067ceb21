// @ts-check
// The closing slide: what to remember. It shows no film and no figures.

import { element } from "./svg.js";

/** @param {import("./types.js").Closing} closing */
export function closingSlide(closing) {
  const slide = element("section", "closing");
  slide.setAttribute("aria-label", "closing slide");
  const list = element("ol", "closing-points");
  list.append(...closing.points.map((point) => element("li", "", point)));
  slide.append(list);
  return slide;
}
