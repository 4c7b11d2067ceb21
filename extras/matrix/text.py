"""Writes the matrix as text: a Markdown table, and docs/measured/matrix.md. Pure."""

from collections.abc import Callable, Iterator
from itertools import groupby
from textwrap import fill

from priolab.analysis.sweeps.table import Table
from priolab.extras.matrix.cells import STRONG, Cell, Pair, own_order_on_link
from priolab.extras.matrix.changes import changes, unchanged
from priolab.extras.matrix.edition import Edition, edition
from priolab.extras.matrix.matrix import Matrix
from priolab.extras.matrix.moves import Moves, moves
from priolab.extras.matrix.notes import notes
from priolab.extras.matrix.words import MARKS, WAYS, anchor, measured_words, reading_words

_HEADING = "Who keeps the order?"
_EXPLANATION = """\
Made by `make matrix`. Each row is a server in one version: `nginx@sid`, for example, is the nginx of this Debian suite
([versions.md](../guide/versions.md)). extras/matrix/matrix.toml names the versions. Each column is a dialect: a way in
which a client says which response comes first (`DIALECT`, client/dialects.py). The client requests the image, then the
script, and asks to get the script first. In some dialects, such as *plain+reprioritize*, its requests ask for the image
first, and frames that it sends later ask for the script first. The dialect *firefox* is history: Firefox sent these
dependencies until version 127. [transition.md](transition.md) has what today's browsers send.

**With nothing in the way.** In a probe both streams wait for a closed flow-control window, which the client opens by 8
KiB at a time. So the server alone decides whose bytes come first. In one probe the client asks for the script first, in
another for the image first. *Strict*: the resource that is asked for first gets at least 98 % of the window.
*Proportional*: a resource gets more of the window if it is asked for first; the table has the script's share of the
window in the first probe, a colon, and its share in the second. *Ignored*: the shares are the same in the two probes.
*Contrary*: a resource gets less of the window if it is asked for first. In a probe only the order of the bytes counts,
not the times at which they come.

In the dialects with the page's own weights, *plain* and *plain+reprioritize*, the client asks twice: with the weights
183 and 147, which ask for 55 % of the window, and with 256 and 32, which ask for 89 %. The table has the shares of both
("and"), and one word. A server is *contrary* if it is so with either weights, and *strict* only if it is so with both.
The weights 256 and 32 tell a server that shares by weight from one that shares evenly (50 %) and from a strict one (98
%) by several steps of the window. The loads below have the weights 183 and 147.

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
Apache puts all of a response into its output queue, and LOWAT no longer helps (docs/guide/servers.md).

The matrix is measured in the guest, where the work of a program takes no time. So the two processors of a server made
with Go (caddy, go, traefik) are never at work at once, as they are on a real machine. For these servers *lost* says
what happens without real concurrency; on two real processors a part of the effect may arrive.

Names with `-h3`, such as `nginx-h3@sid`, are servers over HTTP/3 ([http3.md](../guide/http3.md)), which has only the
signals of RFC 9218. The probe holds the windows of QUIC back in the same way. Over the slow link no kernel's send
buffer is in the way, and LOWAT has no effect."""


_CHANGES = """\
Each version of a server is compared with the next one in the table. In parentheses is the library, or the Go, that has
the server's HTTP/2, if it is not the server's own: a change may come with it. *Nothing in the way*: the script's share
of the window if the script, and if the image, is asked for first; the frames are the first ones of the probe that asks
for the script first. *Without priorities*: the script's share if the image, and if the script, is requested first; the
frames are those of the first of these two probes. *Slow link*: the outcome of the two loads."""

_LINE = 120


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


def document(matrix: Matrix, past: Edition | None = None, page_name: str = "matrix.html") -> str:
    """Returns the text of docs/measured/matrix.md.

    past: the edition since which it shows what moved; None without an older one. page_name: the file of the page.
    """
    return "\n".join(_document(matrix, past, page_name)) + "\n"


def _document(matrix: Matrix, past: Edition | None, page_name: str) -> Iterator[str]:
    yield from (f"# {_HEADING}", "", _EXPLANATION, "")
    told = (
        "matrix.html shows the same results with small timelines, to sort and to filter. Each cell of the table links"
        " to its place there, with the frames, the command that makes its runs again, and their folders. matrix.json"
        f" has the results for programs, with the recorded frames. {measured_words(matrix)}"
    )
    yield from (fill(told, width=_LINE), "", table(matrix, page_name), "")
    if asked := _asked(matrix):
        yield from ("## What the dialects ask for", "")
        yield "The part of the window that the client asks for the script, as long as both streams are open (RFC 7540,"
        yield "5.3; RFC 9218, 10)."
        yield from ("", asked.markdown(), "")
    if past:
        yield from _moved(moves(past, edition(matrix)), page_name.removesuffix(".html"))
    if matrix.successions():
        yield from ("## What changed between versions", "")
        yield from _changed(matrix)
    if explained := list(notes(matrix)):
        yield from ("## Verdicts that surprise", "")
        for each in explained:
            yield fill(f"**{each.names}** in {each.dialects}: {each.text} {each.frames}", width=_LINE)
            yield ""
    yield from ("## Without priorities", "")
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
    for name, front in matrix.fronts.items():
        library = f", with {front.built_with}" if front.built_with else ""
        digest = f", digest {front.digest}" if front.digest else ""
        yield f"- {name}: {front.said}{library}{digest}"
    if matrix.absent:
        yield from ("", "Servers that were not installed:")
        yield from (f"- {server}: {why}" for server, why in matrix.absent.items())


def _asked(matrix: Matrix) -> Table | None:
    """Returns a table of what the client asks for in each dialect; None without records of it."""
    told = {cell.dialect: cell.asked for cell in matrix.cells.values() if cell.asked}
    rows = tuple((name, asked["spdy"], asked.get(STRONG[0], "")) for name, asked in told.items())
    return Table(head=("dialect", "usual", "strong"), rows=rows) if rows else None


def _moved(moved: Moves, folder: str) -> Iterator[str]:
    yield from (f"## What moved since {moved.since}", "")
    yield f"[{folder}/{moved.since}.json]({folder}/{moved.since}.json) has the verdicts of that day."
    for sentence in moved.sentences:
        yield from ("", fill(sentence, width=_LINE, break_long_words=False, break_on_hyphens=False))
    if moved.cells:
        rows = tuple((each.name, ", ".join(each.dialects), each.was, each.now) for each in moved.cells)
        yield from ("", Table(head=("server", "dialects", f"on {moved.since}", "now"), rows=rows).markdown())
    yield ""


def _changed(matrix: Matrix) -> Iterator[str]:
    yield _CHANGES
    head = ("measurement", "dialects", "before", "after", "frames before", "frames after")
    for (old, new), found in groupby(changes(matrix), lambda change: (change.old, change.new)):
        yield from ("", f"### {old.words} to {new.words}", "")
        yield Table(head=head, rows=tuple(change.told for change in found)).markdown()
    if same := [f"{old.words} and {new.words}" for old, new in unchanged(matrix)]:
        yield from ("", fill(f"No difference: {'; '.join(same)}.", width=_LINE))
    yield ""


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
                own_order_on_link(unasked),
                f"{unasked.script_first_ms / 1000:.2f} s",
                f"{unasked.script_last_ms / 1000:.2f} s",
                f"{unasked.image_last_ms / 1000:.2f} s",
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
    arriving, first_s = cell.arriving(pair), pair.asked.script_first_ms / 1000
    told = f"{cell.outcome(pair)} ({round(arriving, 2) + 0.0:.0%})"
    return f"{told}; {pair.asked.before:.0%} of the image before the script, which begins at {first_s:.2f} s"
