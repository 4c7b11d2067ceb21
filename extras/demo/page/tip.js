// @ts-check
// Says what a word or a shape is: to a pointer that hovers over a word, to a finger that taps, and to the focus, which the
// arrow keys lead from note to note. Where it helps, the film marks what is meant.

import { sentenceOf } from "./glossary.js";
import { element, set, write } from "./svg.js";

/** @typedef {import("./glossary.js").Word} Word */

const HOVERS_MS = 200;
const WORDS = "[data-said]";
const NOTES = `${WORDS}[role="note"]`;

/** What a word means in the drawing of its arm. @type {Partial<Record<Word, string>>} */
const MARKED = {
  front: ".box.front",
  kernel: ".box.socket",
  network: ".box.link",
  client: ".box.client",
  unsent: ".places .fill",
  lowat: ".lowat, .handle",
  bottleneck: ".bottleneck",
  lost: ".lost",
  others: ".fill.others",
  important: ".fill.important",
  exists: ".available",
  waiting: ".wait.important",
  waited: ".wait.important",
  before: ".lanes .fill.others",
  needless: ".lanes .fill.others",
};

/**
 * Lets an element say what a word means. @template {Element} E @param {E} place @param {Word} word
 * @param {Record<string, string>} [names] of the resources @param {string} [first] is said before
 */
export function worded(place, word, names = {}, first = "") {
  set(place, { "data-word": word, "data-said": `${first}${sentenceOf(word, names)}`, role: "note", tabindex: -1 });
  return place;
}

/** Words in the lab's sentences. @type {[RegExp, Word][]} */
const IN_TEXTS = [
  [/needless/, "needless"],
  [/front/, "front"],
  [/TLS record/, "record"],
  [/unsent/, "unsent"],
  [/kernel/, "kernel"],
  [/bottleneck/, "bottleneck"],
  [/propagation/, "travel"],
  [/LOWAT/, "lowat"],
];
const ANY = new RegExp(`(${IN_TEXTS.map(([found]) => found.source).join("|")})`);

/** Returns a text whose known words say what they mean. @param {string} text @param {Record<string, string>} [names] */
export function explaining(text, names) {
  const parts = text.split(ANY).map((part) => {
    const known = IN_TEXTS.find(([found]) => part.replace(found, "") === "" && part);
    return known ? worded(element("span", "word-of", part), known[1], names) : part;
  });
  const place = element("span", "of-words");
  place.append(...parts);
  return place;
}

/** Lets Tab reach the first word of a place; the arrow keys lead on from there. @param {Element} place */
export function reachable(place) {
  const first = place.querySelector(WORDS);
  if (first) set(first, { tabindex: 0 });
}

/** Returns the nearest element that says something, and what it says. @param {EventTarget | null} target @returns {[Element, string] | null} */
function nearest(target) {
  for (let each = target instanceof Element ? target : null; each; each = each.parentElement) {
    const title = [...each.children].find(({ tagName }) => tagName === "title")?.textContent;
    const text = each.getAttribute("data-said") ?? title;
    if (text) return [each, text];
  }
  return null;
}

/** What a word means in the film of its arm. @param {Element} place */
function inArm(place) {
  const marked = MARKED[/** @type {Word} */ (place.getAttribute("data-word"))];
  return marked ? place.closest(".arm")?.querySelectorAll(marked) : null;
}

/**
 * Begins to say what is pointed at, tapped, or has the focus.
 * @param {(place: Element) => Iterable<Element> | null | undefined} marked what to mark then
 */
export function tips(marked = inArm) {
  const tip = element("p", "tip");
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  let timer = 0;
  /** @type {Element | null} */
  let said = null;
  const hide = () => {
    window.clearTimeout(timer);
    tip.hidden = true;
    said = null;
    for (const each of document.querySelectorAll(".pointed")) each.classList.remove("pointed");
  };
  const show = (/** @type {[Element, string]} */ [place, text], /** @type {number} */ x, /** @type {number} */ y) => {
    hide();
    said = place;
    write(tip, text);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(4, Math.min(x - width / 2, window.innerWidth - width - 4));
    Object.assign(tip.style, { left: `${left}px`, top: `${y > height + 24 ? y - height - 20 : y + 24}px` });
    for (const each of marked(place) ?? []) each.classList.add("pointed");
  };
  const showAt = (/** @type {Element} */ place) => {
    const { left, top, width } = place.getBoundingClientRect();
    show([place, place.getAttribute("data-said") ?? ""], left + width / 2, top);
  };
  for (const type of ["pointerdown", "keydown", "input"]) document.addEventListener(type, hide, { capture: true });
  // The focus may have scrolled the page.
  document.addEventListener("scroll", () => (said && said === document.activeElement ? showAt(said) : hide()), { capture: true });
  document.addEventListener("click", (event) => {
    const { target, clientX, clientY, pointerType } = /** @type {PointerEvent} */ (event);
    const word = target instanceof Element && target.closest(WORDS);
    const found = pointerType === "touch" ? nearest(target) : null;
    if (found) show(found, clientX, clientY);
    else if (word) showAt(word);
  });
  document.addEventListener("pointerover", ({ target, clientX, clientY, pointerType }) => {
    const word = pointerType === "mouse" && target instanceof Element && target.closest(WORDS);
    if (!word) return;
    window.clearTimeout(timer);
    timer = window.setTimeout(() => show([word, word.getAttribute("data-said") ?? ""], clientX, clientY), HOVERS_MS);
  });
  document.addEventListener("pointerout", ({ pointerType }) => pointerType === "mouse" && hide());
  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof Element && target.matches(`${WORDS}:focus-visible`)) showAt(target);
  });
  document.addEventListener("focusout", hide);
  // Before the keys of the story.
  document.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = document.activeElement;
    if (!at?.matches(WORDS)) return;
    if (at.matches('[role="button"]') && /^(Enter| )$/.test(event.key)) {
      event.preventDefault();
      showAt(at);
    }
    if (!way || !at.matches(NOTES)) return;
    const seen = [...(at.closest(".arm, main") ?? document).querySelectorAll(NOTES)].filter((each) => each.checkVisibility({ visibilityProperty: true }));
    const next = seen[seen.indexOf(at) + way];
    event.preventDefault();
    event.stopImmediatePropagation();
    if (next instanceof SVGElement || next instanceof HTMLElement) next.focus();
  }, { capture: true });
}
