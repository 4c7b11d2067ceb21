"""Tests of the judgement on several streams: fields, competition, and mistakes that explain an order."""

from collections.abc import Sequence

import pytest

from priolab.analysis.judgement.sequence import (
    Competition,
    Mistakes,
    Priority,
    Relation,
    expected,
    mistakes_in,
    priorities_of,
)
from priolab.analysis.judgement.thresholds import STALLED_STEPS
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import Cue, Page, Resource

_SIZE = 40_000
_STEP = 8000


@pytest.mark.parametrize(
    ("field", "priority"),
    [
        ("", Priority()),
        ("u=0", Priority(0)),
        ("u=7, i", Priority(7, incremental=True)),
        ("i", Priority(3, incremental=True)),
        ("i=?1;x", Priority(3, incremental=True)),
        ("i=?0", Priority()),
        ("i=1", Priority()),
        ("u=9", Priority()),
        ("u=-1", Priority()),
        ("u=1.5", Priority()),
        ("u=a", Priority()),
        ("u", Priority()),
        ("x=1, u=0", Priority(0)),
        ('x="a,b", u=1', Priority(1)),
        ("x=(1 2), u=1", Priority(1)),
        ("u=2;x=y", Priority(2)),
        ("u=3, u=1", Priority(1)),
        ("u=1, ???", Priority()),
        ("u=1,", Priority()),
        ("U=1", Priority()),
        ("u=1 i", Priority()),
    ],
)
def test_fields(field: str, priority: Priority) -> None:
    """What a field value states: unknown, wrong and out of range is ignored; a malformed field as a whole."""
    assert Priority.of(field) == priority


def test_changes_replace() -> None:
    """A change replaces the whole priority; the last one counts."""
    assert Priority.after(Cue(field="u=1, i", updates=("u=7", "i"))) == Priority(3, incremental=True)
    assert Priority.after(Cue(early="u=5")) == Priority(5)


def page(**fields: str) -> Page:
    """Make a page with the plug and a stream of each name, with this field."""
    made = {"plug": "u=7", **fields}
    return Page(
        name="x",
        title="x",
        resources=tuple(
            Resource(name=name, path="/", content_type="x/y", size_bytes=_SIZE, weight=16, cue=Cue(field=field))
            for name, field in made.items()
        ),
    )


def events(names: Sequence[str], served: Sequence[str], *, idle: int = 0) -> list[Event]:
    """Make the events of a probe: all windows open, and each step is served by one stream. idle: steps without data."""
    streams = {name: 2 * number + 3 for number, name in enumerate(names)}

    def event(kind: Kind, size: int, name: str | None = None) -> Event:
        stream = None if name is None else streams[name]
        return Event(t_ns=0, kind=kind, load=1, stream_id=stream, resource=name, size_bytes=size)

    made = [event(Kind.WINDOW_OPENED, _SIZE, name) for name in names]
    made += [event(Kind.WINDOW_OPENED, _STEP)]
    made += [event(Kind.WINDOW_OPENED, 0) for _ in range(idle)]
    for name in served:
        made += [event(Kind.DATA, _STEP, name), event(Kind.WINDOW_OPENED, _STEP)]
    return made


def test_shares() -> None:
    """Bytes count while both streams can be sent. Streams of which one has had all do not compete any more."""
    seen = Competition.of(events("abc", "aaaaabcbcbcbcbc"), page(a="", b="", c=""))
    assert seen.shares == {("a", "b"): 1, ("a", "c"): 1, ("b", "c"): pytest.approx(5 / 9)}
    assert seen.stalled is None


def test_a_stall() -> None:
    """Some steps in which nothing comes, though a stream could be sent, are a stall; one less are none."""
    assert Competition.of(events("ab", "", idle=STALLED_STEPS), page(a="", b="")).stalled == "a"
    assert Competition.of(events("ab", "", idle=STALLED_STEPS - 1), page(a="", b="")).stalled is None
    assert Competition.of(events("a", "aaaaa") + events("", "", idle=STALLED_STEPS + 2), page(a="")).stalled is None


@pytest.mark.parametrize(
    ("one", "other", "ties", "relation"),
    [
        ("u=1", "u=2", Relation.ANY, Relation.FIRST),
        ("u=2", "u=1", Relation.ANY, Relation.SECOND),
        ("i", "i", Relation.FIRST, Relation.SHARED),
        ("i", "", Relation.FIRST, Relation.ANY),
        ("", "", Relation.FIRST, Relation.FIRST),
        ("", "", Relation.IN_TURN, Relation.IN_TURN),
    ],
)
def test_what_is_asked(one: str, other: str, ties: Relation, relation: Relation) -> None:
    """What the priorities of two streams ask for, in the order of their requests."""
    priorities = {"a": Priority.of(one), "b": Priority.of(other)}
    assert expected(("a", "b"), priorities, ties) is relation


_MISTAKES: Mistakes = {
    "zero": {Priority(): "zero"},
    "none": {Priority(1): "default", Priority(5): "default"},
}


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (("zero", "two", "none", "four"), set()),
        (("two", "none", "zero", "four"), {"zero"}),
        (("zero", "two", "four", "none"), {"default"}),
        (("zero", "none", "two", "four"), {"default"}),
        (("two", "zero", "four", "none"), {"zero", "default"}),
        (("four", "two", "none", "zero"), set()),
    ],
)
def test_mistakes(order: Sequence[str], names: set[str]) -> None:
    """The mistakes that alone explain an order; none if the order is right, or something else is wrong."""
    made = page(none="", four="u=4", zero="u=0", two="u=2")
    served = [name for name in order for _ in range(5)]
    seen = Competition.of(events([each.name for each in made.contents[1:]], served), made)
    found = mistakes_in(seen, priorities_of(made), _MISTAKES, Relation.ANY)
    assert found == (names if seen.wrong(priorities_of(made), Relation.ANY) else set())


def test_several_explanations() -> None:
    """If as few other mistakes explain the order as well, none is named."""
    made = page(a="u=2", b="u=1")
    seen = Competition.of(events("ab", "aaaaabbbbb"), made)
    both = {"a": {Priority(0): "one"}, "b": {Priority(): "other"}}
    assert mistakes_in(seen, priorities_of(made), both, Relation.ANY) == set()
    assert mistakes_in(seen, priorities_of(made), {"a": both["a"]}, Relation.ANY) == {"one"}
