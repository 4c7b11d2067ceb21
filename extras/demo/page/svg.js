// @ts-check
// Makes and changes elements of SVG and HTML. What an element has already is not written again: a browser would lay the
// element out and paint it again.

const NAMESPACE = "http://www.w3.org/2000/svg";

/** @typedef {Record<string, string | number>} Attributes */

/** @param {string} tag @param {Attributes} attributes @param {string} [text] */
export function make(tag, attributes, text) {
  const made = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, tag));
  set(made, attributes);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Says what a shape is to whoever points at it. @param {SVGElement} element @param {string} text */
export function explained(element, text) {
  element.prepend(make("title", {}, text));
  return element;
}

/** @param {Element} element @param {Attributes} attributes */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** @param {SVGElement} element @param {boolean} visible */
export function show(element, visible) {
  set(element, { visibility: visible ? "inherit" : "hidden" });
}

/** @param {Element} element @param {string} text */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {string} tag @param {string} className @param {string} [text] */
export function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
