"""Tests of links that take each other's place: what they have in common, and the commands between them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.netem import shaper
from priolab.netem.later_links import links_over_time, parts_of
from priolab.netem.link import Link, Part
from priolab.netem.shaper_kind import Shaper

PLAIN = Link(rate_bit_s=None, delay_ns=0)
LINKS = st.builds(
    Link,
    rate_bit_s=st.sampled_from([None, 10**6, 10**7]),
    rate_up_bit_s=st.sampled_from([None, 10**6]),
    delay_ns=st.sampled_from([10**6, 10**8]),
    delay_up_ns=st.sampled_from([0, 10**8]),
    loss=st.sampled_from([0, 0.5, 1]),
    loss_up=st.sampled_from([0, 1]),
    jitter_ns=st.sampled_from([0, 10**6]),
    reorder=st.sampled_from([0, 0.1]),
    duplicate_up=st.sampled_from([0, 1]),
    corrupt=st.sampled_from([0, 1]),
    queue_packets=st.sampled_from([2, 100]),
)


def test_links_that_are_equal_need_nothing() -> None:
    """A link whose schedule sets the values that it has is the link without a schedule."""
    link = Link(rate_bit_s=10**6, delay_ns=10**6)
    made = [shaper.commands(Shaper.NETEM, each, "near", "far") for each in (link, *links_over_time([link, link]))]
    assert made[0] == made[1] == made[2]


def test_a_direction_without_qdiscs_begins_without_them() -> None:
    """Its delay line is made when it is first needed, so packets before it are not touched."""
    bare, same, lossy = links_over_time([PLAIN, PLAIN, Link(rate_bit_s=None, delay_ns=0, loss=1)])
    assert shaper.commands(Shaper.NETEM, bare, "near", "far") == []
    assert shaper.later(bare, same, "near", "far") == []
    first, second = shaper.later(same, lossy, "near", "far")
    assert first[:7] == ("tc", "qdisc", "add", "dev", "near", "root", "handle")
    assert second[-2:] == ("loss", "100%")


def test_a_delay_line_before_a_bottleneck_is_there_from_the_beginning() -> None:
    """It cannot be put there later without losing packets; a rate that changes needs a gate."""
    slow = Link(rate_bit_s=10**6, delay_ns=0)
    first, _ = links_over_time([slow, Link(rate_bit_s=10**6, delay_ns=10**6)])
    assert first.prepared == {Part.DELAY_LINE}
    first, _ = links_over_time([slow, PLAIN])
    assert first.prepared == {Part.GATE}
    assert first.prepared_up == frozenset()


def test_a_later_queue_in_bytes_decides_the_shaper() -> None:
    """netem's gate cannot count bytes, also if the first queue is one of packets."""
    first = Link(rate_bit_s=10**6, delay_ns=0, queue_packets=20)
    later = Link(rate_bit_s=10**7, delay_ns=0, queue_packets=20, queue_bytes=30_720)
    with_bytes, _ = links_over_time([first, later])
    assert shaper.lack_of(Shaper.NETEM, with_bytes, netem_counts_bytes=True) == shaper.NO_BYTES_IN_STEPS
    with_packets, _ = links_over_time([first, Link(rate_bit_s=10**7, delay_ns=0, queue_packets=30)])
    assert shaper.lack_of(Shaper.NETEM, with_packets) is None


def test_what_is_changed_is_named_in_full() -> None:
    """netem keeps rate, corruption and reordering that a command does not name. Packets stay in order (rate)."""
    before, after = links_over_time([Link(rate_bit_s=None, delay_ns=10**6, corrupt=0.5), PLAIN])
    ((*_, kind, limit, most, rate, fast, corrupt, none, reorder, never),) = shaper.later(before, after, "near", "far")
    assert (kind, limit, most, rate, fast) == ("netem", "limit", "1000000", "rate", "100gbit")
    assert (corrupt, none, reorder, never) == ("corrupt", "0%", "reorder", "0%")


@pytest.mark.parametrize("way", ["down", "up"])
@given(st.lists(LINKS, min_size=2, max_size=4))
def test_later_links_have_the_same_qdiscs(way: str, links: list[Link]) -> None:
    """Every command changes a qdisc that the first link has, in both directions."""
    over_time = links_over_time(links)
    stages = [shaper.stages(link, "near", "far")[way] for link in over_time if link.prepared and link.prepared_up]
    assert all(each == stages[0] for each in stages)
    for before, after in pairwise(over_time):
        assert {(program, verb) for program, _, verb, *_ in shaper.later(before, after, "near", "far")} <= {
            ("tc", "change"),
            ("tc", "add"),
        }


@given(st.lists(LINKS, min_size=1, max_size=3))
def test_a_later_link_survives_json(links: list[Link]) -> None:
    """A ferry gets later links as JSON."""
    for link in links_over_time(links):
        assert Link.from_document(link.as_document()) == link


@pytest.mark.parametrize(
    ("knobs", "others"),
    [(["LOSS"], 0), (["DELAY_UP", "LOSS_UP"], 0), (["MTU"], 0), (["RATE"], 1), (["REORDER_UP"], 1)],
)
def test_parts_that_are_declared(knobs: list[str], others: int) -> None:
    """A link with a delay line has no other parts for losses; for a rate or for packets that overtake it has."""
    slow = Link(rate_bit_s=None, delay_ns=10**6)
    (declared,) = links_over_time([slow], parts_of(knobs))
    assert shaper.are_alike(slow, declared) is (others == 0)
    later = Link(rate_bit_s=10**6, delay_ns=10**6)
    assert shaper.are_alike(links_over_time([slow, later])[0], declared) is (knobs == ["RATE"])


def test_parts_of_the_ferry() -> None:
    """A link whose queue netem can count in bytes only without a rate that changes is another one with such a rate."""
    first = Link(rate_bit_s=10**6, delay_ns=0, queue_packets=20, queue_bytes=30_720)
    assert not shaper.are_alike(first, *links_over_time([first], parts_of(["RATE"])))
    assert shaper.are_alike(first, *links_over_time([first], parts_of(["QUEUE"])))
