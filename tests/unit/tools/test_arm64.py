"""Tests of the runs in an emulated arm64 machine: how their results are compared, and where the file system is kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tools.campaigns.arm64 import differences, table
from tools.suites.tree import Tree, foreign_in


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


def test_the_table() -> None:
    """A row has the first bytes of all experiments, and the largest difference."""
    measured = [_USUAL, {"control": _arm("inverted", 6700.0), "lowat-131072": _arm("kept", 2900.0)}]
    assert table(measured, _USUAL).rows == (
        ("control", "inverted", "6685, 6700", "6685", "0.2%"),
        ("lowat-131072", "kept", "2960, 2900", "2960", "2.0%"),
    )


def test_architectures_have_file_systems_of_their_own(tmp_path: Path) -> None:
    """The file system for arm64 is not the one that this machine's programs run in."""
    own, foreign = Tree(suite="bookworm", folder=tmp_path / "bookworm"), foreign_in(tmp_path, "bookworm")
    assert own.bare != foreign.bare
    assert foreign.bare.parent == foreign.folder
    assert foreign.entering[-len(own.entering) :] == own.entering
