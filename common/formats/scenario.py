"""The record of what a run was asked for: `scenario` of run.json."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from common.formats.page import Page, Resource

AUTO: Literal["auto"] = "auto"
"""`lowat` where a tuner sets it for each connection."""

PROBE = "probe"
"""`plan` where the client keeps its window closed, to see what the front does."""

STEPS_PATTERN = r"^\d{1,12}bit@\d{1,19}ns(\+\d{1,12}bit@\d{1,19}ns){0,15}$"
"""The form of rate_steps."""


@dataclass(frozen=True, kw_only=True)
class ScenarioRecord:
    """A scenario as results keep it; experiments/scenario/scenario.py explains the fields.

    target_delay_ns: None unless `lowat` is AUTO. page: its name. rate_steps: None for a constant rate.
    Raises ValueError for a page of one resource, and for rate_steps in another form.
    """

    server: str
    native: str
    buffering: str
    record_bytes: int | None
    lowat: int | Literal["auto"] | None
    target_delay_ns: int | None
    sndbuf_bytes: int | None
    congestion_control: str
    gso_segments: int | None
    shaper_at: str
    client: Literal["h2", "chromium"]
    page: str
    plan: str
    first: str | None
    priorities: str
    dialect: str
    size_bytes: int | None
    script_delay_ns: int | None
    reloads: int
    window_bytes: int
    rate_bit_s: int | None
    delay_ns: int
    delay_up_ns: int
    queue_packets: int
    loss: float
    jitter_ns: int
    rate_steps: str | None
    resources: tuple[Resource, ...]

    def __post_init__(self) -> None:
        if len(self.resources) < 2:
            raise ValueError("resources are fewer than two")
        if self.rate_steps is not None and not re.search(STEPS_PATTERN, self.rate_steps):
            raise ValueError(f"rate_steps is {self.rate_steps!r}")

    @cached_property
    def whole_page(self) -> Page:
        """The page with its resources."""
        return Page(name=self.page, title=self.page, resources=self.resources)
