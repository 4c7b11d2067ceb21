"""The comparison of two ways of sampling: which cell has which figure."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.benches import sampling
from tools.benches.sampling import Shown


def test_each_figure_has_a_column_for_each_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The columns are those of a figure side by side, first with 10ms, then with auto."""

    def compared(_: Path) -> Iterator[tuple[str, list[Shown]]]:
        often = Shown(unexplained=0.0004, moves=1098, largest_bytes=57906)
        yield "maps, control", [often, Shown(unexplained=0.0012, moves=996, largest_bytes=2896)]

    monkeypatch.setattr(sampling, "compared", compared)
    heads, rows = sampling.table(tmp_path)
    assert heads[:3] == [
        "unexplained part of the wait: `10ms`",
        "unexplained part of the wait: `auto`",
        "samples in the film: `10ms`",
    ]
    assert rows == [("maps, control", ["0.04%", "0.12%", "1,098", "996", "57,906", "2,896"])]
