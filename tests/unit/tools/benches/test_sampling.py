"""The comparison of two ways of sampling: which cell has which figure."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.benches import sampling
from tools.benches.sampling import Shown


def test_a_cell_has_the_figures_of_both_ways(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cell has a figure with 10ms, and then with auto, or one if they are equal."""

    def compared(_: Path) -> Iterator[tuple[str, list[Shown]]]:
        often = Shown(unexplained=0.0004, moves=1098, largest_bytes=57906)
        yield "maps, control", [often, Shown(unexplained=0.0012, moves=996, largest_bytes=57906)]

    monkeypatch.setattr(sampling, "compared", compared)
    heads, rows = sampling.table(tmp_path)
    assert heads[:2] == ["unexplained part of the wait: 10ms; auto", "samples in the film: 10ms; auto"]
    assert rows == [("maps, control", ["0.04%; 0.12%", "1,098; 996", "57,906"])]
