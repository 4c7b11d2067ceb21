// @ts-check
// Says in one sentence what a word means, beside it, when it is tapped, focused or pointed at, and marks its place in the
// figure.

import { element } from "../svg.js";

const MARGIN = 8;

/** @param {HTMLElement} article @param {() => Record<string, string>} sentences */
export function explainWords(article, sentences) {
  const saying = element("p", "saying");
  saying.setAttribute("role", "status");
  saying.hidden = true;
  /** @type {HTMLElement | null} */
  let said = null;

  function hide() {
    saying.hidden = true;
    said?.setAttribute("aria-expanded", "false");
    for (const each of article.querySelectorAll(".marked")) each.classList.remove("marked");
    said = null;
  }

  /** @param {HTMLElement} word */
  function say(word) {
    if (said === word) return;
    hide();
    said = word;
    const name = word.dataset.word ?? "";
    saying.textContent = sentences()[name] ?? "";
    saying.hidden = false;
    word.setAttribute("aria-expanded", "true");
    for (const each of word.closest("section")?.querySelectorAll(`.of-${CSS.escape(name)}`) ?? []) each.classList.add("marked");
    if (window.matchMedia("(max-width: 599px)").matches) return;
    const box = word.getBoundingClientRect();
    const { width, height } = saying.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    const left = Math.max(MARGIN, Math.min(box.left, room - width - MARGIN));
    const below = box.bottom + height + MARGIN < window.innerHeight;
    saying.style.left = `${left}px`;
    saying.style.top = `${below ? box.bottom + 4 : Math.max(MARGIN, box.top - height - 4)}px`;
  }

  const wordOf = (/** @type {Event} */ { target }) => (target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest(".word")) : null);
  article.addEventListener("click", (event) => {
    const word = wordOf(event);
    if (word) say(word);
    else hide();
  });
  article.addEventListener("focusin", (event) => {
    const word = wordOf(event);
    if (word?.matches(":focus-visible")) say(word);
  });
  article.addEventListener("focusout", hide);
  article.addEventListener("pointerover", (event) => {
    const word = event.pointerType === "mouse" ? wordOf(event) : null;
    if (word) say(word);
  });
  article.addEventListener("pointerout", (event) => {
    if (event.pointerType === "mouse" && wordOf(event) && wordOf(event) !== document.activeElement) hide();
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  window.addEventListener("scroll", hide, { passive: true });
  article.append(saying);
}
