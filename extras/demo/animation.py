"""Makes the animated picture of README.md anew: `python -m priolab.extras.demo.animation FILE`.

Headless Chromium shows the slides of `make slides`, at the slide about LOWAT. Each frame of the picture shows the
slide's animation at a fixed position, so the picture does not depend on this machine's speed. The picture has 25 frames
a second; while the script comes to exist, the film is slower.
"""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from priolab.common.process.scratch import scratch_folder
from priolab.common.process.search_path import find
from priolab.experiments.commands.console import Report
from priolab.extras.demo import slides
from priolab.extras.demo.finale import finale
from priolab.extras.demo.story import steps

_STEP = "LOWAT"
_SIZE = {"width": 1000, "height": 600}
_FRAME_MS = 40
_LAST_MS = 4000
_COLOURS = 64
_SAMPLES = 4
_POSITIONS = 1000
"""The positions of the player's slider."""
_DECISIVE = range(30, 75)
_SLOW, _USUAL = 2, 7
"""Positions from frame to frame in the decisive time, and otherwise."""


def main() -> None:
    """Runs the arms that the demo's slides compare, and writes the picture to FILE."""
    target = Path(sys.argv[1])
    with scratch_folder("priolab-animation-") as results:
        (*_, index) = slides.export({"RESULTS": str(results)}, None, finale(None), Report())
        frames = _frames(index)
    # A small palette is enough and compresses well; with the same one for all frames, only what moves differs.
    palette = _samples(frames).quantize(_COLOURS, dither=Image.Dither.NONE)
    first, *others = (frame.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB") for frame in frames)
    durations = [_FRAME_MS] * (len(frames) - 1) + [_LAST_MS]
    first.save(target, save_all=True, append_images=others, duration=durations, loop=0, lossless=True, method=4)
    print(target)


def _samples(frames: Sequence[Image.Image]) -> Image.Image:
    """Returns some frames side by side."""
    width, height = frames[0].size
    chosen = [frames[at * (len(frames) - 1) // (_SAMPLES - 1)] for at in range(_SAMPLES)]
    sheet = Image.new("RGB", (width * _SAMPLES, height))
    for number, frame in enumerate(chosen):
        sheet.paste(frame, (number * width, 0))
    return sheet


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
        for at in _positions():
            scrub.fill(str(at))
            frames.append(Image.open(io.BytesIO(stages.screenshot())).convert("RGB"))
        browser.close()
    return frames


def _positions() -> Iterator[int]:
    at = 0
    while at < _POSITIONS:
        yield at
        at += _SLOW if at in _DECISIVE else _USUAL
    yield _POSITIONS


if __name__ == "__main__":
    main()
