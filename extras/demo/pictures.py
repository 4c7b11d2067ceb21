"""Makes the pictures of the explanation anew: `python -m priolab.extras.demo.pictures`.

Headless Chromium opens docs/explore.html: its first screen at four sizes, for the decision about the page; its first
screen as links to the page show it; and the section about the line, for README.md.
"""

import io
import os
from collections.abc import Mapping

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from priolab.common.home import ROOT
from priolab.common.process.search_path import find
from priolab.extras.demo.recording import EXPLORE

_FIRST_SCREENS = ((390, 844), (820, 1180), (1366, 768), (1920, 1080))
_LINE = "?lang=en&line=131072&at=line&t=3000"
_PICTURES: Mapping[str, tuple[int, int, str]] = {
    "docs/preview.png": (1200, 630, "?lang=en"),
    "docs/explanation.webp": (1200, 640, _LINE),
    **{
        f"docs/decisions/0019-first-screen-{width}.webp": (width, height, "?lang=en")
        for width, height in _FIRST_SCREENS
    },
}
"""Width, height and query of each picture, by its file."""
_PHONE_PX = 900
_COLOURS = 64
_DRAWN_MS = 500


def main() -> None:
    """Writes the pictures."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find("chromium"), args=arguments)
        for name, (width, height, query) in _PICTURES.items():
            target = ROOT / name
            shot = Image.open(io.BytesIO(_shot(browser, width, height, query))).convert("RGB")
            few = shot.quantize(_COLOURS, dither=Image.Dither.NONE)
            if target.suffix == ".png":
                few.save(target, optimize=True)
            else:
                few.convert("RGB").save(target, lossless=True, method=6)
            print(target)
        browser.close()


def _shot(browser: Browser, width: int, height: int, query: str) -> bytes:
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="light", is_mobile=width < _PHONE_PX
    )
    page.goto(EXPLORE.as_uri() + query)
    page.locator("#explanation.built").wait_for()
    page.add_style_tag(content=".languages { visibility: hidden; }")  # not each machine has fonts for their names
    page.wait_for_timeout(_DRAWN_MS)
    shot = page.screenshot()
    page.close()
    return shot


if __name__ == "__main__":
    main()
