"""Dialects: what is said in each, so that one resource comes first."""

import pytest

from client.dialects import PLAIN, TREES, Dialect, Part, Ranks, Saying, levels, parse, saying
from client.priorities import Priorities
from common.formats.plan import Change, Position, Signals
from tests.pages import IMAGE, PAGE, SCRIPT, maps_page

RESOURCES = [PAGE, IMAGE, SCRIPT]
ALL = [
    "plain",
    "chrome",
    "firefox",
    "safari",
    "reprioritize",
    "plain+reprioritize",
    "chrome+reprioritize",
    "header",
    "update",
    "header+update",
    "header+no7540",
    "chrome+header",
    "firefox+header+no7540",
]


def ranks(priorities: Priorities) -> tuple[Ranks, Ranks]:
    """What is asked, and the contrary."""
    return priorities.ranks(maps_page()), priorities.opposite.ranks(maps_page())


def said(text: str, priorities: Priorities = Priorities.SPDY) -> Saying:
    return saying(parse(text), *ranks(priorities), RESOURCES)


def positions(text: str, priorities: Priorities = Priorities.SPDY) -> list[Position | None]:
    return [said(text, priorities).requests[name].position for name in RESOURCES]


def fields(text: str, priorities: Priorities = Priorities.SPDY) -> list[str | None]:
    return [said(text, priorities).requests[name].field for name in RESOURCES]


@pytest.mark.parametrize("text", ALL)
def test_names(text: str) -> None:
    """A dialect's name is the name it is read by, whatever the order of its parts."""
    assert str(parse(text)) == text
    assert parse("+".join(reversed(text.split("+")))) == parse(text)


@pytest.mark.parametrize(
    "text", ["", "none", "plain+", "plain+plain", "plain+chrome", "no7540", "Chrome", "header update"]
)
def test_no_dialects(text: str) -> None:
    """Unknown parts, parts that come twice, two trees, and a setting that orders nothing."""
    with pytest.raises(ValueError, match=r"unknown|one tree|says nothing"):
        parse(text)


@pytest.mark.parametrize("text", ALL)
def test_silence(text: str) -> None:
    """Where no order is asked, nothing is said."""
    silent = said(text, Priorities.NONE)
    assert [silent.requests[name] for name in RESOURCES] == [type(silent.requests[PAGE])()] * 3
    assert (silent.groups, silent.changes, silent.no_rfc7540_priorities) == ((), (), False)


@pytest.mark.parametrize("text", ALL)
def test_swap_says_of_the_image_what_was_said_of_the_script(text: str) -> None:
    """But for Chrome's chain, where it matters who was asked for first."""
    one, other = said(text, Priorities.SPDY), said(text, Priorities.SWAP)
    if Part.CHROME in parse(text).parts:
        assert one != other
    else:
        assert one.requests[SCRIPT] == other.requests[IMAGE]
        assert one.requests[IMAGE] == other.requests[SCRIPT]
        assert [each.resource for each in one.changes] == [
            {IMAGE: SCRIPT, SCRIPT: IMAGE}[each.resource] for each in other.changes
        ]


def test_plain() -> None:
    """Chrome's weights of SPDY's levels, all at the root."""
    assert positions("plain") == [Position(weight=256), Position(weight=147), Position(weight=183)]


def test_chrome() -> None:
    """What is more urgent is put between the root and the rest; what is less, behind the last that is not."""
    assert positions("chrome") == [
        Position(weight=256, exclusive=True),
        Position(weight=147, exclusive=True),
        Position(weight=183, exclusive=True),
    ]
    assert positions("chrome", Priorities.SWAP) == [
        Position(weight=256, exclusive=True),
        Position(weight=183, exclusive=True),
        Position(weight=147, depends_on=IMAGE, exclusive=True),
    ]


def test_firefox() -> None:
    """The six groups as Firefox made them; the script is with the leaders, the image follows them."""
    assert [(each.stream_id, each.position.weight, each.position.depends_on) for each in said("firefox").groups] == [
        (3, 201, None),
        (5, 101, None),
        (7, 1, None),
        (9, 1, "background"),
        (11, 1, "leader"),
        (13, 241, None),
    ]
    assert positions("firefox") == [
        Position(weight=42, depends_on="urgent-start"),
        Position(weight=22, depends_on="follower"),
        Position(weight=32, depends_on="leader"),
    ]


def test_safari() -> None:
    """Weights alone, three times as much for the script."""
    assert positions("safari") == [Position(weight=256), Position(weight=8), Position(weight=24)]


def test_reprioritize_contradicts() -> None:
    """With the requests the opposite is asked for; the frames, the favoured one's first, put it right."""
    assert positions("plain+reprioritize") == positions("plain", Priorities.SWAP)
    assert said("plain+reprioritize").changes == (
        Change(resource=SCRIPT, position=Position(weight=183)),
        Change(resource=IMAGE, position=Position(weight=147)),
    )
    assert said("chrome+reprioritize").changes == (
        Change(resource=SCRIPT, position=Position(weight=183, exclusive=True)),
        Change(resource=IMAGE, position=Position(weight=147, depends_on=SCRIPT, exclusive=True)),
    )


def test_reprioritize_alone() -> None:
    """Nothing with the requests, weights in the frames."""
    assert positions("reprioritize") == [None, None, None]
    assert said("reprioritize").changes == said("plain+reprioritize").changes


def test_header() -> None:
    """Firefox's values; Chrome's beside Chrome's tree."""
    assert fields("header") == ["u=0, i", "u=5, i", "u=2"]
    assert fields("chrome+header") == ["u=0, i", "i", "u=2"]
    assert positions("header") == [None, None, None]


def test_update() -> None:
    """Like PRIORITY frames, PRIORITY_UPDATE contradicts the header field, where there was one."""
    changes = (Change(resource=SCRIPT, field="u=2"), Change(resource=IMAGE, field="u=5, i"))
    assert (fields("update"), said("update").changes) == ([None, None, None], changes)
    assert (fields("header+update"), said("header+update").changes) == (fields("header", Priorities.SWAP), changes)


def test_the_setting() -> None:
    """It is said when it is asked for, and in no other dialect."""
    assert [text for text in ALL if said(text).no_rfc7540_priorities] == ["header+no7540", "firefox+header+no7540"]


@pytest.mark.parametrize(
    ("priorities", "expected"),
    [(Priorities.SPDY, [0, 3, 2]), (Priorities.SWAP, [0, 2, 3]), (Priorities.NONE, [None, None, None])],
)
def test_over_spdy(priorities: Priorities, expected: list[int | None]) -> None:
    """The levels themselves, and nothing besides."""
    said = levels(PLAIN, *ranks(priorities), RESOURCES)
    assert [said.requests[name] for name in RESOURCES] == [Signals(level=level) for level in expected]
    assert (said.groups, said.changes, said.no_rfc7540_priorities) == ((), (), False)


@pytest.mark.parametrize("text", [text for text in ALL if text != "plain"])
def test_no_other_dialect_over_spdy(text: str) -> None:
    """It has a level in each request, and that is all it has."""
    with pytest.raises(ValueError, match="over SPDY"):
        levels(parse(text), *ranks(Priorities.SPDY), RESOURCES)


def test_one_tree() -> None:
    """Each tree is the tree of the dialect that has it, and others have none."""
    assert [Dialect((part,)).tree for part in TREES] == list(TREES)
    assert parse("header+update").tree is None
