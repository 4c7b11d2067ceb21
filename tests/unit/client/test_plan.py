"""The plan and its JSON document."""

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.dialects import PLAIN
from client.plan import maps_plan
from client.priorities import First, Priorities
from common.formats.plan import Change, Group, Plan, Position, Protocol, Request, Signals, Steps, read_plan

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
REQUESTS = st.builds(Request, name=st.text(), path=st.text(), signals=SIGNALS)
PLANS = st.builds(
    Plan,
    address=st.text(),
    port=st.integers(min_value=1, max_value=65_535),
    server_name=st.text(),
    page=st.none() | REQUESTS,
    resources=st.lists(REQUESTS, max_size=4).map(tuple),
    favoured=st.none() | st.text(),
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
)


@given(PLANS)
def test_round_trip(plan: Plan) -> None:
    """A plan read back from its JSON is the same plan."""
    assert Plan.from_json(plan.to_json()) == plan


def test_read_plan(tmp_path: Path) -> None:
    """A plan can be kept in a file."""
    (tmp_path / "plan.json").write_text(MAPS.to_json())
    assert read_plan(tmp_path / "plan.json") == MAPS


@pytest.mark.parametrize("number", [0, 1, 3, "2", None])
def test_other_format_is_refused(number: object) -> None:
    """A plan of another format is not guessed at."""
    document = json.loads(MAPS.to_json()) | {"format": number}
    with pytest.raises(ValueError, match="not a plan of format 2"):
        Plan.from_json(json.dumps(document))


def test_missing_format_is_refused() -> None:
    """A document without a format number is no plan."""
    with pytest.raises(ValueError, match="not a plan of format 2"):
        Plan.from_json("{}")


def requests(plan: Plan) -> list[Request]:
    """All of one load."""
    return [*([plan.page] if plan.page else []), *plan.resources]


def test_paths_of_ones_own() -> None:
    """Without a page the load begins with the two, and what is said of them is the same."""
    plan = _maps(paths={"image": "/a", "script": "/b?c"})
    assert plan.page is None
    assert [(each.path, each.signals) for each in requests(plan)] == [
        ("/a", MAPS.resources[0].signals),
        ("/b?c", MAPS.resources[1].signals),
    ]


def test_maps_plan_asks_for_the_image_before_the_script() -> None:
    """Document order works against the script: the image is asked for first, with the smaller weight."""
    assert [(each.name, each.path) for each in requests(MAPS)] == [
        ("page", "/"),
        ("image", "/image.jpg"),
        ("script", "/script.js"),
    ]
    assert [each.signals.position for each in requests(MAPS)] == [
        Position(weight=256),
        Position(weight=147),
        Position(weight=183),
    ]


def test_over_spdy_levels_are_said() -> None:
    """And no weights; the plan says itself what is spoken."""
    plan = _maps(protocol=Protocol.SPDY)
    assert (MAPS.protocol, plan.protocol) == ("h2", "spdy/3.1")
    assert [each.signals for each in requests(plan)] == [Signals(level=level) for level in (0, 3, 2)]
    assert Plan.from_json(plan.to_json()) == plan


def test_the_script_can_be_requested_first() -> None:
    """With the priorities it had."""
    plan = _maps(first=First.SCRIPT)
    assert (plan.page, plan.resources, plan.favoured) == (MAPS.page, MAPS.resources[::-1], "script")


def test_the_measured_load_comes_after_the_reloads() -> None:
    """Two reloads make three loads."""
    assert MAPS.loads == 3
