"""Tests of the plan and its JSON document."""

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.client.dialects import PLAIN
from priolab.client.priorities import Priorities
from priolab.common.formats.page import Chunk, Page, Resource
from priolab.common.formats.plan import (
    PLAN_FORMAT,
    Change,
    Group,
    Plan,
    Position,
    Protocol,
    Request,
    Signals,
    Steps,
    read_plan,
)
from priolab.experiments.scenario.pages import Parameters, page_of
from tests.support.pages import maps_plan, page_of_parts, part
from tests.unit.client.plans import plan_of

_maps = partial(
    maps_plan,
    address="198.18.1.2",
    port=443,
    server_name="maps.test",
    priorities=Priorities.SPDY,
    dialect=PLAIN,
    reloads=2,
    window_bytes=2**24,
    load_deadline_ns=10**9,
)
MAPS = _maps()
POSITIONS = st.builds(
    Position,
    weight=st.integers(min_value=1, max_value=256),
    depends_on=st.none() | st.text(),
    exclusive=st.booleans(),
)
SIGNALS = st.builds(
    Signals,
    position=st.none() | POSITIONS,
    field=st.none() | st.text(),
    level=st.none() | st.integers(min_value=0, max_value=7),
)
REQUESTS = st.builds(Request, name=st.text(), path=st.text(), signals=SIGNALS, after=st.none() | st.text())
CHUNKS = st.builds(Chunk, at_ns=st.integers(min_value=0), size_bytes=st.integers(min_value=1))
RESOURCES = st.builds(
    Resource,
    name=st.text(),
    path=st.text(),
    content_type=st.text(),
    size_bytes=st.integers(min_value=1),
    weight=st.integers(min_value=1, max_value=256),
    chunks=st.lists(CHUNKS, max_size=2).map(tuple),
)
PAGES = st.builds(Page, name=st.text(), title=st.text(), resources=st.lists(RESOURCES, max_size=3).map(tuple))
PLANS = st.builds(
    Plan,
    address=st.text(),
    port=st.integers(min_value=1, max_value=65_535),
    server_name=st.text(),
    page=PAGES,
    requests=st.lists(REQUESTS, max_size=4).map(tuple),
    groups=st.lists(
        st.builds(Group, name=st.text(), stream_id=st.integers(min_value=1), position=POSITIONS), max_size=2
    ).map(tuple),
    changes=st.lists(
        st.builds(Change, resource=st.text(), position=st.none() | POSITIONS, field=st.none() | st.text()), max_size=2
    ).map(tuple),
    loads=st.integers(min_value=1, max_value=100),
    window_bytes=st.integers(min_value=65_535, max_value=2**31 - 1),
    steps=st.none() | st.builds(Steps, size_bytes=st.integers(min_value=1), quiet_ns=st.integers(min_value=1)),
    load_deadline_ns=st.integers(min_value=1),
    packets_at_once=st.booleans(),
    format=st.just(PLAN_FORMAT),
)


@given(PLANS)
def test_round_trip(plan: Plan) -> None:
    """A plan is the same after a conversion to JSON and back."""
    assert Plan.from_json(plan.to_json()) == plan


def test_read_plan(tmp_path: Path) -> None:
    """`read_plan` reads a plan from a file."""
    (tmp_path / "plan.json").write_text(MAPS.to_json())
    assert read_plan(tmp_path / "plan.json") == MAPS


@pytest.mark.parametrize("number", [0, 1, 2, "3", None])
def test_other_format_is_refused(number: object) -> None:
    """A plan of another format is refused."""
    document = json.loads(MAPS.to_json()) | {"format": number}
    with pytest.raises(ValueError, match="not a plan of format 3"):
        Plan.from_json(json.dumps(document))


def test_missing_format_is_refused() -> None:
    """A document without a format number is refused."""
    with pytest.raises(ValueError, match="not a plan of format 3"):
        Plan.from_json("{}")


_DEEP = page_of_parts(
    part("html", urgency=0),
    part("a", after="html", urgency=5),
    part("data", after="html", urgency=1),
    part("b", after="html", urgency=4, important=True),
    part("c", after="data", urgency=6),
    part("d", after="data", urgency=2, important=True),
    part("e", urgency=7),
)


@pytest.mark.parametrize(
    ("first", "due"),
    [
        (None, {None: ["html", "e"], "html": ["a", "data", "b"], "data": ["c", "d"]}),
        ("b", {None: ["html", "e"], "html": ["b", "a", "data"], "data": ["c", "d"]}),
        ("d", {None: ["html", "e"], "html": ["a", "data", "b"], "data": ["d", "c"]}),
        ("e", {None: ["e", "html"], "html": ["a", "data", "b"], "data": ["c", "d"]}),
        ("a", {None: ["html", "e"], "html": ["a", "data", "b"], "data": ["c", "d"]}),
    ],
)
def test_first_comes_before_those_that_wait_for_the_same(first: str | None, due: dict[str | None, list[str]]) -> None:
    """The resource named by `first` is requested before those that wait for the same document.

    All priorities stay the same.
    """
    plan = plan_of(_DEEP, first=first)
    assert {after: [each.name for each in plan.due(after)] for after in due} == due
    assert {each.name: each.signals for each in plan.requests} == {
        each.name: each.signals for each in plan_of(_DEEP).requests
    }


def test_first_with_no_brother() -> None:
    """If `first` is the only resource that waits for its document, the order does not change."""
    page = page_of_parts(part("html"), part("a", after="html"), part("b", important=True))
    plan = plan_of(page, first="a")
    assert [each.name for each in plan.due(None)] == ["html", "b"]
    assert [each.name for each in plan.due("html")] == ["a"]


@pytest.mark.parametrize("priorities", Priorities)
def test_a_plan_of_many(priorities: Priorities) -> None:
    """Each resource is requested once, in the page's order.

    The plan is the same after a conversion to JSON and back.
    """
    news = page_of("news", Parameters(size_bytes=2048, script_delay_ns=0))
    plan = plan_of(news, priorities=priorities)
    assert [(each.name, each.path, each.after) for each in plan.requests] == [
        (each.name, each.path, each.after) for each in news.resources
    ]
    assert Plan.from_json(plan.to_json()) == plan
    weights = {each.name: each.signals.position and each.signals.position.weight for each in plan.requests}
    images, rest = {weights[f"image-{n:02}"] for n in range(1, 21)}, {weights["style"], weights["app"]}
    assert (images, rest) == {
        Priorities.SPDY: ({74}, {220}),
        Priorities.SWAP: ({220}, {74}),
        Priorities.NONE: ({None}, {None}),
    }[priorities]
    assert plan.request("nobody") is None


@pytest.mark.parametrize(
    ("protocol", "signals"),
    [
        (Protocol.HTTP2, Signals(position=Position(weight=74))),
        (Protocol.SPDY, Signals(level=5)),
        (Protocol.HTTP3, Signals(field="u=5, i")),
    ],
)
def test_a_priority_in_the_words_of_each_protocol(protocol: Protocol, signals: Signals) -> None:
    """An image of the page `news` has a weight over HTTP/2, a level over SPDY, a header field over HTTP/3."""
    plan = plan_of(page_of("news", Parameters(size_bytes=2048, script_delay_ns=0)), protocol=protocol)
    request = plan.request("image-07")
    assert request is not None
    assert request.signals == signals
