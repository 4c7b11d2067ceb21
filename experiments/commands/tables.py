"""Tables for a terminal: without lines, and in several parts if the terminal is too narrow for all columns."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

_GAP = 2
"""The number of spaces between two columns."""


def bare_table(*headings: str) -> Table:
    """Returns a table without lines, with these columns."""
    return Table(*headings, box=None, pad_edge=False, header_style="bold")


def put(console: Console, table: Table, *, names: int = 1) -> int:
    """Prints a table; returns the number of its lines.

    A terminal that is too narrow gets the table in parts; the first columns are repeated in each part. names: the
    number of these first columns, which say what a line is about. A file or pipe gets the table whole.
    """
    widths = [_width(column) for column in table.columns]
    groups = parts(widths, names, console.width) if console.file.isatty() else [list(range(len(widths)))]
    for number, group in enumerate(groups):
        if number:
            console.print()
        console.print(_part(table, group, [widths[index] for index in group]), soft_wrap=True)
    heading = max(str(column.header).count("\n") + 1 for column in table.columns)
    return len(groups) * (heading + table.row_count + 1) - 1


def parts(widths: Sequence[int], names: int, most: int) -> list[list[int]]:
    """Divides columns into parts that are at most `most` characters wide; returns the columns' numbers of each part.

    widths: the columns' widths. names: the number of first columns that each part begins with. A part has at least one
    further column, even if it is too wide then.
    """
    first = list(range(min(names, len(widths))))
    found = [list(first)]
    for index in range(len(first), len(widths)):
        together = [widths[each] for each in [*found[-1], index]]
        if len(found[-1]) > len(first) and sum(together) + _GAP * (len(together) - 1) > most:
            found.append(list(first))
        found[-1].append(index)
    return found


def _width(column: Column) -> int:
    texts = [column.header, *column.cells]
    return max(Text.from_markup(line).cell_len for text in texts for line in str(text).split("\n"))


def _part(table: Table, group: Sequence[int], widths: Sequence[int]) -> Table:
    """Returns a table with some of another table's columns, as wide as it has to be."""
    chosen = bare_table()
    cells = []
    for index in group:
        column = table.columns[index]
        chosen.add_column(column.header, justify=column.justify, no_wrap=True)
        cells.append(list(column.cells))
    for row, line in zip(table.rows, zip(*cells, strict=True), strict=True):
        chosen.add_row(*line, end_section=row.end_section)
    chosen.width = sum(widths) + _GAP * (len(widths) - 1)
    return chosen
