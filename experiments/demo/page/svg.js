// @ts-check
// Makes elements of SVG and HTML.

const NAMESPACE = "http://www.w3.org/2000/svg";

/** @typedef {Record<string, string | number>} Attributes */

/** @param {string} tag @param {Attributes} attributes @param {string} [text] */
export function make(tag, attributes, text) {
  const made = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, tag));
  set(made, attributes);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** @param {SVGElement} element @param {Attributes} attributes */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** @param {SVGElement} element @param {boolean} visible */
export function show(element, visible) {
  element.setAttribute("visibility", visible ? "inherit" : "hidden");
}

/** @param {string} tag @param {string} className @param {string} [text] */
export function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
