"""Tests of the lower bound of the script's first byte."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.loads.lower_bound import Bound, bound, inversion
from priolab.analysis.records.rate import Rate
from tests.support import builders

MS = builders.MS
LINK: dict[str, Any] = {"rate_bit_s": 1_024_000, "delay_ns": 300 * MS, "delay_up_ns": 0, "jitter_ns": 0}
PAGE_BYTES, SCRIPT_DELAY_MS, IMAGE_BYTES = 558, 200, 716_800


def bound_on(link: Mapping[str, Any], *, rate_steps: str | None = None) -> Bound:
    """Returns the bound for the Maps case's script on a link."""
    page = builders.maps(IMAGE_BYTES, SCRIPT_DELAY_MS)
    assert page["page"].size_bytes == PAGE_BYTES
    scenario = builders.scenario(**link, rate_steps=rate_steps)
    return bound(page, page["script"], scenario, Rate.of(scenario))


def test_the_default_link_by_hand() -> None:
    """The bound is two delays of 300 ms, the origin's delay, and two transmissions at 7.8125 us per byte.

    The page has 655 bytes on the wire, and the packet with the script's first byte has 98.
    """
    limit = bound_on(LINK)
    assert limit.first_byte_ns == 800 * MS + (PAGE_BYTES + 31 + 66) * 7812.5 // 1 + (1 + 31 + 66) * 7812.5 // 1
    # 25,600 bytes pass in 200 ms; of each 1514 bytes on the wire 1448 are payload.
    assert limit.other_bytes == 25_600 * 1448 // 1514


def test_the_clients_wait() -> None:
    """A request that the client sends 600 ms later has a bound that is 600 ms later."""
    page, scenario = builders.maps(IMAGE_BYTES, SCRIPT_DELAY_MS), builders.scenario(**LINK, rate_steps=None)
    script = page["script"]
    at_once, late = (
        bound(page, each, scenario, Rate.of(scenario)) for each in (script, replace(script, wait_ns=600 * MS))
    )
    assert late.first_byte_ns - at_once.first_byte_ns == 600 * MS


def test_an_unlimited_link_takes_the_delays_alone() -> None:
    """Without a rate the bound is the origin's delay and two round trips of the link.

    The whole image may go before the script.
    """
    limit = bound_on(LINK | {"rate_bit_s": None, "delay_up_ns": 50 * MS})
    assert limit.first_byte_ns == (2 * 50 + 2 * 300 + 200) * MS
    assert limit.other_bytes == 716_800


def test_requests_take_their_transmission() -> None:
    """With RATE_UP each of the two requests takes at least the time of the smallest packet with a byte of it."""
    later_ns = bound_on(LINK | {"rate_up_bit_s": 8000}).first_byte_ns - bound_on(LINK).first_byte_ns
    assert later_ns == 2 * (1 + 31 + 66) * MS


@given(
    rate=st.integers(1000, 10**9), delay=st.integers(0, 10**10), up=st.integers(0, 10**10), slower=st.integers(1, 10**6)
)
def test_a_worse_link_is_never_sooner(rate: int, delay: int, up: int, slower: int) -> None:
    """A lower rate or a longer delay does not lower the bound, and jitter does not raise the bound."""
    link: dict[str, Any] = {"rate_bit_s": rate, "delay_ns": delay, "delay_up_ns": up, "jitter_ns": 0}
    here = bound_on(link).first_byte_ns
    assert bound_on(link | {"rate_bit_s": max(1, rate - slower)}).first_byte_ns >= here
    assert bound_on(link | {"delay_ns": delay + slower}).first_byte_ns >= here
    assert bound_on(link | {"jitter_ns": slower}).first_byte_ns <= here


def test_a_rate_that_changes_by_hand() -> None:
    """Before the rate step the page and a part of the image cross the link; the script crosses after the step."""
    at_ns = 300 * MS + (PAGE_BYTES + 31 + 66) * 7812.5 // 1 + 300 * MS + 100 * MS
    limit = bound_on(LINK, rate_steps=f"10240000bit@{int(at_ns)}ns")
    assert limit.first_byte_ns == 800 * MS + (PAGE_BYTES + 31 + 66) * 7812.5 // 1 + 98 * 781.25 // 1
    assert limit.other_bytes == (12_800 + 128_000) * 1448 // 1514


def test_a_packet_may_wait_for_a_better_rate() -> None:
    """If the rate soon rises from 1 kB/s to 1 MB/s, a packet that waits for the rise arrives sooner."""
    slow = {"rate_bit_s": 8000, "delay_ns": 0, "delay_up_ns": 0, "jitter_ns": 0}
    limit = bound_on(slow, rate_steps=f"8000000bit@{MS}ns")
    assert limit.first_byte_ns == MS + (PAGE_BYTES + 31 + 66) * 1000 + 200 * MS + 98 * 1000


@given(
    rate=st.integers(1000, 10**7),
    steps=st.lists(st.tuples(st.integers(1, 10**10), st.integers(1000, 10**7)), max_size=4, unique_by=lambda x: x[0]),
)
def test_a_rate_that_changes_is_between_its_extremes(rate: int, steps: list[tuple[int, int]]) -> None:
    """With rate steps the bound lies between the bounds with the highest and with the lowest rate."""
    text = "+".join(f"{changed}bit@{at_ns}ns" for at_ns, changed in sorted(steps)) or None
    rates = [rate, *(changed for _, changed in steps)]
    changing = bound_on(LINK | {"rate_bit_s": rate}, rate_steps=text)
    lowest, highest = (bound_on(LINK | {"rate_bit_s": extreme}) for extreme in (min(rates), max(rates)))
    assert highest.first_byte_ns <= changing.first_byte_ns <= lowest.first_byte_ns
    assert lowest.other_bytes <= changing.other_bytes <= highest.other_bytes


def test_inversion_counts_what_was_avoidable() -> None:
    """`late_ns` is the time by which the script's first byte is later than the bound.

    `other_bytes` are the image bytes beyond those that the bound allows before the script.
    """
    load = builders.page_load(image=[(400, 30_000), (900, 70_000)], script=[(1000, 10), (1100, 90)])
    lost = inversion(load, bound_on(LINK))
    assert lost.late_ns == 1000 * MS - lost.bound.first_byte_ns
    assert lost.other_bytes == 100_000 - lost.bound.other_bytes
    assert lost.as_record().inversion_ms == pytest.approx(lost.late_ns / MS)


def test_nothing_is_lost_below_the_bound() -> None:
    """Image bytes that an ideal server would also have sent first do not count as inversion."""
    load = builders.page_load(image=[(400, 100), (2000, 900)], script=[(1000, 10), (1100, 90)])
    assert inversion(load, bound_on(LINK)).other_bytes == 0


def test_what_was_asked_for_first() -> None:
    """The image crosses before the script if the client asked for it first, and its bytes are not needless."""
    page = builders.maps(IMAGE_BYTES, SCRIPT_DELAY_MS)
    scenario = builders.scenario(**LINK, rate_steps=None)
    limit = bound(page, page["script"], scenario, Rate.of(scenario), [page["image"]])
    later_ns = limit.first_byte_ns - bound_on(LINK).first_byte_ns
    wire_bytes = IMAGE_BYTES + (IMAGE_BYTES // 1448 + 1) * 66
    assert later_ns == pytest.approx(wire_bytes * 7812.5 - SCRIPT_DELAY_MS * MS, rel=0.001)
    load = builders.page_load([(6000, IMAGE_BYTES)], [(6900, 1000)])
    assert inversion(load, limit).other_bytes == 0
    assert inversion(load, bound_on(LINK)).other_bytes > 600_000
    sooner = builders.page_load([(9000, IMAGE_BYTES)], [(1000, 1000)])
    assert inversion(sooner, limit).late_ns == 0
