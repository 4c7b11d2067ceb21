// @ts-check
// The closing slide: what to remember, and where the audience finds the published file. It shows no film and no figures.

import { element } from "./svg.js";

/** @param {import("./types.js").Closing} closing */
export function closingSlide(closing) {
  const slide = element("section", "closing");
  slide.setAttribute("aria-label", "closing slide");
  const list = element("ol", "closing-points");
  list.append(...closing.points.map((point) => element("li", "", point)));
  slide.append(list);
  if (closing.address && closing.qr) {
    const link = /** @type {HTMLAnchorElement} */ (element("a", "", closing.address));
    const code = /** @type {HTMLImageElement} */ (element("img", ""));
    Object.assign(code, { src: closing.qr, alt: `QR code of ${closing.address}` });
    Object.assign(link, { href: closing.address, target: "_blank", rel: "noreferrer" });
    const words = element("figcaption", "", "Move LOWAT yourself: ");
    words.append(link);
    const figure = element("figure", "closing-address");
    figure.append(code, words);
    slide.append(figure);
  }
  return slide;
}
