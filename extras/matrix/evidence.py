"""Shows the evidence of a cell in the matrix's page: what was sent and served, and the runs that recorded it. Pure."""

from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import quote

from priolab.common.amounts import seconds
from priolab.extras.matrix.cells import Cell, Pair
from priolab.extras.matrix.crossing import Crossing
from priolab.extras.matrix.matrix import Matrix
from priolab.extras.matrix.words import crossing_words, own_order_words, probe_words

WAY_NAMES = {"control": "unset", "lowat": "lowat", "native": "native"}
"""The short names of the loads over the slow link, by the field of Cell that has them."""
UNASKED = "none"
"""The text in place of a dialect's name in the names of runs whose client asks for no order."""
_UNASKED_ROLES = ("probe", "probe-reversed", "control", "lowat")
_ASKED = {"spdy": "script asked for first", "swap": "image asked for first"}


class Sent:
    """The signals that clients sent in the matrix, each once, with a place in the page."""

    def __init__(self, matrix: Matrix) -> None:
        self._dialects: dict[tuple[tuple[str, ...], ...], list[str]] = {}
        for cell in matrix.cells.values():
            if cell.signals:
                named = self._dialects.setdefault(_key(cell), [])
                named += [cell.dialect] if cell.dialect not in named else []

    def place(self, cell: Cell) -> str | None:
        """Returns the name of the place that shows what was sent for a cell; None if the matrix does not have it."""
        return f"sent-{list(self._dialects).index(_key(cell))}" if cell.signals else None

    def section(self) -> str:
        """Returns the section that shows everything sent; an empty text if there is nothing."""
        shown = "".join(
            f'<details id="sent-{number}"><summary>{escape(", ".join(named))}</summary><div class="sent">'
            f"{''.join(_lists(lists))}</div></details>\n"
            for number, (lists, named) in enumerate(self._dialects.items())
        )
        return (
            f"<h2>What the client sends</h2>\n<p>Settings, requests and later changes of priority, as recorded in the"
            f" probes, in the order in which the client sends them.</p>\n{shown}"
            if shown
            else ""
        )


def _key(cell: Cell) -> tuple[tuple[str, ...], ...]:
    return tuple(cell.signals[role] for role in _ASKED)


def _lists(lists: Sequence[Sequence[str]]) -> Iterator[str]:
    for name, lines in zip(_ASKED.values(), lists, strict=True):
        yield f"<div><p><b>{name}</b></p><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul></div>"


def evidence(matrix: Matrix, cell: Cell, sent: Sent, runs: str) -> str:
    """Returns the evidence of a cell as HTML. runs: the path of the folder with links to the runs."""
    return "".join(f"<p>{line}</p>" for line in _lines(matrix, cell, sent, runs))


def _lines(matrix: Matrix, cell: Cell, sent: Sent, runs: str) -> Iterator[str]:
    front = matrix.fronts[cell.server]
    digest = f", digest {front.digest}" if front.digest else ""
    yield escape(f"{cell.server}, {cell.dialect}: version {cell.version}{digest}")
    asked, swapped = (f"{cell.probes[name].important_share:.0%}" for name in _ASKED)
    yield f"script's share of the window: {asked}; {swapped} if the image is asked for first"
    if cell.asked:
        yield escape(f"asked: {'; '.join(cell.asked.values())}")
    if cell.strong_shares:
        strong = [f"{share:.0%}" for share in cell.strong_shares]
        yield f"with weights that differ much: {strong[0]}; {strong[1]} if the image is asked for first"
    yield escape(f"without priorities: {own_order_words(cell)}")
    yield f"<b>{escape(cell.sentence)}</b>"
    if place := sent.place(cell):
        yield f'<a href="#{place}">sent by the client</a>'
    for role, words in _ASKED.items():
        yield f"window, {words}: {escape(probe_words(cell, role))}"
    for way, name in WAY_NAMES.items():
        pair: Pair | None = getattr(cell, way)
        if pair:
            yield f"<b>{name}: {cell.outcome(pair)}</b>"
            for words, crossing in zip(_ASKED.values(), (pair.asked, pair.swapped), strict=True):
                yield f"{words}: {escape(_crossed(crossing))}"
    yield f"made by <code>{escape(f'make matrix SERVER={cell.server} DIALECT={cell.dialect}')}</code>"
    if cell.arms:
        yield f"which leaves its runs here: {', '.join(_links(cell, runs))}"


def _crossed(crossing: Crossing) -> str:
    ends = f"script {seconds(crossing.script_last_ms)}, image {seconds(crossing.image_last_ms)}"
    return f"{crossing_words(crossing)}; complete: {ends}"


def _links(cell: Cell, runs: str) -> Iterator[str]:
    ways = ["probe", *(["strong"] if cell.strong_shares else []), *(way for way in WAY_NAMES if getattr(cell, way))]
    unasked = f"{cell.arms.rpartition('.')[0]}.{UNASKED}"
    names = [(cell.arms, f"{way}-{asked}") for way in ways for asked in _ASKED]
    names += [(unasked, role) for role in _UNASKED_ROLES]
    for arms, role in names:
        told = role if arms == cell.arms else f"{UNASKED}.{role}"
        yield f'<a href="{escape(quote(f"{runs}/{arms}.{role}/", safe="/@"))}">{told}</a>'
