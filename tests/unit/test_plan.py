"""The plan and its JSON document."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.plan import Plan, Request, maps_plan, read_plan
from client.priorities import Priorities

MAPS = maps_plan(
    address="198.18.1.2",
    port=443,
    server_name="maps.test",
    priorities=Priorities.SPDY,
    reloads=2,
    window_bytes=2**24,
    load_deadline_ns=10**9,
)
REQUESTS = st.builds(
    Request, name=st.text(), path=st.text(), weight=st.none() | st.integers(min_value=1, max_value=256)
)
PLANS = st.builds(
    Plan,
    address=st.text(),
    port=st.integers(min_value=1, max_value=65_535),
    server_name=st.text(),
    page=REQUESTS,
    resources=st.lists(REQUESTS, max_size=4).map(tuple),
    loads=st.integers(min_value=1, max_value=100),
    window_bytes=st.integers(min_value=65_535, max_value=2**31 - 1),
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


@pytest.mark.parametrize("number", [0, 2, "1", None])
def test_other_format_is_refused(number: object) -> None:
    """A plan of another format is not guessed at."""
    document = json.loads(MAPS.to_json()) | {"format": number}
    with pytest.raises(ValueError, match="not a plan of format 1"):
        Plan.from_json(json.dumps(document))


def test_missing_format_is_refused() -> None:
    """A document without a format number is no plan."""
    with pytest.raises(ValueError, match="not a plan of format 1"):
        Plan.from_json("{}")


def test_maps_plan_asks_for_the_image_before_the_script() -> None:
    """Document order works against the script: the image is asked for first, with the smaller weight."""
    assert MAPS.page == Request(name="page", path="/", weight=256)
    assert MAPS.resources == (
        Request(name="image", path="/image.jpg", weight=147),
        Request(name="script", path="/script.js", weight=183),
    )


def test_the_measured_load_comes_after_the_reloads() -> None:
    """Two reloads make three loads."""
    assert MAPS.loads == 3
