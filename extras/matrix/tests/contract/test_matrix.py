"""Tests of the documented matrix: schema, verdicts that follow from frames, and the documents made of it."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from priolab.analysis.reports.markdown import places
from priolab.common.formats.reading import read_document
from priolab.extras.matrix import text
from priolab.extras.matrix.document import document, dumped, matrix_from
from priolab.extras.matrix.edition import EDITION_FORMAT, Edition, dumped_edition
from priolab.extras.matrix.matrix import Matrix
from priolab.extras.matrix.site import PAGE, for_site
from tests.support.documented import DOCS, documented
from tests.support.schemas import validator

SCHEMA = json.loads((DOCS / "matrix.schema.json").read_text())


@pytest.fixture(scope="module")
def recorded() -> Matrix:
    """Return the matrix of the recorded frames alone."""
    return matrix_from(documented())


def test_the_schema() -> None:
    """The document fits the schema."""
    check = validator(SCHEMA)
    check.check_schema(SCHEMA)
    check.validate(documented())


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("format",), 1),
        (("date",), "yesterday"),
        (("servers", "nginx@sid", "version"), 1),
        (("servers", "nginx@sid", "digest"), "none"),
        (("servers", "nginx@sid", "dialects", "plain", "signals"), {"spdy": "000000000000"}),
        (("servers", "nginx@sid", "dialects", "plain", "reading"), "followed"),
        (("servers", "nginx@sid", "dialects", "plain", "script_share", "spdy"), 1.5),
        (("servers", "nginx@sid", "dialects", "plain", "lowat", "frames"), {}),
        (("frames", "loads"), {"000000000000": [["image", 0, 10, 1], ["script", 0, 15, 1]]}),
    ],
)
def test_the_schema_refuses(keys: tuple[str, ...], value: Any) -> None:
    """A document with a wrong value does not fit the schema."""
    spoiled = {"frames": {"probes": {}, "loads": {}, "signals": {}}} | {
        key: each for key, each in documented().items() if key != "frames"
    }
    spoiled["servers"] = json.loads(json.dumps({"nginx@sid": documented()["servers"]["nginx@sid"]}))
    check = validator(SCHEMA)
    check.validate(spoiled)
    *outer, last = keys
    place: dict[str, Any] = spoiled
    for key in outer:
        place = place[key]
    place[last] = value
    assert not check.is_valid(spoiled)


def test_every_verdict_follows_from_frames(recorded: Matrix) -> None:
    """The verdicts of all cells, and all changes, computed again from the frames, equal the documented ones."""
    again = document(recorded)
    assert again.keys() == documented().keys()
    servers: Mapping[str, Any] = documented()["servers"]
    assert list(again["servers"]) == list(servers)
    for name, row in again["servers"].items():
        assert row == servers[name], name
    assert again["changes"] == documented()["changes"]
    assert again["frames"] == documented()["frames"]


def test_documents_of_one_matrix(recorded: Matrix) -> None:
    """docs/measured/matrix.md and .json are those of the recorded frames."""
    assert (DOCS / "matrix.json").read_text() == dumped(documented())
    assert places((DOCS / "matrix.md").read_text()) == text.places(recorded)


def test_the_frames_are_whole(recorded: Matrix) -> None:
    """Each load has all bytes of both resources, and a probe no more than that. Every frame belongs to a cell."""
    sizes = {
        sum(size for resource, _, _, size in load if resource == name)
        for load in documented()["frames"]["loads"].values()
        for name in ("image", "script")
    }
    (size_bytes,) = sizes
    for cell in recorded.cells.values():
        for probe in cell.probes.values():
            assert all(
                0 < sum(size for name, size in probe.served if name == each) <= size_bytes for each, _ in probe.served
            )
    used = json.dumps(documented()["servers"])
    assert [ref for table in documented()["frames"].values() for ref in table if ref not in used] == []


def test_each_cell_has_its_place(recorded: Matrix) -> None:
    """In the site each cell of matrix.md links to a place in the page, where its evidence is; no place is twice."""
    document, shown = for_site((DOCS / "matrix.md").read_text(), PAGE)
    linked = re.findall(rf"\]\({PAGE}#([^)]+)\)", document)
    places = re.findall(r'<td id="([^"]+)"', shown)
    assert sorted(linked) == sorted(places) == sorted(set(places))
    assert len(places) == len(recorded.cells)
    assert "nginx@sid-chrome+header" in places


def test_what_is_sent(recorded: Matrix) -> None:
    """The recorded signals of a dialect are the same for every server, and differ between the probes."""
    for dialect in recorded.dialects:
        cells = [cell for cell in recorded.cells.values() if cell.dialect == dialect]
        assert len({tuple(cell.signals.items()) for cell in cells}) == 1, dialect
        assert cells[0].signals["spdy"] != cells[0].signals["swap"]


def test_the_editions() -> None:
    """Each kept edition can be read, has the date of its file, and is written as it would be again."""
    for file in (DOCS / "matrix").glob("*"):
        kept = read_document(file, Edition, format_number=EDITION_FORMAT)
        assert (kept.date, dumped_edition(kept)) == (file.stem, file.read_text())
