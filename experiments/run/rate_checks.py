"""The rate steps of a run: what was asked against what the link noted down (netem/changes.py)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.errors import InvalidRun
from netem.calibration import Tolerance
from netem.changes import JOURNAL
from netem.link import Link

_BEFORE = "the load had ended before"
_BYTE_BITS = 8
"""Kernels count rates in whole bytes."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """When the measured load began, and when its client had ended (CLOCK_MONOTONIC)."""

    began_ns: int
    ended_ns: int


def observed_steps(link: Link, folder: Path, span: Span) -> list[dict[str, Any]]:
    """For each step asked for: at_ns since the load began, the rate found then, how late, or the reason why none."""
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
                "reason": None if line else _BEFORE if asked_ns >= span.ended_ns else "the link did not make it",
            }
        )
    return found


def check_steps(found: Sequence[dict[str, Any]], tolerance: Tolerance) -> None:
    """Raises InvalidRun for a step that was missed, is another rate, or came later than a round trip may be off.

    One that was due after the load is none of these.
    """
    for step in found:
        name = f"the rate {step['at_ns'] / 10**6:g} ms into the load"
        if step["reason"] == _BEFORE:
            continue
        rate_bit_s = step["rate_bit_s"]
        if rate_bit_s is None or not 0 <= step["asked_bit_s"] - rate_bit_s < _BYTE_BITS:
            raise InvalidRun(name, step["asked_bit_s"], rate_bit_s)
        if step["late_ns"] > tolerance.round_trip_ns:
            raise InvalidRun(f"{name}: its lateness in ns", f"at most {tolerance.round_trip_ns}", step["late_ns"])
