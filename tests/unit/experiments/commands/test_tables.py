"""Tests of tables in parts."""

import io

import pytest
from rich.console import Console

from priolab.experiments.commands.tables import bare_table, parts, put


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("widths", "most", "expected"),
    [
        ([10, 5, 5, 5], 80, [[0, 1, 2, 3]]),
        ([10, 5, 5, 5], 31, [[0, 1, 2, 3]]),
        ([10, 5, 5, 5], 30, [[0, 1, 2], [0, 3]]),
        ([10, 50, 5, 50], 30, [[0, 1], [0, 2], [0, 3]]),
        ([10], 5, [[0]]),
        ([], 5, [[]]),
    ],
)
def test_parts(widths: list[int], most: int, expected: list[list[int]]) -> None:
    """Each part begins with the first column, and has as many further columns as fit, at least one."""
    assert parts(widths, 1, most) == expected


def test_all_columns_are_shown() -> None:
    """A narrow terminal shows every column; a file gets one line for each row."""
    table = bare_table("arm", "verdict")
    for heading in ("script\npossible", "late\nby", "image\nneedless"):
        table.add_column(heading, justify="right")
    table.add_row("control", "[bold red]inverted[/]", "0.81 s", "5.88 s", "676 KiB")
    narrow, file = Terminal(), io.StringIO()
    put(Console(file=narrow, width=32, no_color=True, color_system=None), table)
    put(Console(file=file, width=32), table)
    lines = narrow.getvalue().splitlines()
    assert all(len(line) <= 32 for line in lines)
    assert [line.split() for line in lines] == [
        ["script"],
        ["arm", "verdict", "possible"],
        ["control", "inverted", "0.81", "s"],
        [],
        ["late", "image"],
        ["arm", "by", "needless"],
        ["control", "5.88", "s", "676", "KiB"],
    ]
    assert file.getvalue().splitlines()[-1].split() == ["control", "inverted", "0.81", "s", "5.88", "s", "676", "KiB"]
