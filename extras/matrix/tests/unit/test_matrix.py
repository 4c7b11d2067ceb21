"""Tests of the matrix: cells made of probes and loads, as text, as HTML, and as JSON."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from priolab.analysis.figures.palette import ink_on
from priolab.analysis.judgement.layers import Layer, Outcome
from priolab.analysis.judgement.order import OwnOrder, Reading
from priolab.analysis.loads.probe import Probe
from priolab.client.dialects import PLAIN
from priolab.experiments.commands import probe
from priolab.extras.matrix import page, text
from priolab.extras.matrix.cells import Cell, Pair
from priolab.extras.matrix.crossing import spans
from priolab.extras.matrix.document import document, dumped, matrix_from
from priolab.extras.matrix.matrix import Front, in_order
from priolab.extras.matrix.tests.unit.made_up import AFTER, ALL, NEW, NOTHING, OLD, SOME, cell, crossing, matrix
from tests.support.colours import contrast


@pytest.mark.parametrize(
    ("asked", "swapped", "reading"),
    [
        (100, 0, Reading.STRICT),
        (98, 2, Reading.STRICT),
        (97, 2, Reading.PROPORTIONAL),
        (100, 3, Reading.PROPORTIONAL),
        (55, 45, Reading.PROPORTIONAL),
        (99, 60, Reading.PROPORTIONAL),
        (50, 50, Reading.IGNORED),
        (100, 100, Reading.IGNORED),
        (51, 49, Reading.IGNORED),
        (45, 55, Reading.CONTRARY),
    ],
)
def test_readings(asked: int, swapped: int, reading: Reading) -> None:
    """The reading of a dialect depends on the script's shares if the script, and if the image, is asked for first."""
    assert cell(asked, swapped).reading is reading


@pytest.mark.parametrize(
    ("unasked", "turned", "order"),
    [
        (50, 50, OwnOrder.SHARED),
        (80, 20, OwnOrder.SHARED),
        (0, 100, OwnOrder.FIRST_COME),
        (100, 0, OwnOrder.LAST_COME),
        (100, 100, OwnOrder.SCRIPT_FIRST),
        (0, 0, OwnOrder.OTHER),
        (100, 50, OwnOrder.OTHER),
    ],
)
def test_own_orders(unasked: int, turned: int, order: OwnOrder) -> None:
    """A server's order without priorities follows from two shares of the script.

    In one probe the image is requested first, in the other the script.
    """
    assert cell(unasked=unasked, turned=turned).own_order is order


@pytest.mark.parametrize(
    ("asked", "swapped", "effect"), [(100, 0, 1.0), (50, 50, 0.0), (75, 25, 2 / 3), (60, 40, 1 / 3), (45, 55, -2 / 11)]
)
def test_what_asking_should_change(asked: int, swapped: int, effect: float) -> None:
    """The expected effect of asking is the script's lead if asked for first, less its lead if the image is.

    With 3/4 of the link a resource is complete after 2/3 of the load, so its lead is 1/3.
    """
    assert cell(asked, swapped).effect == pytest.approx(effect)


@pytest.mark.parametrize(
    ("pair", "outcome"),
    [
        (ALL, Outcome.ARRIVES),
        (Pair(asked=crossing(6000, 8000), swapped=crossing(8000, 7200)), Outcome.ARRIVES),
        (SOME, Outcome.WEAK),
        (NOTHING, Outcome.LOST),
        (Pair(asked=crossing(8000, 7800), swapped=crossing(8000, 7800)), Outcome.LOST),
        (Pair(asked=AFTER, swapped=crossing(4000, 8000)), Outcome.TURNED),
    ],
)
def test_outcomes(pair: Pair, outcome: Outcome) -> None:
    """The outcome depends on how much the loads change if the image instead of the script is asked for first.

    It does not depend on the server's order without priorities.
    """
    assert cell().outcome(pair) is outcome


def test_a_little_may_be_all() -> None:
    """If a server shares by weight, the expected effect is small, and a third of it counts as `arrives`.

    An ignored dialect has no outcome.
    """
    assert cell(55, 45).outcome(SOME) is Outcome.ARRIVES
    assert cell(50, 50).outcome(SOME) is None


@pytest.mark.parametrize(
    ("made", "layer", "told"),
    [
        (cell(50, 50), Layer.SERVER, "does not follow the dialect"),
        (cell(45, 55), Layer.SERVER, "does the contrary"),
        (cell(), Layer.SOCKET, "with LOWAT 100% of the effect arrives"),
        (cell(control=ALL), Layer.NOWHERE, "the order arrives, even with LOWAT unset"),
        (cell(lowat=NOTHING), Layer.FRONT, "with LOWAT set or unset"),
        (cell(lowat=SOME), Layer.FRONT, "begins early, but does not get the share"),
    ],
)
def test_layers(made: Cell, layer: Layer, told: str) -> None:
    """The outcomes with LOWAT unset and with LOWAT set together show the layer where the order was lost."""
    assert made.layer is layer
    assert told in made.sentence


def test_own_order_on_the_link() -> None:
    """Without priorities the image, requested first, may come first, share the link, or come after the script."""
    assert AFTER.own_order is OwnOrder.FIRST_COME
    assert crossing(8000, 7900).own_order is OwnOrder.SHARED
    assert crossing(4000, 8000).own_order is OwnOrder.SCRIPT_FIRST


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([(4.9, "image", 1), (5.1, "image", 2)], [("image", 0, 10, 3)]),
        ([(10, "image", 1), (260, "image", 2)], [("image", 10, 260, 3)]),
        ([(10, "image", 1), (270, "image", 2)], [("image", 10, 10, 1), ("image", 270, 270, 2)]),
        (
            [(10, "image", 1), (20, "script", 2), (30, "image", 3)],
            [("image", 10, 10, 1), ("script", 20, 20, 2), ("image", 30, 30, 3)],
        ),
        ([], []),
    ],
)
def test_spans(pieces: list[tuple[float, str, int]], expected: list[tuple[str, int, int, int]]) -> None:
    """A span ends at a piece of the other resource, or after a silence of more than 250 ms. Times are to 10 ms."""
    found = spans((int(t_ms * 10**6), name, size) for t_ms, name, size in pieces)
    assert [(each.resource, each.first_ms, each.last_ms, each.size_bytes) for each in found] == expected


def test_a_load() -> None:
    """A load's measures follow from the pieces that arrived."""
    found = crossing(4000, 8000)
    assert (found.before, found.script_first_ms, found.script_last_ms, found.image_last_ms) == (0.2, 1000, 4000, 8000)
    assert found.lead == 0.5
    assert (AFTER.before, AFTER.lead) == (1.0, -0.5)


@pytest.mark.parametrize(
    ("name", "said", "server", "edition", "version", "words"),
    [
        ("nginx@sid", "nginx version: nginx/1.30.6", "nginx", "sid", "1.30.6", "nginx@sid 1.30.6 (a 1)"),
        ("envoy@1.40.0", "envoy  version: 9e5/1.40.0/Clean", "envoy", "1.40.0", "1.40.0", "envoy@1.40.0 (a 1)"),
        ("node", "v20.20.2", "node", None, "20.20.2", "node 20.20.2 (a 1)"),
        ("../my@front", "mine", "../my@front", None, "mine", "../my@front mine (a 1)"),
    ],
)
def test_fronts(name: str, said: str, server: str, edition: str | None, version: str, words: str) -> None:
    """Server and edition follow from the front's name, and the version's number from the text that it prints."""
    front = Front(name=name, said=said, built_with="a 1")
    assert (front.server, front.edition, front.version, front.words) == (server, edition, version, words)


def test_versions_of_a_server_stand_together() -> None:
    """The order is that of the request, but for the versions of a server, which follow its first one."""
    names = ["nginx@sid", "h2o", "nginx@1.31.3", "nginx@trixie"]
    ordered = in_order(Front(name=name, said="1.0") for name in names)
    assert list(ordered) == ["nginx@sid", "nginx@1.31.3", "nginx@trixie", "h2o"]


def test_the_table() -> None:
    """The table has a row per version: for each dialect the reading, and if the order arrives or where it is lost."""
    other = replace(cell(54, 44), server="h2o@bookworm", version="2.2")
    ignored = replace(cell(50, 50), server="h2o@bookworm", version="2.2", dialect="header")
    both = matrix(cell(), replace(cell(lowat=NOTHING), dialect="header"), other, ignored)
    assert text.table(both).splitlines() == [
        "| server | version | plain | header |",
        "| --- | --- | --- | --- |",
        "| nginx | 1.0 | strict; arrives with LOWAT | strict; lost in the front |",
        "| h2o@bookworm | 2.2 | proportional 54:44 %; arrives with LOWAT | ignored |",
    ]
    del both.cells["h2o@bookworm", "plain"]  # type: ignore[attr-defined]
    assert "| h2o@bookworm | 2.2 | not measured | ignored |" in text.table(both)


def test_the_document_names_what_was_not_there() -> None:
    """The document has the versions of the servers, and the servers that are not installed."""
    told = text.places(matrix(cell()))
    assert told["made-with"].startswith("- nginx: nginx <1.0>")
    assert told["made-with"].endswith("\n- caddy: not installed")
    assert told["measured"] == "Measured on 2026-11-24."
    assert told["changes"] == ""
    with_native = text.places(matrix(cell(native=ALL)))["natives"]
    assert "arrives (100%); 20% of the image before the script, which begins at 1.00 s" in with_native


@pytest.mark.parametrize(
    ("usual", "strong", "word"),
    [
        ((56, 46), (91, 13), Reading.PROPORTIONAL),
        ((60, 49), (3, 95), Reading.CONTRARY),
        ((100, 0), (100, 0), Reading.STRICT),
        ((50, 50), (50, 50), Reading.IGNORED),
    ],
)
def test_weights_that_differ_much(usual: tuple[int, int], strong: tuple[int, int], word: Reading) -> None:
    """The word of a cell follows from both pairs of probes; table, evidence and document have the shares of both."""
    loads = (NOTHING, ALL) if usual[0] > usual[1] else (None, None)
    both = cell(*usual, strong=strong, control=loads[0], lowat=loads[1])
    assert both.reading is word
    made = matrix(both)
    shares = document(made)["servers"]["nginx"]["dialects"]["plain"]["script_share"]
    assert (shares["strong-spdy"], shares["strong-swap"]) == (strong[0] / 100, strong[1] / 100)
    assert document(matrix_from(document(made))) == document(made)
    told = text.places(made)
    assert "| plain | weights 183:147 ask for 55% | weights 256:32 ask for 89% |" in told["asked"]
    assert f"with weights that differ much: {strong[0]}%; {strong[1]}%" in page.html(made)
    if word in (Reading.PROPORTIONAL, Reading.CONTRARY):
        assert f"{word} {usual[0]}:{usual[1]} % and {strong[0]}:{strong[1]} %; " in told["matrix"]


def test_a_contrary_server_is_loaded_with_the_usual_weights() -> None:
    """A server that is contrary with strong weights alone has loads, and the conclusion names both."""
    both = cell(60, 49, strong=(3, 95))
    assert both.layer is Layer.SOCKET
    assert both.sentence.startswith("lost in the kernel's send buffer; with LOWAT ")
    assert both.sentence.endswith(
        "; with weights that differ much the server does the contrary of what the client asks"
    )


def test_the_document_for_programs() -> None:
    """The document has only values that JSON can represent. Every verdict follows from the frames in it."""
    made = document(matrix(cell(), NEW))
    assert json.loads(dumped(made)) == made
    assert document(matrix_from(made)) == made
    assert (made["format"], made["date"], made["absent"]) == (2, "2026-11-24", {"caddy": "not installed"})
    of_server = made["servers"]["nginx"]
    assert {key: of_server[key] for key in ("server", "edition", "version", "said", "own_order")} == {
        "server": "nginx",
        "edition": None,
        "version": "1.0",
        "said": "nginx <1.0>",
        "own_order": "shared",
    }
    of_cell = of_server["dialects"]["plain"]
    probes, loads, signals = of_cell.pop("frames"), of_cell["lowat"].pop("frames"), of_cell.pop("signals")
    assert [made["frames"]["signals"][signals[role]] for role in ("spdy", "swap")] == [["script <1>"], ["image"]]
    del of_cell["control"]["frames"]
    assert made["frames"]["probes"][probes["none"]]["served"] == [["script", 50], ["image", 50]]
    assert made["frames"]["loads"][loads["asked"]] == [
        ["image", 500, 500, 20],
        ["script", 1000, 1000, 50],
        ["script", 4000, 4000, 50],
        ["image", 8000, 8000, 80],
    ]
    assert of_cell == {
        "version": "1.0",
        "reading": "strict",
        "script_share": {"spdy": 1.0, "swap": 0.0, "none": 0.5, "reversed": 0.5},
        "layer": "socket",
        "control": {
            "outcome": "lost",
            "arriving": 0.0,
            "before": 1.0,
            "script_first_byte_ms": 4100,
            "lead": {"asked": -0.5, "swapped": -0.5},
        },
        "lowat": {
            "outcome": "arrives",
            "arriving": 1.0,
            "before": 0.2,
            "script_first_byte_ms": 1000,
            "lead": {"asked": 0.5, "swapped": -0.5},
        },
        "native": None,
        "asked": {"spdy": "weights 183:147 ask for 55%"},
        "arms": "nginx.plain",
    }


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen += [str(value) for name, value in attrs if name in ("href", "src")]
        self.cells += tag == "td"


def test_the_page() -> None:
    """The page has a table cell per cell of the matrix, with stripes for the probe and each load.

    It fetches nothing, and escapes the servers' versions.
    """
    made = page.html(matrix(cell(native=ALL), replace(cell(50, 50), dialect="header")))
    links = _Links()
    links.feed(made)
    places = {link for link in links.seen if link.startswith("#")}
    runs = {link.removeprefix("../results/matrix-runs/nginx.") for link in links.seen if link.startswith("../")}
    assert set(links.seen) == {"data:,", *places} | {f"../results/matrix-runs/nginx.{name}" for name in runs}
    assert {f'id="{link[1:]}"' in made for link in places} == {True}
    assert {"#nginx-plain", "#nginx-header", "#sent-0"} <= places
    assert {"plain.probe-spdy/", "plain.native-swap/", "none.probe-reversed/"} <= runs
    assert links.cells == 2
    assert made.count("<li>script &lt;1&gt;</li>") == 1
    assert "<code>make matrix SERVER=nginx DIALECT=header</code>" in made
    assert 'title="nginx &lt;1.0&gt;"' in made
    assert [made.count(f">{name}</text>") for name in ("window", "unset", "lowat", "native")] == [2, 2, 2, 1]
    assert "caddy: not installed." in made
    assert "What changed" not in made


def test_the_page_has_the_changes() -> None:
    """The page has a group of rows for each change of version, and marks the newest version for the filter."""
    made = page.html(matrix(OLD, NEW))
    assert "nginx 1.0 \u2192 nginx@sid 2.0" in made
    assert "<td>strict</td><td>ignored 0:0 %</td><td>script 100 B</td><td>image 100 B</td>" in made
    assert made.count('data-newest="0"') == made.count('data-newest="1"') == 1


def test_stamps_can_be_read() -> None:
    """The text on each colour has a contrast of at least 4.5 to 1 (WCAG 2.1)."""
    assert all(contrast(colour, ink_on(colour)) >= 4.5 for colour in page.colours())


def test_matrix_and_probe_agree() -> None:
    """The words of matrix and `priolab probe` for the same shares are the same."""
    for shares in ((55, 46, 88, 12), (60, 49, 3, 95), (100, 0, 100, 0), (50, 50, 50, 50)):
        probes = iter(Probe(important="second", steps=40, served=(("second", s), ("first", 100 - s))) for s in shares)
        answer = probe._answer(PLAIN, lambda _: next(probes))  # noqa: B023
        assert answer.word == cell(*shares[:2], strong=shares[2:]).reading
