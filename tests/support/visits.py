"""A visit to the demo's page in a real browser: finds every error, and reads what the page shows."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Literal
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, Error, Page, Playwright, Request, ViewportSize, expect
from playwright.sync_api import TimeoutError as Late

RUN_MS = 120_000
"""The longest wait for an arm; `make bench` measures how long an arm takes."""

_EXPECT_MS = 20_000
"""The longest wait of `expect`. With Playwright's own 5 s a page that loads on a busy machine was too slow once."""

_LOOK_MS = 30
"""The time between two looks at a condition. Looks at each frame would make the browser draw frames without changes."""

_SAID = """
addEventListener("DOMContentLoaded", () => {
  window.said = [];
  const place = document.getElementById("said");
  if (!place) return;
  const note = () => place.textContent && window.said.push(place.textContent);
  new MutationObserver(note).observe(place, { childList: true, characterData: true, subtree: true });
});
"""

_TEXTS = """
const textsOf = () => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const owner = node.parentElement;
    if (!node.textContent.trim() || !owner.checkVisibility({ visibilityProperty: true })) continue;
    if (owner.closest("script, style, select, #panel")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const svg = owner.closest("svg");
    const scale = svg ? owner.getScreenCTM().a : 1;
    const fontPx = parseFloat(getComputedStyle(owner).fontSize) * scale;
    for (const box of svg ? [owner.getBoundingClientRect()] : range.getClientRects()) {
      const { left, right, top, bottom } = box;
      if (right > left) texts.push({ text: node.textContent, svg: Boolean(svg), left, right, top, bottom, fontPx });
    }
  }
  return texts;
};
"""

_COVERED = """
const coveredTexts = () => {
  const holds = (shape, x, y) =>
    shape.isPointInFill(new DOMPoint(x, y).matrixTransform(shape.getScreenCTM().inverse()));
  const shows = (shape, x, y) => {
    const clip = /#([^")]+)/.exec(shape.getAttribute("clip-path") ?? "");
    return holds(shape, x, y) && (!clip || holds(document.getElementById(clip[1]).firstElementChild, x, y));
  };
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const seen = (each) => each.checkVisibility({ visibilityProperty: true });
    const shapes = [...svg.querySelectorAll("rect, path, circle")]
      .filter((each) => seen(each) && !each.closest(".box, .lid, .ticket, .screen, clipPath"))
      .filter((each) => !/^none$|, 0\\)$/.test(getComputedStyle(each).fill));
    for (const text of [...svg.querySelectorAll("text")].filter(seen)) {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      for (const shape of shapes) {
        const box = shape.getBoundingClientRect();
        if (box.left >= right || box.right <= left || box.top >= bottom || box.bottom <= top) continue;
        let isCovered = false;
        for (let x = left + 1; x < right; x += 3) {
          for (const part of [0.2, 0.5, 0.8]) isCovered ||= shows(shape, x, top + part * (bottom - top));
        }
        if (isCovered) found.push(`over a shape: ${text.textContent} | ${shape.getAttribute("class")}`);
      }
    }
  }
  return found;
};
"""

_CUT = """
const cutOff = () => [...document.querySelectorAll("main *, #top *")]
  .filter((each) => each instanceof HTMLElement && each.checkVisibility())
  .filter((each) => getComputedStyle(each).overflowX !== "visible")
  .filter((each) => each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1)
  .map((each) => `${each.tagName}.${each.className}: ${each.textContent}`);
"""

_LOOKS = f"""
async (parts) => {{
  {_TEXTS}
  {_CUT}
  {_COVERED}
  const looks = [];
  for (const part of parts) {{
    if (part !== null) {{
      const scrub = document.querySelector(".scrub");
      scrub.value = String(Math.round(1000 * part));
      scrub.dispatchEvent(new Event("input", {{ bubbles: true }}));
      scrub.dispatchEvent(new Event("change", {{ bubbles: true }}));
      await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    }}
    looks.push({{ texts: textsOf(), cut: cutOff(), covered: coveredTexts() }});
  }}
  return looks;
}}
"""
"""Moves the film to each of its parts, and returns the texts that are shown then. null: where the film is."""

_SHOWN = """
() => document.body?.dataset.experiment && document.querySelector("#stages:not(.stale)")
  && document.getElementById("status")?.checkVisibility() === false
"""

_PLAYS_OR_ENDED = """
() => document.querySelector(".play")?.textContent === "Pause" || document.querySelector(".scrub")?.value === "1000"
"""

NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"
"""A browser's report when other tests make or remove network interfaces; the page tries again."""

_BROWSERS_PAGE = "chrome-error://"
"""The beginning of the address of the page that the browser shows instead of a page on which it gives up."""

_OWN_RELOAD = "is interrupted by another navigation"
"""A browser's report if something else begins to load the page: the page itself, which misses a script, or the browser,
which tries again what it could not load.
"""

_REPLACED = "Not attached to an active page"
"""A browser's report when it is to reload a page that it is just replacing, for example after history.back()."""

_NAVIGATIONS = 10
_PAUSE_MS = 300
"""The time between two of these navigations. Networks change several times in a row."""

_KEPT: WeakKeyDictionary[Browser, dict[str, list[Page]]] = WeakKeyDictionary()
"""The pages of earlier visits, by how their contexts were opened."""

_REFUSAL = "the server responded with a status of 400"
_PART = 0.2
"""The part of a line's height, at the top and at the bottom, that letters hardly use."""

expect.set_options(timeout=_EXPECT_MS)


def navigate(page: Page, go: Callable[[], object]) -> None:
    """Calls `go`, such as `page.reload`, again while other tests' network interfaces make the browser give up.

    The browser may give up on the page itself, and also on one of its scripts; then the page loads itself again, unless
    the script is the one that would do so. A page that has been reached is loaded again by page.reload: page.goto would
    only look for the part of the page after `#`.
    """
    lost: list[str] = []
    begun = page.url

    def note(request: Request) -> None:
        if NETWORK_CHANGED in str(request.failure):
            lost.append(request.url)

    page.on("requestfailed", note)
    try:
        for _ in range(_NAVIGATIONS):
            before = len(lost)
            try:
                _load(page, begun, go)
            except Error as error:
                expected = (NETWORK_CHANGED, _BROWSERS_PAGE, _REPLACED, *([_OWN_RELOAD] if lost else ()))
                if not any(reason in str(error) for reason in expected):
                    raise
            else:
                if len(lost) == before:
                    return
            page.wait_for_timeout(_PAUSE_MS)
        _load(page, begun, go)
    finally:
        page.remove_listener("requestfailed", note)


def _load(page: Page, begun: str, go: Callable[[], object]) -> None:
    """Calls `go`, or loads the page again if `go` has led to it. begun: the address before `go` was called first."""
    if page.url != begun and page.url.startswith("http"):
        page.reload()
    else:
        go()


def launched(playwright: Playwright, program: str) -> Browser:
    """Starts a browser; as root without its sandbox."""
    return playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else [])


@contextmanager
def visit(
    browser: Browser,
    address: str,
    *,
    width: int = 1280,
    height: int = 720,
    color_scheme: Literal["light", "dark"] = "light",
    refuses: bool = False,
    **context: Any,
) -> Iterator[Page]:
    """Yields a page at the address. Raises AssertionError for errors of the browser and for requests to elsewhere.

    The page is that of an earlier visit, without what the visit has stored, if that visit needed the same `context`: a
    new page costs a process. refuses: True if the server must answer a request with status 400, which browsers report
    as an error.
    """
    faults: list[str] = []
    home = address.partition("#")[0].partition("?")[0]
    listeners: Mapping[Any, Callable[[Any], None]] = {
        "console": lambda message: faults.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: faults.append(f"error: {error}"),
        "request": lambda request: _note_foreign(request.url, home, faults),
    }
    with _page(browser, context) as page:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=color_scheme)
        for event, listener in listeners.items():
            page.on(event, listener)
        navigate(page, lambda: page.goto(address))
        yield page
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        refused = [fault for fault in faults if _REFUSAL in fault]
        others = [fault for fault in faults if fault not in refused and NETWORK_CHANGED not in fault]
        assert not others, "; ".join(others)
        assert bool(refused) == refuses


@contextmanager
def _page(browser: Browser, how: Mapping[str, Any]) -> Iterator[Page]:
    """Yields an empty page whose context was opened like this.

    If the block raises, the context is closed.
    """
    kept = _KEPT.setdefault(browser, {}).setdefault(json.dumps(how, sort_keys=True), [])
    page = kept.pop() if kept else None
    if page is None:
        opened = browser.new_context(**how)
        opened.add_init_script(_SAID)
        page = opened.new_page()
    try:
        yield page
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.evaluate("sessionStorage.clear(); localStorage.clear()")
        page.goto("about:blank")
    except BaseException:
        page.context.close()
        raise
    kept.append(page)


@contextmanager
def paused_visits(
    browser: Browser, address: str, settled: Callable[[Page], None] = lambda _: None
) -> Iterator[Callable[..., Page]]:
    """Yields a function that opens the page with the usual pair of arms, paused. At the end no visit may have errors.

    settled: waits for more than the usual pair.
    """
    with ExitStack() as visits:

        def begin(**how: Any) -> Page:
            page = visits.enter_context(visit(browser, address, **how))
            shown(page)
            settled(page)
            _pause(page)
            return page

        yield begin


def _pause(page: Page) -> None:
    """Pauses the film when it plays; on a busy machine it begins some time after it is shown, and may have ended."""
    until(page, _PLAYS_OR_ENDED)
    if page.locator(".play").inner_text() == "Pause":
        page.keyboard.press("Space")
    expect(page.locator(".play")).to_have_text("Play")


def _note_foreign(url: str, home: str, faults: list[str]) -> None:
    if not url.startswith((home, "data:")):
        faults.append(f"asked for {url}")


def until(page: Page, condition: str, arg: Any = None, *, timeout_ms: float = RUN_MS) -> None:
    """Waits until a function of JavaScript returns true, which is looked at every 30 ms.

    `expect` and `wait_for` look again after up to a second only. Raises playwright's TimeoutError.
    """
    page.wait_for_function(condition, arg=arg, timeout=timeout_ms, polling=_LOOK_MS)


def shown(page: Page) -> list[str]:
    """Waits until both arms are shown; returns EXPERIMENT/RUN of both.

    Loads the page again if the browser gave up on it when the page had loaded itself again. Raises AssertionError with
    what the page says if the arms are not shown in time.
    """
    try:
        until(page, f"() => location.href.startsWith('{_BROWSERS_PAGE}') || ({_SHOWN.strip()})()")
    except Late as error:
        raise AssertionError(f"no arms at {page.url}; the page says: {page.locator('body').inner_text()}") from error
    if page.evaluate("location.href").startswith(_BROWSERS_PAGE):
        navigate(page, page.reload)
        return shown(page)
    return (page.locator("body").get_attribute("data-experiment") or "").split()


def said(page: Page) -> list[str]:
    """Returns all texts that the status line has had."""
    lines: list[str] = page.evaluate("window.said")
    return lines


def scrub(page: Page, part: float) -> None:
    """Moves the film to this part of its length, 0 to 1."""
    page.locator(".scrub").fill(str(round(part * 1000)))


def figures(page: Page) -> list[dict[str, str]]:
    """Returns for each arm the figures that the page shows, by their names in the summary."""
    found: list[dict[str, str]] = page.evaluate(
        """() => [...document.querySelectorAll(".arm")].map((arm) => Object.fromEntries(
            [...arm.querySelectorAll("[data-figure]")].map((each) => [each.dataset.figure, each.textContent])))"""
    )
    return found


def expected(arm: Mapping[str, Any], name: str) -> str:
    """Returns a figure of a summary as the page should show it."""
    value: Any = arm
    for key in name.split("."):
        value = value[key]
    if value is None:
        return "–"  # noqa: RUF001  as it is shown
    if name.endswith("_ms"):
        if value < 10:
            return f"{_rounded(value, '0.1')} ms"
        return f"{_rounded(value, '1')} ms" if value < 1000 else f"{_rounded(value / 1000, '0.01')} s"
    return f"{int(_rounded(value / 1024, '1')):,} KiB"


def _rounded(value: float, digit: str) -> Decimal:
    return Decimal(value).quantize(Decimal(digit), ROUND_HALF_UP)


def layout_faults(
    page: Page,
    *,
    smallest_px: float,
    fewest: int = 31,
    scrolls: bool = False,
    parts: Sequence[float | None] = (None,),
) -> list[str]:
    """Returns texts that overlap, are over a shape, leave the window, are cut off or too small.

    The panel, which may scroll, is left out. fewest: the page has at least so many texts. scrolls: True if the page
    may be longer than the window; then the player does not stay in sight. parts: where to move the film, 0 to
    1; None for where it is.
    """
    if scrolls:
        page.evaluate("document.getElementById('player').style.position = 'static'; scrollTo(0, 0)")
    window = page.viewport_size
    assert window
    looks: list[dict[str, Any]] = page.evaluate(_LOOKS, list(parts))
    assert len(looks) == len(parts)
    found = []
    for part, look in zip(parts, looks, strict=True):
        assert len(look["texts"]) >= fewest, "the page has texts"
        faults = [*_texts_at_fault(look["texts"], window, smallest_px, scrolls=scrolls), *look["cut"], *look["covered"]]
        found += [fault if part is None else f"at {part:g}: {fault}" for fault in faults]
    return found


def _texts_at_fault(
    texts: Sequence[Mapping[str, Any]], window: ViewportSize, smallest_px: float, *, scrolls: bool
) -> list[str]:
    found = [f"too small, {each['fontPx']:.1f} px: {each['text']}" for each in texts if each["fontPx"] < smallest_px]
    found += [
        f"leaves the window: {each['text']}"
        for each in texts
        if min(each["left"], each["top"]) < 0
        or each["right"] > window["width"]
        or (each["bottom"] > window["height"] and not scrolls)
    ]
    return found + _overlaps(texts)


def drawing_faults(page: Page, parts: Sequence[float]) -> list[str]:
    """Returns texts of drawings that are over a shape or another text. parts: where to move the film, 0 to 1."""
    looks: list[dict[str, Any]] = page.evaluate(_LOOKS, list(parts))
    found = []
    for part, look in zip(parts, looks, strict=True):
        drawn = [text for text in look["texts"] if text["svg"]]
        assert drawn, "the drawings have texts"
        found += [f"at {part:g}: {fault}" for fault in [*_overlaps(drawn), *look["covered"]]]
    return found


def _overlaps(texts: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"overlap: {one['text']} | {other['text']}"
        for number, one in enumerate(texts)
        for other in texts[number + 1 :]
        if _overlap(one, other)
    ]


def _overlap(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    def span(each: Mapping[str, float]) -> tuple[float, float]:
        letters = _PART * (each["bottom"] - each["top"])
        return each["top"] + letters, each["bottom"] - letters

    top, bottom = span(one)
    other_top, other_bottom = span(other)
    beside = one["right"] <= other["left"] + 1 or other["right"] <= one["left"] + 1
    return not beside and top < other_bottom and other_top < bottom


def leave_story(page: Page) -> None:
    """Ends the story as a speaker does, who is asked first."""
    page.keyboard.press("Escape")
    page.locator("#leave .leave").click()


def violations(page: Page, axe: Path) -> list[str]:
    """Returns the findings of the accessibility checker. The page must be opened with bypass_csp=True."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=axe)
    found: list[dict[str, Any]] = page.evaluate("async () => (await axe.run()).violations")
    return [f"{each['id']}: {', '.join(node['html'] for node in each['nodes'])}" for each in found]
