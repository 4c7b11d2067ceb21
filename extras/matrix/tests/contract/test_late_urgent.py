"""Tests of docs/measured/late-urgent.md: the section about equal urgencies follows from the recorded frames."""

import json

import pytest

from priolab.analysis.judgement.order import Sharing
from priolab.analysis.reports.markdown import places
from priolab.common.home import ROOT
from priolab.extras.matrix.equal_urgency import Case, Sequels, dumped, sequels_from
from priolab.extras.matrix.late import COMPARED, fronts
from priolab.extras.matrix.late_document import equal_places
from priolab.extras.matrix.matrix_files import earlier

DOCS = ROOT / "docs/measured"


@pytest.fixture(scope="module")
def recorded() -> Sequels:
    """Return the recorded probes."""
    return sequels_from(json.loads((DOCS / "late-urgent.json").read_text()))


def test_the_section_follows_from_the_frames(recorded: Sequels) -> None:
    """The table and the sentences of the document are those of the recorded bytes."""
    marked = places((DOCS / "late-urgent.md").read_text())
    assert equal_places(recorded, COMPARED).items() <= marked.items()
    assert dumped(recorded) == (DOCS / "late-urgent.json").read_text()


def test_the_servers_are_those_of_the_matrix(recorded: Sequels) -> None:
    """Each server that follows RFC 9218 in the matrix, in its newest version, is in every table, and nginx as well."""
    matrix = earlier(DOCS / "matrix.md")
    assert matrix is not None
    servers = fronts(matrix)
    assert list(recorded) == [name for name, buffering in servers if buffering == "on"]
    marked = places((DOCS / "late-urgent.md").read_text())
    for name, buffering in servers:
        named = f"| `{name}`, `BUFFERING=off` |" if buffering == "off" else f"| `{name}` |"
        assert [marked[each].count(named) for each in ("late", "pieces")] == [1, 1], name
        assert marked["equals"].count(f"`{name}`") == 1


def test_the_probes_are_whole(recorded: Sequels) -> None:
    """In each probe both responses were requested, and a server without RFC 9218 serves every case alike."""
    for cases in recorded.values():
        assert list(cases) == list(Case)
        for case, each in cases.items():
            assert {name for name, _ in each.served} <= set(each.names), case
    (compared,) = (cases for server, cases in recorded.items() if server.startswith(COMPARED))
    assert {each.order for each in compared.values()} == {Sharing.SHARED}
