"""Tests of a Link as argument lists of tc."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.netem import shaper, tc
from priolab.netem.link import Link
from priolab.netem.shaper_kind import Shaper

ADD = ("tc", "qdisc", "add", "dev", "to-client")
FAR = ("netem", "limit", "1000000")
SECOND = ("parent", "1:", "handle", "2:")
THIRD = ("parent", "2:", "handle", "3:")
CUTTER = ("root", "handle", "1:", "tbf", "rate", "100gbit", "burst", "1514", "limit", "1073741824")


def test_default_link_is_a_delay_line_and_then_a_bottleneck() -> None:
    """After the tbf, delay and rate have a netem each, so that packets in the delay line do not count in the queue."""
    assert tc.down(Link(rate_bit_s=1_024_000, delay_ns=300_000_000), "to-client") == [
        (*ADD, *CUTTER),
        (*ADD, *SECOND, *FAR, "delay", "300000us"),
        (*ADD, *THIRD, "netem", "limit", "25", "rate", "1024000bit"),
    ]


def test_unlimited_without_delay_needs_no_command() -> None:
    """A link that does not change packets has no commands, in either direction."""
    link = Link(rate_bit_s=None, delay_ns=0)
    assert (tc.down(link, "to-client"), tc.up(link, "to-front")) == ([], [])


def test_loss_stands_in_the_delay_line() -> None:
    """Packets are lost before the bottleneck, also without a delay. The loss is written in percent."""
    assert tc.down(Link(rate_bit_s=128_000, delay_ns=0, loss=0.015), "to-client") == [
        (*ADD, *CUTTER),
        (*ADD, *SECOND, *FAR, "loss", "1.5%"),
        (*ADD, *THIRD, "netem", "limit", "25", "rate", "128000bit"),
    ]


@given(st.floats(min_value=1e-4, max_value=0.5), st.floats(min_value=1, max_value=1000))
def test_bursts_lose_what_was_asked_for(loss: float, packets: float) -> None:
    """The odds of a burst's begin and end are probabilities, and give the mean loss and the mean length."""
    odds = Link(rate_bit_s=None, delay_ns=0, loss=loss, loss_burst_packets=packets).burst_odds
    assert odds is not None
    begins, ends = odds
    assert 0 < begins <= 1
    assert (begins / (begins + ends), 1 / ends) == pytest.approx((loss, packets))


def test_up_is_delay_alone() -> None:
    """Toward the front packets are only delayed. Rate, loss, and jitter apply toward the client alone."""
    link = Link(rate_bit_s=128_000, delay_ns=10**6, delay_up_ns=20_000_000, loss=0.1, jitter_ns=10**6)
    assert tc.up(link, "to-front") == [
        ("tc", "qdisc", "add", "dev", "to-front", *CUTTER),
        ("tc", "qdisc", "add", "dev", "to-front", "parent", "1:", "handle", "2:", *FAR, "delay", "20000us"),
    ]


def test_a_rate_toward_the_front_has_a_queue_of_its_own() -> None:
    """RATE_UP is a bottleneck behind the delay line, if there is one, with as long a queue as the other direction."""
    start = ("tc", "qdisc", "add", "dev", "to-front")
    bottleneck = ("netem", "limit", "30", "rate", "64000bit")
    link = Link(rate_bit_s=None, delay_ns=0, queue_packets=30, rate_up_bit_s=64_000)
    assert tc.up(link, "to-front") == [(*start, *CUTTER), (*start, "parent", "1:", "handle", "2:", *bottleneck)]
    assert tc.up_stages(link, "to-front") == tc.Stages(bottleneck=(tc.Stage(device="to-front", handle=2),))
    delayed = replace(link, delay_up_ns=10**6)
    assert tc.up(delayed, "to-front")[2] == (*start, "parent", "2:", "handle", "3:", *bottleneck)
    assert [stage.handle for stage in tc.up_stages(delayed, "to-front").bottleneck] == [3]


@pytest.mark.parametrize(
    ("delay_ns", "word"), [(1500, "1.500us"), (1, "0.001us"), (1000, "1us"), (1_000_050, "1000.050us")]
)
def test_times_are_microseconds_with_a_fraction(delay_ns: int, word: str) -> None:
    """Nanoseconds survive as a fraction of microseconds, which every version of tc reads."""
    assert tc.up(Link(rate_bit_s=None, delay_ns=0, delay_up_ns=delay_ns), "d")[-1][-1] == word


def test_a_queue_in_bytes() -> None:
    """With the highest bit, the limit of a bottleneck counts bytes; the delay line has no limit."""
    link = Link(
        rate_bit_s=128_000, delay_ns=10**6, rate_up_bit_s=8000, queue_packets=6, queue_bytes=10_240, queue_up_bytes=2000
    )
    *_, bottleneck = tc.down(link, "to-client")
    assert bottleneck[-5:] == ("netem", "limit", str(2**31 + 10_240), "rate", "128000bit")
    *_, bottleneck = tc.up(link, "to-front")
    assert bottleneck[-5:] == ("netem", "limit", str(2**31 + 2000), "rate", "8000bit")


def test_ways_are_led_for_ipv6_too() -> None:
    """ip(8) makes rules and routes for one family; those among a link's commands are made again."""
    link = Link(rate_bit_s=10**6, delay_ns=10**6, reorder=0.01)
    made = shaper.commands(Shaper.NETEM, link, "to-client", "to-front")
    assert tc.ways(made) == "route add default dev delay-down table 13\nrule add iif to-front lookup 13\n"
    assert tc.ways(tc.down(link, "to-client")) == ""
