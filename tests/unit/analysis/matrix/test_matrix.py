"""Tests of the matrix: cells made of probes and loads, as text, as HTML, and as JSON."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from analysis.figures.palette import ink_on
from analysis.loads.probe import Probe
from analysis.matrix import page, text
from analysis.matrix.cells import (
    Cell,
    Crossing,
    Layer,
    Matrix,
    Outcome,
    OwnOrder,
    Pair,
    Reading,
    Unasked,
    own_order_on_link,
)


def crossing(script_last_ms: float, image_last_ms: float, before: float = 0.2) -> Crossing:
    return Crossing(
        before=before,
        script_first_ms=1000.0,
        script_last_ms=script_last_ms,
        image_last_ms=image_last_ms,
        lanes=((0.5, "image", 20), (1.0, "script", 100)),
    )


AFTER = crossing(8000, 4000, before=1.0)
"""A load in which the script begins when the image is complete."""
NOTHING = Pair(asked=AFTER, swapped=AFTER)
ALL = Pair(asked=crossing(4000, 8000), swapped=AFTER)
SOME = Pair(asked=crossing(7000, 8000), swapped=crossing(8000, 7400))


def probe(script: int) -> Probe:
    """Returns a probe in which the script got this percentage of the bytes."""
    return Probe(important="script", steps=100, served=(("script", script), ("image", 100 - script)))


def cell(
    asked: int = 100,
    swapped: int = 0,
    unasked: int = 50,
    turned: int = 50,
    *,
    control: Pair | None = NOTHING,
    lowat: Pair | None = ALL,
    native: Pair | None = None,
) -> Cell:
    """Returns a cell with the percentages of the bytes that the script got in four probes.

    asked: the script is asked for first. swapped: the image is asked for first. unasked: no priorities, the image is
    requested first. turned: no priorities, the script is requested first.
    """
    return Cell(
        server="nginx",
        dialect="plain",
        probes={"spdy": probe(asked), "swap": probe(swapped), "none": probe(unasked), "reversed": probe(turned)},
        control=control,
        lowat=lowat,
        native=native,
    )


def matrix(*cells: Cell) -> Matrix:
    return Matrix(
        cells={(each.server, each.dialect): each for each in cells},
        unasked={each.server: Unasked(control=AFTER, lowat=AFTER) for each in cells},
        versions={each.server: f"{each.server} <1.0>" for each in cells},
        absent={"caddy": "not installed"},
    )


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
    assert own_order_on_link(AFTER) is OwnOrder.FIRST_COME
    assert own_order_on_link(crossing(8000, 7900)) is OwnOrder.SHARED
    assert own_order_on_link(crossing(4000, 8000)) is OwnOrder.SCRIPT_FIRST


def test_the_table() -> None:
    """The table has a row per server: for each dialect the reading, and if the order arrives or where it is lost."""
    other = replace(cell(54, 44), server="h2o")
    ignored = replace(cell(50, 50), server="h2o", dialect="header")
    both = matrix(cell(), replace(cell(lowat=NOTHING), dialect="header"), other, ignored)
    assert text.table(both).splitlines() == [
        "| server | plain | header |",
        "| --- | --- | --- |",
        "| nginx | strict; arrives with LOWAT | strict; lost in the front |",
        "| h2o | proportional 54:44 %; arrives with LOWAT | ignored |",
    ]


def test_the_document_names_what_was_not_there() -> None:
    """The document has the versions of the servers, and the servers that are not installed.

    NATIVE=on is mentioned only if a server has its own mechanism.
    """
    told = text.document(matrix(cell()))
    assert "- nginx: nginx <1.0>" in told
    assert "- caddy: not installed" in told
    assert "NATIVE=on" not in told
    with_native = text.document(matrix(cell(native=ALL)))
    assert "arrives (100%); 20% of the image before the script, which begins at 1.00 s" in with_native
    assert "NATIVE=on" in with_native


def test_the_document_for_programs() -> None:
    """The matrix as a document has only values that JSON can represent."""
    document = json.loads(json.dumps(matrix(cell()).document()))
    assert document["absent"] == {"caddy": "not installed"}
    of_server = document["servers"]["nginx"]
    assert (of_server["version"], of_server["own_order"]) == ("nginx <1.0>", "shared")
    assert of_server["dialects"]["plain"] == {
        "reading": "strict",
        "script_share": {"spdy": 1.0, "swap": 0.0, "none": 0.5, "reversed": 0.5},
        "layer": "socket",
        "control": {
            "outcome": "lost",
            "arriving": 0.0,
            "before": 1.0,
            "script_first_byte_ms": 1000.0,
            "lead": {"asked": -0.5, "swapped": -0.5},
        },
        "lowat": {
            "outcome": "arrives",
            "arriving": 1.0,
            "before": 0.2,
            "script_first_byte_ms": 1000.0,
            "lead": {"asked": 0.5, "swapped": -0.5},
        },
        "native": None,
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
    assert (links.seen, links.cells) == ([], 2)
    assert "nginx &lt;1.0&gt;" in made
    assert [made.count(f">{name}</text>") for name in ("window", "unset", "lowat", "native")] == [2, 2, 2, 1]
    assert "caddy: not installed." in made


def test_stamps_can_be_read() -> None:
    """The text on each colour has a contrast of at least 4.5 to 1 (WCAG 2.1)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in page.colours():
        dark, light = sorted((luminance(colour), luminance(ink_on(colour))))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, colour
