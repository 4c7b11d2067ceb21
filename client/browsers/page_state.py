"""The state of a page after its load, as a script inside the page reads it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PATIENCE_MS = 1000
"""The longest wait for the browser's report that it has painted the largest picture."""

LINGER_S = 0.25
"""Time for which the connection stays open after the last load, so that the front's sampler sees even a short load."""

SEEN = """async () => {
  const images = Array.from(document.images), output = document.getElementById("script");
  let decoded = true;
  for (const image of images) try { await image.decode(); } catch { decoded = false; }
  const fetched = await (window.fetched ?? []);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const painted = images.length && await new Promise((done) => {
    new PerformanceObserver((list) => {
      const found = list.getEntries().find((entry) => images.some((image) => entry.url === image.currentSrc));
      if (found) done(found.renderTime);
    }).observe({ type: "largest-contentful-paint", buffered: true });
    setTimeout(() => done(null), PATIENCE_MS);
  });
  const styles = Array.from(document.querySelectorAll("link[rel=stylesheet]"));
  const scripts = Array.from(document.scripts).filter((script) => script.src);
  return { complete: decoded && images.every((image) => image.complete && image.naturalWidth),
           width: images[0]?.naturalWidth ?? null, height: images[0]?.naturalHeight ?? null,
           painted_ms: painted || null, script: output?.textContent ?? null,
           ran: scripts.every((script) => script.dataset.ran), styled: styles.every((style) => style.sheet),
           fetched: fetched.every((size) => size) };
}""".replace("PATIENCE_MS", str(_PATIENCE_MS))
"""The script: a function that returns a promise of the state."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The state of a page after its load, read by a script inside the page.

    image_complete: True if all pictures are rendered. image_width, image_height: the size of the first picture; None
    without pictures. image_painted_ms: the time from the start of the navigation until the largest picture was painted;
    None if the browser did not report it. script_output: the text that the last script wrote into the page.
    scripts_ran: True if all scripts ran. styled: True if all style sheets apply. fetched: True if all that the page
    fetched by script was received.
    """

    load: int
    image_complete: bool
    image_width: int | None
    image_height: int | None
    image_painted_ms: float | None
    script_output: str | None
    scripts_ran: bool
    styled: bool
    fetched: bool

    @property
    def trouble(self) -> str | None:
        """The first thing that is missing from the page, as a message; None if the page is complete."""
        for is_there, what in (
            (self.image_complete, "the page did not render the picture"),
            (self.scripts_ran, "the script did not run"),
            (self.styled, "a style sheet does not apply"),
            (self.fetched, "the page did not receive all resources that its script fetched"),
        ):
            if not is_there:
                return f"load {self.load}: {what}"
        return None


def shown(number: int, found: Mapping[str, Any]) -> Shown:
    """Returns the state of the page after a load. found: the result of the script."""
    return Shown(
        load=number,
        image_complete=bool(found["complete"]),
        image_width=found["width"],
        image_height=found["height"],
        image_painted_ms=found["painted_ms"],
        script_output=found["script"],
        scripts_ran=found["ran"],
        styled=found["styled"],
        fetched=found["fetched"],
    )


def may_sandbox() -> bool:
    """Returns True if a browser's sandbox can be on: the sandbox refuses root and processes with capabilities."""
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return os.geteuid() != 0 and not int(effective.split()[1], 16)
