"""Explains verdicts that surprise, with frames of the matrix. Pure.

Rules:
1. A note is shown only if the matrix has the verdict. A note says for which cells it holds. Each cell that fits is
   named, and the frames are those of the first such cell.
2. What a note says beyond the frames is known of the programs: their documentation, or docs/guide/servers.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from priolab.analysis.loads.readings import OwnOrder, Reading
from priolab.extras.matrix.cells import STRONG, Cell, Layer, Outcome
from priolab.extras.matrix.matrix import Matrix
from priolab.extras.matrix.words import crossing_words, probe_words

_UNEVENLY = 0.1


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """An explanation of verdicts. names, dialects: the cells that it explains. frames: what the frames show."""

    names: str
    dialects: str
    text: str
    frames: str


@dataclass(frozen=True, kw_only=True)
class _Note:
    """A note. servers: the servers it is about. fits: True for a cell that the note explains. text: the explanation.

    shown: what the frames of a cell show, in words.
    """

    servers: tuple[str, ...]
    dialects: tuple[str, ...]
    fits: Callable[[Cell], bool]
    text: str
    shown: Callable[[Cell], str]


def _both_probes(cell: Cell) -> str:
    return f"script asked for first: {probe_words(cell, 'spdy')}; image asked for first: {probe_words(cell, 'swap')}"


def _strong_probes(cell: Cell) -> str:
    asked, swapped = (probe_words(cell, role) for role in STRONG)
    return f"weights 256 and 32, script asked for first: {asked}; image asked for first: {swapped}"


def _unasked(cell: Cell) -> str:
    return f"image requested first: {probe_words(cell, 'none')}; script first: {probe_words(cell, 'reversed')}"


def _link(cell: Cell) -> str:
    assert cell.lowat is not None
    asked, swapped = (crossing_words(each) for each in (cell.lowat.asked, cell.lowat.swapped))
    return f"LOWAT=16384, script asked for first: {asked}; image asked for first: {swapped}"


_LIBRARY = """\
These servers read priorities with libnghttp2, which lost the tree of RFC 7540 in version 1.65; the same server with an
older library follows the tree. Without the header field all responses have RFC 9218's default: urgency 3, not
incremental. Such responses come one after the other, in the order of the requests."""

_NO_UPDATES = """\
These servers follow RFC 9218's header field, but a PRIORITY_UPDATE frame changes nothing: the frames are the same
whichever resource it asks for. nghttpx with the same library follows the frame."""

_BOTH_SCHEMES = """\
This nghttpx has both schemes. It reads RFC 9218 only from a client that turns RFC 7540 off, as in header+no7540."""

_PIECE_BY_PIECE = """\
Go's HTTP/2 gets at most 32 KiB of a response at a time. In the probe it holds a piece of both responses and can choose.
Over the slow link, when the script's piece has been written, the image's piece is the only one that waits. In the guest
a program's work takes no time, so Go's processors never work at once; on two real processors the script's next piece
may come sooner, and a part of the effect arrives (decisions/0018-matrix.md)."""

_TURNED_TREE = """\
Weights that differ much turn the order of Caddy, made with Go 1.19: with 256 and 32 the stream that should get 89 % of
the window gets nearly nothing. With 183 and 147 it gets a little more if it is asked for first."""

_ANOTHER_GO = """\
Go has the tree of RFC 7540 until version 1.20. Made with a newer Go, Caddy lets streams take turns, even if its own
version is the same."""

_QUEUE = """\
In the probe the windows hold both responses back, and the server orders them. Over the slow link the windows are open.
Then the server puts all that it holds into its output queue at once, and the order there is fixed. BUFFERING=off is no
cure: the script begins sooner (docs/guide/servers.md), but the server holds too little of the responses to order
them."""

_TOO_LATE = """\
Over the slow link the order is that of the requests, which ask for the opposite of what the frames ask for later: when
the frames arrive, nginx has put both responses into its output queue."""

_FRAMES_ALONE = """\
Over HTTP/3 Envoy reads priorities from PRIORITY_UPDATE frames alone. Over HTTP/2 it is the other way round: it follows
the header field and ignores the frames."""

_BY_THE_REQUESTS = """\
The requests ask for the opposite of what PRIORITY frames ask for later. The bytes come as the requests ask."""

_PIECES_OVER_HTTP3 = """\
These servers order the pieces that they hold, with quic-go. In the probe the less urgent response gets the bytes of the
moments in which the other one has no piece ready: Caddy's pieces have 32 KiB, Traefik's are much smaller. Over the slow
link the next piece is ready before the last one has been sent, and the more urgent response gets most of the link."""

_PREFERS_SCRIPTS = """\
Without the header field lighttpd prefers the script by itself, whichever resource is requested first."""

_UNEVEN = """\
The streams do not get equal shares, though no priorities are read: one stream sends much more than the 8 KiB of a
window's step before it is the other's turn. Which stream gets more depends on the order of the requests."""


def _first_come(cell: Cell) -> bool:
    return cell.reading is Reading.IGNORED and cell.own_order is OwnOrder.FIRST_COME


_NGHTTP2 = ("apache", "nghttpx", "node")
_TREES = ("plain", "chrome", "firefox", "safari")
_NOTES = (
    _Note(servers=_NGHTTP2, dialects=_TREES, fits=_first_come, text=_LIBRARY, shown=_unasked),
    _Note(
        servers=("apache", "node"),
        dialects=("update", "update+no7540"),
        fits=_first_come,
        text=_NO_UPDATES,
        shown=_both_probes,
    ),
    _Note(
        servers=("nghttpx",),
        dialects=("header", "update"),
        fits=lambda cell: cell.reading is Reading.IGNORED,
        text=_BOTH_SCHEMES,
        shown=_both_probes,
    ),
    _Note(
        servers=("caddy",),
        dialects=("plain", "chrome"),
        fits=lambda cell: cell.layer is Layer.FRONT,
        text=_PIECE_BY_PIECE,
        shown=_link,
    ),
    _Note(
        servers=("caddy",),
        dialects=("plain",),
        fits=lambda cell: cell.reading is Reading.CONTRARY and cell.strong_shares is not None,
        text=_TURNED_TREE,
        shown=_strong_probes,
    ),
    _Note(
        servers=("caddy",),
        dialects=("plain", "chrome"),
        fits=lambda cell: cell.reading is Reading.IGNORED,
        text=_ANOTHER_GO,
        shown=_both_probes,
    ),
    _Note(
        servers=("envoy", "node"),
        dialects=("chrome", "header"),
        fits=lambda cell: cell.layer is Layer.FRONT,
        text=_QUEUE,
        shown=_link,
    ),
    _Note(
        servers=("nginx",),
        dialects=("plain+reprioritize",),
        fits=lambda cell: cell.outcome(cell.lowat) is Outcome.TURNED,
        text=_TOO_LATE,
        shown=_link,
    ),
    _Note(
        servers=("trafficserver",),
        dialects=("plain+reprioritize",),
        fits=lambda cell: cell.reading is Reading.CONTRARY,
        text=_BY_THE_REQUESTS,
        shown=_both_probes,
    ),
    _Note(
        servers=("envoy-h3",),
        dialects=("header",),
        fits=lambda cell: cell.reading is Reading.IGNORED,
        text=_FRAMES_ALONE,
        shown=_both_probes,
    ),
    _Note(
        servers=("caddy-h3", "traefik-h3"),
        dialects=("header", "update"),
        fits=lambda cell: cell.reading is Reading.PROPORTIONAL,
        text=_PIECES_OVER_HTTP3,
        shown=_both_probes,
    ),
    _Note(
        servers=("lighttpd",),
        dialects=("plain",),
        fits=lambda cell: cell.own_order is OwnOrder.SCRIPT_FIRST,
        text=_PREFERS_SCRIPTS,
        shown=_unasked,
    ),
    _Note(
        servers=("haproxy",),
        dialects=("plain",),
        fits=lambda cell: abs(cell.probes["none"].important_share - 0.5) > _UNEVENLY,
        text=_UNEVEN,
        shown=_unasked,
    ),
)


def notes(matrix: Matrix) -> Iterator[Explanation]:
    """Yields an explanation for each kind of verdict that needs one."""
    for note in _NOTES:
        found = [
            cell
            for name, front in matrix.fronts.items()
            for cell in matrix.row(name)
            if front.server in note.servers and cell.dialect in note.dialects and note.fits(cell)
        ]
        if found:
            first = found[0]
            yield Explanation(
                names=", ".join(dict.fromkeys(cell.server for cell in found)),
                dialects=", ".join(dict.fromkeys(cell.dialect for cell in found)),
                text=note.text.replace("\n", " "),
                frames=f"Frames of {first.server} in {first.dialect}: {note.shown(first)}.",
            )
