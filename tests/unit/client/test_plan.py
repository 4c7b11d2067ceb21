"""The plan and its JSON document."""

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.dialects import PLAIN
from client.priorities import Priorities
from common.formats.page import Chunk, Page, Resource
from common.formats.plan import (
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
from tests.pages import maps_plan

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
    favoured=st.lists(st.text(), max_size=2).map(tuple),
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
    format=st.just(PLAN_FORMAT),
)


@given(PLANS)
def test_round_trip(plan: Plan) -> None:
    """A plan read back from its JSON is the same plan."""
    assert Plan.from_json(plan.to_json()) == plan


def test_read_plan(tmp_path: Path) -> None:
    """A plan can be kept in a file."""
    (tmp_path / "plan.json").write_text(MAPS.to_json())
    assert read_plan(tmp_path / "plan.json") == MAPS


@pytest.mark.parametrize("number", [0, 1, 2, "3", None])
def test_other_format_is_refused(number: object) -> None:
    """A plan of another format is not guessed at."""
    document = json.loads(MAPS.to_json()) | {"format": number}
    with pytest.raises(ValueError, match="not a plan of format 3"):
        Plan.from_json(json.dumps(document))


def test_missing_format_is_refused() -> None:
    """A document without a format number is no plan."""
    with pytest.raises(ValueError, match="not a plan of format 3"):
        Plan.from_json("{}")


def test_requests_wait_for_what_the_page_says() -> None:
    """The load begins with the HTML; when it is complete, image and script are due, in order."""
    assert [each.name for each in MAPS.due(None)] == ["page"]
    assert [each.name for each in MAPS.due("page")] == ["image", "script"]
    assert MAPS.due("image") == ()


def test_maps_plan_asks_for_the_image_before_the_script() -> None:
    """Document order works against the script: the image is asked for first, with the smaller weight."""
    assert [(each.name, each.path) for each in MAPS.requests] == [
        ("page", "/"),
        ("image", "/image.jpg"),
        ("script", "/script.js"),
    ]
    assert [each.signals.position for each in MAPS.requests] == [
        Position(weight=256),
        Position(weight=147),
        Position(weight=183),
    ]


def test_over_spdy_levels_are_said() -> None:
    """And no weights; the plan says itself what is spoken."""
    plan = _maps(protocol=Protocol.SPDY)
    assert (MAPS.protocol, plan.protocol) == ("h2", "spdy/3.1")
    assert [each.signals for each in plan.requests] == [Signals(level=level) for level in (0, 3, 2)]
    assert Plan.from_json(plan.to_json()) == plan


def test_the_script_can_be_requested_first() -> None:
    """With the priorities it had."""
    plan = _maps(first="script")
    page, image, script = MAPS.requests
    assert (plan.requests, plan.favoured) == ((page, script, image), ("script",))


def test_the_measured_load_comes_after_the_reloads() -> None:
    """Two reloads make three loads."""
    assert MAPS.loads == 3
