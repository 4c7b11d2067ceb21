"""The page `maps`, plans for it, and small pages, as tests use them."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from priolab.client.plan import page_plan
from priolab.client.priorities import http2_weight
from priolab.common.formats.page import MAPS, Page, Resource
from priolab.common.formats.plan import Plan
from priolab.experiments.scenario.pages import Parameters, page_of

PAGE, IMAGE, SCRIPT = "page", "image", "script"
"""Its resources, in order."""

MS = 10**6


def maps_page(size_bytes: int = 700 * 1024, delay_ms: int = 200) -> Page:
    """Return the page `maps` with image and script of this size; the script is ready after the delay."""
    return page_of(MAPS, Parameters(size_bytes=size_bytes, script_delay_ns=delay_ms * MS))


def part(name: str, **changes: Any) -> Resource:
    """Return a resource of 1000 bytes with the weight of its urgency; `html` is HTML. changes: other values."""
    kind = "text/html" if name == "html" else "text/plain"
    usual: dict[str, Any] = {"path": f"/{name}", "content_type": kind, "size_bytes": 1000}
    return Resource(name=name, **usual | {"weight": http2_weight(changes.get("urgency", 3))} | changes)


def page_of_parts(*resources: Resource) -> Page:
    """Return a page of these resources, in order."""
    return Page(name="mine", title="Mine", resources=resources)


def page_file(folder: Path, page: Page) -> Path:
    """Write the page as the origin reads it. Return the file."""
    file = folder / "page.json"
    file.write_text(json.dumps(page.as_document()))
    return file


maps_plan: Callable[..., Plan] = partial(page_plan, maps_page())
"""`page_plan` of the page `maps`."""
