"""The matrix as a Markdown table, and the marked places of docs/measured/matrix.md. Pure."""

from collections.abc import Callable, Iterator

from priolab.analysis.reports.markdown import Table, filled
from priolab.common.amounts import percent, seconds
from priolab.extras.matrix.cells import STRONG, Cell, Pair
from priolab.extras.matrix.changes import HEAD, by_versions, unchanged
from priolab.extras.matrix.matrix import Matrix
from priolab.extras.matrix.notes import notes
from priolab.extras.matrix.words import MARKS, WAYS, anchor, measured_words, reading_words


def table(matrix: Matrix, page_name: str | None = None) -> str:
    """Returns a Markdown table with a row per version of a server and a column per dialect.

    page_name: the file of the page to whose cells the table's cells link; None for a table without links.
    """
    rows = tuple(
        (name, front.version, *(_word(matrix.cells.get((name, dialect)), page_name) for dialect in matrix.dialects))
        for name, front in matrix.fronts.items()
    )
    return Table(head=("server", "version", *matrix.dialects), rows=rows).markdown()


def _word(cell: Cell | None, page_name: str | None) -> str:
    if cell is None:
        return "not measured"
    told = f"{reading_words(cell)}; {MARKS[cell.layer]}" if cell.honoured else str(cell.reading)
    return f"[{told}]({page_name}#{anchor(cell)})" if page_name else told


def places(matrix: Matrix, page_name: str | None = None) -> dict[str, str]:
    """Returns the marked places of docs/measured/matrix.md. page_name: as for `table`."""
    explained = (f"**{each.names}** in {each.dialects}: {each.text} {each.frames}" for each in notes(matrix))
    return {
        "measured": measured_words(matrix),
        "matrix": table(matrix, page_name),
        "asked": _asked(matrix).markdown(),
        "changes": "\n\n".join(_changed(matrix)),
        "notes": "\n\n".join(map(filled, explained)),
        "own-orders": _own_orders(matrix).markdown(),
        "layers": _layers(matrix).markdown(),
        "natives": _natives(matrix).markdown(),
        "made-with": "\n".join(_made_with(matrix)),
    }


def _asked(matrix: Matrix) -> Table:
    """Returns a table of what the client asks for in each dialect."""
    told = {cell.dialect: cell.asked for cell in matrix.cells.values() if cell.asked}
    rows = tuple((name, asked["spdy"], asked.get(STRONG[0], "")) for name, asked in told.items())
    return Table(head=("dialect", "usual", "strong"), rows=rows)


def _changed(matrix: Matrix) -> Iterator[str]:
    for old, new, found in by_versions(matrix):
        yield f"### {old.words} to {new.words}"
        yield Table(head=HEAD, rows=tuple(change.told for change in found)).markdown()
    if same := [f"{old.words} and {new.words}" for old, new in unchanged(matrix)]:
        yield filled(f"No difference: {'; '.join(same)}.")


def _made_with(matrix: Matrix) -> Iterator[str]:
    for name, front in matrix.fronts.items():
        library = f", with {front.built_with}" if front.built_with else ""
        digest = f", digest {front.digest}" if front.digest else ""
        yield f"- {name}: {front.said}{library}{digest}"
    if matrix.absent:
        yield from ("", "Servers that were not installed:")
        yield from (f"- {server}: {why}" for server, why in matrix.absent.items())


def _own_orders(matrix: Matrix) -> Table:
    rows = []
    for name, front in matrix.fronts.items():
        cell, unasked = matrix.row(name)[0], matrix.unasked[name].lowat
        rows.append(
            (
                name,
                front.version,
                cell.own_order,
                *(f"{cell.probes[role].important_share:.0%}" for role in ("none", "reversed")),
                unasked.own_order,
                seconds(unasked.script_first_ms),
                seconds(unasked.script_last_ms),
                seconds(unasked.image_last_ms),
            )
        )
    head = ("server", "version", "window", "image first", "script first", "slow link")
    times = ("script first byte", "script last byte", "image last byte")
    return Table(head=head + times, rows=tuple(rows))


def _layers(matrix: Matrix) -> Table:
    rows = _joined(
        matrix,
        lambda cell: (reading_words(cell), _outcome(cell, cell.control), _outcome(cell, cell.lowat), cell.sentence),
    )
    head = ("server", "version", "dialects", "nothing in the way", WAYS["control"], WAYS["lowat"], "conclusion")
    return Table(head=head, rows=rows)


def _natives(matrix: Matrix) -> Table:
    rows = _joined(
        matrix,
        lambda cell: (_outcome(cell, cell.native), _outcome(cell, cell.lowat)) if cell.native else None,
    )
    return Table(head=("server", "version", "dialects", WAYS["native"], WAYS["lowat"]), rows=rows)


def _joined(matrix: Matrix, told: Callable[[Cell], tuple[str, ...] | None]) -> tuple[tuple[str, ...], ...]:
    """Returns a row for all dialects of a front of which `told` says the same; only dialects that the front follows."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for cell in matrix.cells.values():
        if cell.honoured and (words := told(cell)):
            rows.setdefault((cell.server, cell.version, *words), []).append(cell.dialect)
    return tuple((server, version, ", ".join(named), *words) for (server, version, *words), named in rows.items())


def _outcome(cell: Cell, pair: Pair | None) -> str:
    if pair is None:
        return ""
    told = f"{cell.outcome(pair)} ({round(cell.arriving(pair), 2) + 0.0:.0%})"
    first = seconds(pair.asked.script_first_ms)
    return f"{told}; {percent(pair.asked.before)} of the image before the script, which begins at {first}"
