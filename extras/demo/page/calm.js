// @ts-check
// Whether the visitor's system asks for less motion: then nothing moves that the visitor has not started.

const ASKED = window.matchMedia("(prefers-reduced-motion: reduce)");

export function isCalm() {
  return ASKED.matches;
}
