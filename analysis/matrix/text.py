"""The matrix as text: a table for the terminal and for Markdown, and docs/matrix.md. Pure."""

from collections.abc import Iterator

from analysis.matrix.cells import Cell, Layer, Matrix, Pair, Reading, own_order_on_link
from analysis.sweeps.table import Table

MARKS = {
    Layer.NOWHERE: "arrives",
    Layer.SOCKET: "arrives with LOWAT",
    Layer.FRONT: "lost in the front",
    Layer.SERVER: "not ordered by",
}

_HEADING = "Who keeps the order?"
_EXPLANATION = """\
Made by `make matrix`: servers of the catalogue that speak HTTP/2 and were installed, and ways in which a client can say
who comes first (`DIALECT`, client/dialects.py; parts that speak later contradict what was said with the requests). The
script is asked to come before the image, though it is requested after it.

**With nothing in the way.** Both streams are parked on the client's closed flow-control window, which is then opened
by 8 KiB at a time; whose bytes come is the server's choice. Asked for the script, and asked for the image: *strict*,
who is asked for has 98 % of the window or more; *proportional*, more of it than if the other is asked for (the script's
part is given for both); *ignored*, it makes no difference; *contrary*, less. Only order is read, no time.

**With the socket in the way.** Where there is an order to lose: the same two, 384 KiB each, on the first load of a
connection over the slow link (128 kB/s, 300 ms), with a send buffer of 4 MB and the server taking whole responses
(`BUFFERING=on`), without LOWAT and with LOWAT=16384. Again both are asked for in turn, and what that changes is when
each is complete. It *arrives* if it changes at least a third of what it would with nothing in the way; the image,
which is there first, has a start that nothing can take back. *Weak*: less; *lost*: less than a tenth; *turned round*:
who is asked for is later than if he is not.

Together they say which layer lost it: the server that does not read the dialect, the front, in what it has put in line
between its scheduler and the socket, or the kernel's send buffer, which is the only one that LOWAT bounds. That is
relative to what a dialect asks for: where the window is shared almost evenly there is little to lose, and little has to
arrive. These are not the verdicts of a run (*kept*, *inverted*), which are about one load alone. On later loads of a
connection Apache puts all of a response in line, and LOWAT no longer helps there (docs/servers.md)."""


def table(matrix: Matrix) -> str:
    """Returns a Markdown table with a row per server and a column per dialect."""
    rows = tuple(
        (server, *(_word(matrix.cells[server, dialect]) for dialect in matrix.dialects)) for server in matrix.servers
    )
    return Table(head=("server", *matrix.dialects), rows=rows).markdown()


def _word(cell: Cell) -> str:
    if not cell.honoured:
        return str(cell.reading)
    return f"{_reading(cell)}; {MARKS[cell.layer]}"


def _reading(cell: Cell) -> str:
    """The interpretation, with the shares if they tell more."""
    if cell.reading is Reading.STRICT:
        return str(cell.reading)
    asked, swapped = (round(100 * cell.probes[name].important_share) for name in ("spdy", "swap"))
    return f"{cell.reading} {asked}:{swapped} %"


def document(matrix: Matrix) -> str:
    """Returns the text of docs/matrix.md."""
    return "\n".join(_document(matrix)) + "\n"


def _document(matrix: Matrix) -> Iterator[str]:
    yield from (f"# {_HEADING}", "", _EXPLANATION, "")
    yield "The same with small timelines is in matrix.html, for programs in matrix.json."
    yield from ("", table(matrix), "", "## With nothing asked", "")
    yield "What a server does by itself when no priority is sent: with the window, the script's part of it where the"
    yield "image was requested first and where the script was; and on the slow link, LOWAT=16384, the image first."
    yield from ("", _own_orders(matrix).markdown(), "", "## Where the order is lost", "")
    yield from (_layers(matrix).markdown(), "")
    if any(cell.native for cell in matrix.cells.values()):
        yield from ("## The servers' own mechanisms", "")
        yield "NATIVE=on in place of LOWAT."
        yield from ("", _natives(matrix).markdown(), "")
    yield from ("## Made with", "")
    yield from (f"- {server}: {version}" for server, version in matrix.versions.items())
    if matrix.absent:
        yield from ("", "Not there when it was made: ")
        yield from (f"- {server}: {why}" for server, why in matrix.absent.items())


def _own_orders(matrix: Matrix) -> Table:
    rows = []
    for server in matrix.servers:
        cell = next(cell for (name, _), cell in matrix.cells.items() if name == server)
        unasked = matrix.unasked[server].lowat
        shares = [f"{cell.probes[name].important_share:.0%}" for name in ("none", "reversed")]
        rows.append(
            (
                server,
                cell.own_order,
                *shares,
                own_order_on_link(unasked),
                f"{unasked.script_first_ms / 1000:.2f} s",
                f"{unasked.script_last_ms / 1000:.2f} s",
                f"{unasked.image_last_ms / 1000:.2f} s",
            )
        )
    head = (
        "server",
        "window",
        "image first",
        "script first",
        "slow link",
        "script first byte",
        "script last byte",
        "image last byte",
    )
    return Table(head=head, rows=tuple(rows))


def _layers(matrix: Matrix) -> Table:
    rows = [
        (
            cell.server,
            cell.dialect,
            _reading(cell),
            _outcome(cell, cell.control),
            _outcome(cell, cell.lowat),
            cell.sentence,
        )
        for cell in matrix.cells.values()
        if cell.honoured
    ]
    head = ("server", "dialect", "nothing in the way", "LOWAT unset", "LOWAT=16384", "so")
    return Table(head=head, rows=tuple(rows))


def _natives(matrix: Matrix) -> Table:
    rows = [
        (cell.server, cell.dialect, _outcome(cell, cell.native), _outcome(cell, cell.lowat))
        for cell in matrix.cells.values()
        if cell.native and cell.honoured
    ]
    return Table(head=("server", "dialect", "NATIVE=on", "LOWAT=16384"), rows=tuple(rows))


def _outcome(cell: Cell, pair: Pair | None) -> str:
    if pair is None:
        return ""
    arriving, first_s = cell.arriving(pair), pair.asked.script_first_ms / 1000
    told = f"{cell.outcome(pair)} ({round(arriving, 2) + 0.0:.0%})"
    return f"{told}; {pair.asked.before:.0%} of the image before the script, which begins at {first_s:.2f} s"
