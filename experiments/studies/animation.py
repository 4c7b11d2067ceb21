"""Makes the animated picture of README.md anew: `python -m experiments.studies.animation FILE`, or `make picture`.

Headless Chromium shows the slides of `make slides`, at the slide about LOWAT. Each frame of the picture shows the
slide's animation at a fixed position, so the picture does not depend on this machine's speed.
"""

import io
import os
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from experiments.commands.console import Report
from experiments.demo import slides
from experiments.demo.story import steps
from experiments.host.processes import find

_STEP = "LOWAT"
_SIZE = {"width": 1000, "height": 860}
_FRAMES = 64
_FRAME_MS = 140
_LAST_MS = 4000
_COLOURS = 40


def main() -> None:
    """Runs the arms that the demo's slides compare, and writes the picture to FILE."""
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="priolab-animation-") as results:
        (index, *_) = slides.export({"RESULTS": results}, None, Report())
        frames = _frames(index)
    # The picture has few colours, so a small palette is enough. A picture with a small palette compresses well.
    first, *others = (frame.quantize(_COLOURS, dither=Image.Dither.NONE).convert("RGB") for frame in frames)
    durations = [_FRAME_MS] * (len(frames) - 1) + [_LAST_MS]
    first.save(target, save_all=True, append_images=others, duration=durations, loop=0, lossless=True, method=6)
    print(target)


def _frames(index: Path) -> list[Image.Image]:
    number = next(at for at, step in enumerate(steps()) if step.compare == _STEP and "RATE" not in step.knobs)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find("chromium"), args=arguments)
        page = browser.new_page(viewport=_SIZE, color_scheme="light")  # type: ignore[arg-type]
        page.goto(index.as_uri())
        page.locator(".step-title").wait_for()
        for _ in range(number):
            page.keyboard.press("ArrowRight")
        scrub, stages = page.locator(".scrub"), page.locator("#stages")
        frames = []
        for at in range(_FRAMES + 1):
            scrub.fill(str(round(at * 1000 / _FRAMES)))
            frames.append(Image.open(io.BytesIO(stages.screenshot())).convert("RGB"))
        browser.close()
    return frames


if __name__ == "__main__":
    main()
