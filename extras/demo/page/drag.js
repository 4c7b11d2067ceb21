// @ts-check
// Follows a pointer or finger that drags a line. What it has come down on may be replaced meanwhile.

/**
 * @param {PointerEvent} event with which the pointer came down @param {(clientX: number) => void} moved
 * @param {(isLost: boolean) => void} ended isLost: the browser took the finger for one that scrolls, which moves nothing
 */
export function drag(event, moved, ended) {
  event.preventDefault();
  const heard = new AbortController();
  /** @param {string} type @param {(event: PointerEvent) => void} act */
  const on = (type, act) =>
    document.addEventListener(type, (each) => each instanceof PointerEvent && each.pointerId === event.pointerId && act(each), { signal: heard.signal });
  const end = (/** @type {PointerEvent} */ { type }) => {
    heard.abort();
    ended(type === "pointercancel");
  };
  on("pointermove", ({ clientX }) => moved(clientX));
  on("pointerup", end);
  on("pointercancel", end);
}
