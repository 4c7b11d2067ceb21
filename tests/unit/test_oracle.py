"""The lower bound of the script's first byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.oracle import bound, inversion
from tests.unit import builders

MS = builders.MS
LINK = {"rate_bit_s": 1_024_000, "delay_ns": 300 * MS, "delay_up_ns": 0, "jitter_ns": 0}
PAGE = {"page_bytes": 500, "script_delay_ns": 200 * MS, "image_bytes": 716_800}


def test_the_default_link_by_hand() -> None:
    """Two delays, the origin's, a page of 597 bytes and a packet of 98 on the wire, 7.8125 us each byte."""
    limit = bound(**LINK, **PAGE)
    assert limit.script_first_byte_ns == 800 * MS + (500 + 31 + 66) * 7812.5 // 1 + (1 + 31 + 66) * 7812.5 // 1
    # 25,600 bytes pass in 200 ms; of each 1514 on the wire 1448 are payload.
    assert limit.image_bytes == 25_600 * 1448 // 1514


def test_an_unlimited_link_takes_the_delays_alone() -> None:
    """Requests go up twice; the whole image may go before the script."""
    limit = bound(rate_bit_s=None, delay_ns=300 * MS, delay_up_ns=50 * MS, jitter_ns=0, **PAGE)
    assert limit.script_first_byte_ns == (2 * 50 + 2 * 300 + 200) * MS
    assert limit.image_bytes == 716_800


@given(
    rate=st.integers(1000, 10**9), delay=st.integers(0, 10**10), up=st.integers(0, 10**10), slower=st.integers(1, 10**6)
)
def test_a_worse_link_is_never_sooner(rate: int, delay: int, up: int, slower: int) -> None:
    """Less rate, more delay: the bound does not fall."""
    link = {"rate_bit_s": rate, "delay_ns": delay, "delay_up_ns": up, "jitter_ns": 0}
    here = bound(**link, **PAGE).script_first_byte_ns
    assert bound(**(link | {"rate_bit_s": max(1, rate - slower)}), **PAGE).script_first_byte_ns >= here
    assert bound(**(link | {"delay_ns": delay + slower}), **PAGE).script_first_byte_ns >= here
    assert bound(**(link | {"jitter_ns": slower}), **PAGE).script_first_byte_ns <= here


def test_inversion_counts_what_was_avoidable() -> None:
    """Late by the difference; image bytes beyond those that could go first without fault."""
    load = builders.page_load(image=[(400, 30_000), (900, 70_000)], script=[(1000, 10), (1100, 90)])
    lost = inversion(load, bound(**LINK, **PAGE))
    assert lost.late_ns == 1000 * MS - lost.bound.script_first_byte_ns
    assert lost.image_bytes == 100_000 - lost.bound.image_bytes
    assert lost.as_document()["inversion_ms"] == pytest.approx(lost.late_ns / MS)


def test_nothing_is_lost_below_the_bound() -> None:
    """Image bytes that an ideal server would have sent first are no inversion."""
    load = builders.page_load(image=[(400, 100), (2000, 900)], script=[(1000, 10), (1100, 90)])
    assert inversion(load, bound(**LINK, **PAGE)).image_bytes == 0
