"""Tests of dialects: the signals with which each dialect asks for one resource first."""

import pytest

from priolab.client import dialects
from priolab.client.dialects import PLAIN, TREES, Dialect, Part, Ranks, Saying, levels, parse, saying
from priolab.client.priorities import Priorities
from priolab.common.formats.plan import Change, Position
from tests.support.pages import IMAGE, PAGE, SCRIPT, maps_page, page_of_parts, part

RESOURCES = [PAGE, IMAGE, SCRIPT]
_PARTS = maps_page().resources
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
    """Returns the ranks of the Maps page's resources for these priorities, and for the opposite priorities."""
    return priorities.ranks(maps_page()), priorities.opposite.ranks(maps_page())


def said(text: str, priorities: Priorities = Priorities.SPDY) -> Saying:
    return saying(parse(text), *ranks(priorities), _PARTS)


def positions(text: str, priorities: Priorities = Priorities.SPDY) -> list[Position | None]:
    return [said(text, priorities).requests[name].position for name in RESOURCES]


def fields(text: str, priorities: Priorities = Priorities.SPDY) -> list[str | None]:
    return [said(text, priorities).requests[name].field for name in RESOURCES]


@pytest.mark.parametrize("text", ALL)
def test_names(text: str) -> None:
    """A dialect's name is parsed whatever the order of its parts."""
    assert str(parse(text)) == text
    assert parse("+".join(reversed(text.split("+")))) == parse(text)


@pytest.mark.parametrize(
    "text", ["", "none", "plain+", "plain+plain", "plain+chrome", "no7540", "Chrome", "header update"]
)
def test_no_dialects(text: str) -> None:
    """A name is refused if a part is unknown or comes twice, if two parts are trees, or if it is `no7540` alone."""
    with pytest.raises(ValueError, match=r"unknown|only one part|asks for no order"):
        parse(text)


@pytest.mark.parametrize("text", ALL)
def test_silence(text: str) -> None:
    """If no order is asked for, there are no signals."""
    silent = said(text, Priorities.NONE)
    assert [silent.requests[name] for name in RESOURCES] == [type(silent.requests[PAGE])()] * 3
    assert (silent.groups, silent.changes, silent.no_rfc7540_priorities) == ((), (), False)


@pytest.mark.parametrize("text", ALL)
def test_swap_says_of_the_image_what_was_said_of_the_script(text: str) -> None:
    """With PRIORITY=swap image and script have each other's signals.

    In Chrome's tree the order of the requests matters, too.
    """
    one, other = said(text, Priorities.SPDY), said(text, Priorities.SWAP)
    if Part.CHROME in parse(text).parts:
        assert one != other
    else:
        assert one.requests[SCRIPT] == other.requests[IMAGE]
        assert one.requests[IMAGE] == other.requests[SCRIPT]
        assert [each.resource for each in one.changes] == [
            {IMAGE: SCRIPT, SCRIPT: IMAGE}[each.resource] for each in other.changes
        ]


def test_firefox() -> None:
    """Firefox's tree has six groups; the script depends on the leaders, and the image on the followers."""
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
    """Safari's tree has weights only: that of the script is three times that of the image."""
    assert positions("safari") == [Position(weight=256), Position(weight=8), Position(weight=24)]


def test_reprioritize_contradicts() -> None:
    """The requests ask for the opposite order; PRIORITY frames, the favoured resource's first, correct it."""
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
    """With `reprioritize` alone the requests have no signals, and the PRIORITY frames have weights."""
    assert positions("reprioritize") == [None, None, None]
    assert said("reprioritize").changes == said("plain+reprioritize").changes


def test_header() -> None:
    """The header fields have Firefox's values, and Chrome's values together with Chrome's tree."""
    assert fields("header") == ["u=0, i", "u=5, i", "u=2"]
    assert fields("chrome+header") == ["u=0, i", "i", "u=2"]
    assert positions("header") == [None, None, None]


def test_update() -> None:
    """With `header+update` the header fields ask for the opposite order, and PRIORITY_UPDATE frames correct it.

    With `update` there are no header fields.
    """
    changes = (Change(resource=SCRIPT, field="u=2"), Change(resource=IMAGE, field="u=5, i"))
    assert (fields("update"), said("update").changes) == ([None, None, None], changes)
    assert (fields("header+update"), said("header+update").changes) == (fields("header", Priorities.SWAP), changes)


def test_the_setting() -> None:
    """SETTINGS_NO_RFC7540_PRIORITIES is sent in dialects with `no7540`, and in no other dialect."""
    assert [text for text in ALL if said(text).no_rfc7540_priorities] == ["header+no7540", "firefox+header+no7540"]


@pytest.mark.parametrize("dialect", dialects.OVER_HTTP3, ids=str)
def test_over_http3(dialect: Dialect) -> None:
    """Over HTTP/3 the signals are those of HTTP/2 without trees; `plain` has the signals of `header`."""
    found = dialects.fields(dialect, *ranks(Priorities.SPDY), _PARTS)
    assert found == said("header" if dialect == PLAIN else str(dialect))


def test_what_http3_cannot_say() -> None:
    """A tree and SETTINGS_NO_RFC7540_PRIORITIES do not exist over HTTP/3."""
    for text in ("chrome", "header+no7540"):
        with pytest.raises(ValueError, match="no signals over HTTP/3"):
            dialects.fields(parse(text), *ranks(Priorities.SPDY), _PARTS)


@pytest.mark.parametrize("text", [text for text in ALL if text != "plain"])
def test_no_other_dialect_over_spdy(text: str) -> None:
    """SPDY has only a level in each request, so other dialects are refused."""
    with pytest.raises(ValueError, match="over SPDY"):
        levels(parse(text), *ranks(Priorities.SPDY), _PARTS)


def test_one_tree() -> None:
    """A part that is a tree is the dialect's tree; a dialect without such a part has no tree."""
    assert [Dialect((part,)).tree for part in TREES] == list(TREES)
    assert parse("header+update").tree is None


_MANY = page_of_parts(
    part("html", urgency=0),
    part("photo", after="html", urgency=5, incremental=True),
    part("style", after="html", urgency=1, important=True),
    part("font", after="style", urgency=2, important=True, incremental=True),
    part("video", after="html", urgency=5, depends_on="style", weight=3),
    part("late", after="html", urgency=3),
)


def said_of_many(text: str, priorities: Priorities = Priorities.SPDY) -> Saying:
    return saying(parse(text), priorities.ranks(_MANY), priorities.opposite.ranks(_MANY), _MANY.resources)


@pytest.mark.parametrize("text", ["plain+reprioritize", "update", "header+update"])
def test_changes_of_many(text: str) -> None:
    """The frames that change priorities come for the favoured resources first, then for the others.

    The priority of a document never changes.
    """
    changes = said_of_many(text).changes
    assert [each.resource for each in changes] == ["style", "font", "photo", "video", "late"]
    plain = said_of_many("plain" if text.startswith("plain") else "header").requests
    assert [(each.position, each.field) for each in changes] == [
        (plain[each.resource].position, plain[each.resource].field) for each in changes
    ]
