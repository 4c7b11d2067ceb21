"""Writes the matrix as text: a Markdown table, and docs/matrix.md. Pure."""

from collections.abc import Iterator

from analysis.matrix.cells import Cell, Layer, Matrix, Pair, Reading, own_order_on_link
from analysis.sweeps.table import Table

MARKS = {
    Layer.NOWHERE: "arrives",
    Layer.SOCKET: "arrives with LOWAT",
    Layer.FRONT: "lost in the front",
    Layer.SERVER: "not followed",
}

_HEADING = "Who keeps the order?"
_EXPLANATION = """\
Made by `make matrix`. Each row is an installed server of the catalogue that speaks HTTP/2. Each column is a dialect: a
way in which a client says which response comes first (`DIALECT`, client/dialects.py). The client requests the image,
then the script, and asks to get the script first. In some dialects, such as *plain+reprioritize*, its requests ask for
the image first, and frames that it sends later ask for the script first.

**With nothing in the way.** In a probe both streams wait for a closed flow-control window, which the client opens by 8
KiB at a time. So the server alone decides whose bytes come first. In one probe the client asks for the script first, in
another for the image first. *Strict*: the resource that is asked for first gets at least 98 % of the window.
*Proportional*: a resource gets more of the window if it is asked for first; the table has the script's share of the
window in the first probe, a colon, and its share in the second. *Ignored*: the shares are the same in the two probes.
*Contrary*: a resource gets less of the window if it is asked for first. In a probe only the order of the bytes counts,
not the times at which they come.

**With the socket in the way.** If a server is strict or proportional in a dialect, the client also loads the page from
it over the slow link (128 kB/s, 300 ms), in the first load of a connection. Image and script have 384 KiB each, the
send buffer has 4 MB, the server takes whole responses from the origin (`BUFFERING=on`), and LOWAT is unset or 16384.
Again the client asks for the script first in one load, and for the image first in another. The script's *lead* in a
load is how much sooner it is complete than the image. The *effect* of asking is the difference between the script's
leads in the two loads. *Arrives*: the effect over the slow link is at least a third of the effect with nothing in the
way; the whole effect cannot arrive, because the image is ready before the script. *Weak*: the effect over the slow link
is less than a third, but at least a tenth. *Lost*: it is less than a tenth. *Turned round*: a resource is complete
later if it is asked for first.

Together, the probes and the loads over the slow link show the layer that lost the order: the server, which does not
read the dialect; the front's output queue, between its scheduler and the socket; or the kernel's send buffer, the only
layer that LOWAT bounds. If a server shares the window almost evenly in a dialect, the effect with nothing in the way is
small, and so is a third of this effect. The words *arrives* and *lost* judge two loads together, unlike the verdicts
*kept* and *inverted*, which judge a single load. This page is about the first load of a connection. On later loads
Apache puts all of a response into its output queue, and LOWAT no longer helps (docs/servers.md)."""


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
    """Returns a server's interpretation of a dialect, with the script's shares unless the server is strict."""
    if cell.reading is Reading.STRICT:
        return str(cell.reading)
    asked, swapped = (round(100 * cell.probes[name].important_share) for name in ("spdy", "swap"))
    return f"{cell.reading} {asked}:{swapped} %"


def document(matrix: Matrix) -> str:
    """Returns the text of docs/matrix.md."""
    return "\n".join(_document(matrix)) + "\n"


def _document(matrix: Matrix) -> Iterator[str]:
    yield from (f"# {_HEADING}", "", _EXPLANATION, "")
    yield "matrix.html shows the same results with small timelines; matrix.json has them for programs."
    yield from ("", table(matrix), "", "## Without priorities", "")
    yield "The order in which each server sends image and script when the client sends no priorities. *Window*: the"
    yield "order in a probe, in which both streams wait for a closed flow-control window that the client opens bit by"
    yield "bit. *Image first* and *script first*: the script's share of this window if the image, or the script, is"
    yield "requested first. *Slow link*: the order over the slow link (128 kB/s, 300 ms), with LOWAT 16384 and the"
    yield "image requested first; the times are those of this load."
    yield from ("", _own_orders(matrix).markdown(), "", "## Where the order is lost", "")
    yield from (_layers(matrix).markdown(), "")
    if any(cell.native for cell in matrix.cells.values()):
        yield from ("## The servers' own mechanisms", "")
        yield "Loads over the slow link, with the server's own limit on the bytes that it writes to the kernel ahead of"
        yield "the network (`NATIVE=on`), and beside them the same loads with LOWAT."
        yield from ("", _natives(matrix).markdown(), "")
    yield from ("## Made with", "")
    yield from (f"- {server}: {version}" for server, version in matrix.versions.items())
    if matrix.absent:
        yield from ("", "Servers that were not installed:")
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
    head = ("server", "dialect", "nothing in the way", "LOWAT unset", "LOWAT=16384", "conclusion")
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
