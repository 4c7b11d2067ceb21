"""The page `maps` and plans for it, as tests use them."""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from client.plan import page_plan
from common.formats.page import MAPS, Page
from common.formats.plan import Plan
from experiments.scenario.pages import Parameters, page_of

PAGE, IMAGE, SCRIPT = "page", "image", "script"
"""Its resources, in order."""

MS = 10**6


def maps_page(size_bytes: int = 700 * 1024, delay_ms: int = 200) -> Page:
    """The page with image and script of that size, and the script held back for so long."""
    return page_of(MAPS, Parameters(size_bytes=size_bytes, script_delay_ns=delay_ms * MS))


def page_file(folder: Path, page: Page) -> Path:
    """The page as the origin reads it."""
    file = folder / "page.json"
    file.write_text(json.dumps(asdict(page)))
    return file


maps_plan: Callable[..., Plan] = partial(page_plan, maps_page())
"""`page_plan` of that page."""
