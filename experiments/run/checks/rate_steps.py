"""Checks the rate steps of a run against the link's journal (netem/changes.py)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priolab.common.errors import QUIETER, InvalidRun
from priolab.netem.calibration import Tolerance
from priolab.netem.changes import JOURNAL
from priolab.netem.link import Link

_BEFORE = "the load had ended before this step"
_BYTE_BITS = 8
"""Bits in a byte; the kernel rounds rates to whole bytes per second."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """The time from the measured load's start to the client's end, or to a browser's last event (CLOCK_MONOTONIC)."""

    began_ns: int
    ended_ns: int


def observed_steps(link: Link, folder: Path, span: Span) -> list[dict[str, Any]]:
    """Returns each rate step as requested, and as in the link's journal, a file in the folder.

    Each entry has these keys. at_ns: the time of the step after the load's start. asked_bit_s: the requested rate.
    rate_bit_s: the rate in the journal. late_ns: the lateness of the step. reason: why the link did not make the step;
    None if the link made the step.
    """
    if not link.rate_steps:
        return []
    lines = [json.loads(line) for line in (folder / JOURNAL).read_text().splitlines()]
    made = {line["asked_ns"]: line for line in lines}
    found = []
    for step in link.rate_steps:
        asked_ns = span.began_ns + step.at_ns
        line = made.get(asked_ns)
        found.append(
            {
                "at_ns": step.at_ns,
                "asked_bit_s": step.rate_bit_s,
                "rate_bit_s": line["rate_bit_s"] if line else None,
                "late_ns": line["t_ns"] - asked_ns if line else None,
                "reason": None if line else _BEFORE if asked_ns >= span.ended_ns else "the link did not make this step",
            }
        )
    return found


def check_steps(found: Sequence[dict[str, Any]], tolerance: Tolerance) -> None:
    """Raises InvalidRun for a step that was missed, set another rate, or was later than the tolerance allows.

    The allowed lateness is the tolerance of the round trip. A step due after the end of the load is not checked.
    """
    for step in found:
        name = f"the link's rate in bit/s, set {step['at_ns'] / 10**6:g} ms into the load"
        if step["reason"] == _BEFORE:
            continue
        rate_bit_s = step["rate_bit_s"]
        if rate_bit_s is None or not 0 <= step["asked_bit_s"] - rate_bit_s < _BYTE_BITS:
            raise InvalidRun(name, step["asked_bit_s"], rate_bit_s)
        if step["late_ns"] > tolerance.round_trip_ns:
            most = f"at most {tolerance.round_trip_ns}"
            raise InvalidRun(f"{name}: lateness in ns", most, step["late_ns"], QUIETER)
