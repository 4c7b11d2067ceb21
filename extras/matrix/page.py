"""The matrix as one HTML file, which needs no network: to sort, to filter, with small timelines.

Pure, but for page.html, page.css and page.js, which it reads: frame and prose, style, script. All results are in the
page without its script, too; the script sorts rows and hides rows, columns and cells.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from priolab.analysis.figures.palette import GRID, INK, QUIET, RESOURCES, ink_on
from priolab.analysis.judgement.layers import Layer
from priolab.analysis.judgement.order import Reading
from priolab.extras.matrix.cells import Cell
from priolab.extras.matrix.changes import HEAD, Change, by_versions, unchanged
from priolab.extras.matrix.crossing import Crossing
from priolab.extras.matrix.evidence import WAY_NAMES, Sent, evidence
from priolab.extras.matrix.matrix import Front, Matrix
from priolab.extras.matrix.notes import notes
from priolab.extras.matrix.timelines import Timelines
from priolab.extras.matrix.words import MARKS, anchor, measured_words, reading_words

_COLOURS = {Layer.NOWHERE: "#00664b", Layer.SOCKET: "#1f9384", Layer.FRONT: "#ddcc77", Layer.SERVER: "#e4e4e4"}
_RANKS = {layer: rank for rank, layer in enumerate(_COLOURS)}

RUNS = "../results/matrix-runs"
"""The path from build/ to the folder with links to the runs, if RESULTS is the default."""

_INKS = f":root {{ --ink: {INK}; --quiet: {QUIET}; --grid: {GRID}; }}"


def html(matrix: Matrix, runs: str = RUNS) -> str:
    """Returns the HTML document. runs: the path from the document to the folder with links to the runs."""
    longest_ms = max(each.spans[-1].last_ms for cell in matrix.cells.values() for _, each in _crossings(matrix, cell))
    timelines = Timelines(longest_ms)
    sent = Sent(matrix)
    rows = "\n".join(_row(matrix, front, timelines, sent, runs) for front in matrix.fronts.values())
    absent = "".join(f"<p class='quiet'>{escape(server)}: {escape(why)}.</p>" for server, why in matrix.absent.items())
    return Template(_file("page.html")).substitute(
        inks=_INKS,
        style=_file("page.css"),
        definitions=timelines.definitions(),
        measured=escape(measured_words(matrix)),
        key=_key(),
        form=_form(matrix),
        head=_head(matrix),
        rows=rows,
        longest_s=f"{timelines.longest_ms / 1000:.1f}",
        absent=absent,
        changes=_changes(matrix),
        notes=_notes(matrix),
        sent=sent.section(),
        script=_file("page.js"),
    )


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text()


def _key() -> str:
    marks = [(str(name), colour) for name, colour in RESOURCES.items()]
    marks += [(MARKS[layer], colour) for layer, colour in _COLOURS.items()]
    return "".join(
        f'<span><span class="key" style="background:{colour}"></span>{escape(name)}</span>' for name, colour in marks
    )


def _form(matrix: Matrix) -> str:
    servers = list(dict.fromkeys(front.server for front in matrix.fronts.values()))
    layers = {str(layer): MARKS[layer] for layer in _COLOURS}
    newest = '<label class="box"><input type="checkbox" id="newest">only the newest version of each server</label>'
    return (
        f'<form id="filter" hidden>{_select("server", "server", {name: name for name in servers})}'
        f"{_select('dialect', 'dialect', {name: name for name in matrix.dialects})}"
        f"{_select('layer', 'result', layers)}{newest}</form>"
    )


def _select(key: str, label: str, values: Mapping[str, str]) -> str:
    options = "".join(f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in values.items())
    return f'<label>{label}<select id="{key}"><option value="">all</option>{options}</select></label>'


def _head(matrix: Matrix) -> str:
    columns = {"server": "", **{name: name for name in matrix.dialects}}
    return "".join(
        f'<th scope="col" data-column="{escape(key)}"><button type="button">{escape(name)}</button></th>'
        for name, key in columns.items()
    )


def _row(matrix: Matrix, front: Front, timelines: Timelines, sent: Sent, runs: str) -> str:
    row = {cell.dialect: cell for cell in matrix.row(front.name)}
    cells = "".join(
        _cell(matrix, row[name], timelines, evidence(matrix, row[name], sent, runs)) if name in row else _EMPTY
        for name in matrix.dialects
    )
    newest = front.name not in {old.name for old, _ in matrix.successions()}
    lines = [front.version, front.built_with] if front.version != front.edition else [front.built_with]
    told = "<br>".join(escape(line) for line in lines if line)
    name = escape(front.name).replace("@", "<wbr>@")
    return (
        f'<tr data-server="{escape(front.server)}" data-newest="{int(newest)}">'
        f'<th scope="row" title="{escape(front.said)}">{name}<span>{told}</span></th>{cells}</tr>'
    )


_EMPTY = '<td data-layer="" data-rank="9"></td>'


def _cell(matrix: Matrix, cell: Cell, timelines: Timelines, shown: str) -> str:
    colour = _COLOURS[cell.layer]
    word = reading_words(cell) if cell.honoured or cell.reading is Reading.PROPORTIONAL else str(cell.reading)
    picture = timelines.picture(cell.probes["spdy"], _crossings(matrix, cell))
    place = escape(anchor(cell))
    link = f'<a href="#{place}" aria-label="link to {escape(cell.server)} in {escape(cell.dialect)}">#</a>'
    return (
        f'<td id="{place}" data-layer="{cell.layer}" data-rank="{_RANKS[cell.layer]}">'
        f'<div class="stamp" style="background:{colour};color:{ink_on(colour)}">{escape(word)}{link}</div>{picture}'
        f"<details><summary>evidence</summary>{shown}</details></td>"
    )


def _crossings(matrix: Matrix, cell: Cell) -> list[tuple[str, Crossing]]:
    if cell.control is None:
        unasked = matrix.unasked[cell.server]
        return [("unset", unasked.control), ("lowat", unasked.lowat)]
    pairs = ((name, getattr(cell, way)) for way, name in WAY_NAMES.items())
    return [(name, pair.asked) for name, pair in pairs if pair]


def _changes(matrix: Matrix) -> str:
    if not matrix.successions():
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in HEAD)
    groups = "\n".join(
        f'<tbody data-server="{escape(old.server)}"><tr><th colspan="6" scope="rowgroup"><span>'
        f"{escape(old.words)} \u2192 {escape(new.words)}</span></th></tr>\n{_group(found)}</tbody>"
        for old, new, found in by_versions(matrix)
    )
    same = ", ".join(f"{old.words} \u2192 {new.words}" for old, new in unchanged(matrix))
    return f"""<h2>What changed between versions</h2>
<div class="scroll" tabindex="0" role="region" aria-label="changes"><table id="changes" class="plain">
<thead><tr>{head}</tr></thead>
{groups}
</table></div>
{f'<p class="quiet">No difference: {escape(same)}.</p>' if same else ""}"""


def _group(found: Iterable[Change]) -> str:
    return "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in change.told)}</tr>\n" for change in found)


def _notes(matrix: Matrix) -> str:
    found = "".join(
        f"<p><b>{escape(note.names)}</b> in {escape(note.dialects)}: {escape(note.text)}"
        f' <span class="quiet">{escape(note.frames)}</span></p>\n'
        for note in notes(matrix)
    )
    return f"<h2>Verdicts that surprise</h2>\n{found}" if found else ""


def colours() -> Sequence[str]:
    """Returns the background colours of the cells' headings, for a test of their contrast."""
    return list(_COLOURS.values())
