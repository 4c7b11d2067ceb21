"""Tests of the timeline's lanes: the lanes of a page, and the steps of each lane.

A step is a short time in which the lane has one height: the resource's share of the link.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.figures.lanes import Step, lanes, lanes_of
from priolab.analysis.records.rate import Rate
from tests.support.builders import Pieces, load_of, page_load, scenario
from tests.support.pages import page_of_parts, part

STEP_S = 0.1
RATE_BIT_S = 1_514_000  # 180,000 bytes of payload per second, 18,000 in a step


def a_rate(rate_bit_s: int | None, rate_steps: str | None = None) -> Rate | None:
    return Rate.of(scenario(rate_bit_s=rate_bit_s, rate_steps=rate_steps))


def heights(steps: list[Step]) -> list[float]:
    return [step.height for step in steps]


@pytest.mark.parametrize("rate_bit_s", [RATE_BIT_S, None])
def test_a_lane_begins_and_ends_with_its_bytes(rate_bit_s: int | None) -> None:
    """The steps of a lane fill the time from the first to the last byte, without gaps."""
    image = [(333, 1000), (700, 18_000), (1777, 18_000)]
    steps = lanes(page_load(image, [(2000, 10), (2500, 10)]), a_rate(rate_bit_s), STEP_S)["image"]
    assert (steps[0].start_s, steps[-1].end_s) == pytest.approx((0.333, 1.777))
    assert [step.end_s for step in steps[:-1]] == [step.start_s for step in steps[1:]]
    assert len(steps) == 14


def test_payload_is_drawn_where_it_crossed() -> None:
    """A record is drawn in the time in which it crossed the link, before it was readable.

    The first record, which crossed the link before the lane begins, adds nothing.
    """
    image = [(1000, 18_000), (1100, 18_000), (1500, 36_000)]
    steps = lanes(page_load(image, [(3000, 10)]), a_rate(RATE_BIT_S), STEP_S)["image"]
    assert heights(steps) == [1.0, 0.0, 0.0, 1.0, 1.0]


def test_a_part_is_of_what_the_link_could_carry_then() -> None:
    """A step's height is the resource's bytes divided by the bytes that the link can carry during the step.

    This holds also after the rate rises tenfold at 1.5 s.
    """
    rate = a_rate(RATE_BIT_S, f"{10 * RATE_BIT_S}bit@1500000000ns")
    image = [(1000, 1000), (1100, 18_000), (1900, 18_000), (2000, 18_000)]
    steps = lanes(page_load(image, [(3000, 10)]), rate, STEP_S)["image"]
    assert heights(steps) == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1]


def test_the_link_is_shared() -> None:
    """Payload of two resources that becomes readable at one time shares the link: each step has half the height."""
    image, script = [(900, 10), (2000, 9000)], [(1000, 10), (2000, 9000)]
    found = lanes(page_load(image, script), a_rate(RATE_BIT_S), STEP_S)
    assert (found["image"][-1].height, found["script"][-1].height) == (0.5, 0.5)


@given(
    image=st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 99_999)), min_size=1).map(sorted),
    script=st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 99_999)), min_size=1).map(sorted),
    rate_bit_s=st.none() | st.integers(1000, 10**11),
)
def test_every_lane_can_be_drawn(image: Pieces, script: Pieces, rate_bit_s: int | None) -> None:
    """For any payload, each step has a positive length and a height from 0 to 1, and a first step is visible."""
    for steps in lanes(page_load(image, script), a_rate(rate_bit_s), STEP_S).values():
        assert all(step.start_s < step.end_s for step in steps)
        assert all(0 <= step.height <= 1 for step in steps)
        assert steps[0].height > 0


@pytest.mark.parametrize(
    ("others", "important", "names"),
    [
        (1, 6, ["6 important", "o0"]),
        (1, 5, ["i0", "i1", "i2", "i3", "i4", "o0"]),
        (2, 5, ["i0", "i1", "i2", "i3", "i4", "2 others"]),
        (5, 1, ["i0", "o0", "o1", "o2", "o3", "o4"]),
        (7, 6, ["6 important", "7 others"]),
        (6, 1, ["i0", "6 others"]),
    ],
)
def test_no_more_than_six_lanes(others: int, important: int, names: list[str]) -> None:
    """A page has at most six lanes; every resource but a document is in exactly one lane."""
    page = page_of_parts(
        part("html"),
        *(part(f"o{n}", after="html") for n in range(others)),
        *(part(f"i{n}", after="html", important=True) for n in range(important)),
    )
    shown = lanes_of(page)
    assert [lane.name for lane in shown] == names
    assert sorted(name for lane in shown for name in lane.resources) == sorted(each.name for each in page.contents)


def test_a_shared_lane_has_the_bytes_of_all() -> None:
    """The height of a shared lane's step counts the bytes of all resources in the lane."""
    page = page_of_parts(*(part(f"o{n}") for n in range(6)), part("i", important=True))
    payload: dict[str, Pieces] = {"o0": [(900, 10), (2000, 9000)], "o1": [(2000, 4500)]}
    payload |= {f"o{n}": [(1000, 10)] for n in range(2, 6)} | {"i": [(1000, 10), (2000, 4500)]}
    load = load_of(page, payload, dict.fromkeys(payload, 0))
    found = lanes(load, a_rate(RATE_BIT_S), STEP_S)
    assert list(found) == ["i", "6 others"]
    assert (found["6 others"][-1].height, found["i"][-1].height) == (0.75, 0.25)
    (own, shared) = lanes_of(page)
    assert sum(piece.size_bytes for piece in shared.pieces(load)) == 13_550
    assert [piece.t_ns for piece in shared.pieces(load)] == sorted(piece.t_ns for piece in shared.pieces(load))
    assert sum(piece.size_bytes for piece in own.pieces(load)) == 4510
