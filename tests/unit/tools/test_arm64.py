"""Tests of the runs in an emulated arm64 machine: how their results are compared, and where the file system is kept."""

from collections.abc import Mapping
from typing import Any

import pytest

from tools.campaigns.arm64 import differences


def _arm(verdict: str, first_byte_ms: float, status: str = "ok", reason: str = "") -> Mapping[str, Any]:
    return {"status": status, "reason": reason, "verdict": verdict, "script": {"first_byte_ms": first_byte_ms}}


_USUAL = {"control": _arm("inverted", 6685.0), "lowat-131072": _arm("kept", 2960.0)}


@pytest.mark.parametrize(
    ("arm", "lines"),
    [
        (_arm("kept", 3100.0), []),
        (_arm("kept", 3109.0), ["lowat-131072: kept at 3109 ms, not kept at 2960 ms"]),
        (_arm("kept", 2811.0), ["lowat-131072: kept at 2811 ms, not kept at 2960 ms"]),
        (_arm("inverted", 2960.0), ["lowat-131072: inverted at 2960 ms, not kept at 2960 ms"]),
        (_arm("kept", 2960.0, "invalid", "a process was late"), ["lowat-131072: a process was late"]),
    ],
)
def test_what_differs(arm: Mapping[str, Any], lines: list[str]) -> None:
    """An arm has to be valid and have the usual verdict, and its first byte may differ by 5 %."""
    assert differences(_USUAL | {"lowat-131072": arm}, _USUAL) == lines
