"""Tests of the Link as a value: its limits, and the figures derived from it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common.packets import PACKET_BYTES
from priolab.common.trace import Trace
from priolab.netem.link import Link, Qdisc, RateStep

STEP = RateStep(at_ns=1, rate_bit_s=1_000_000)
MODEM = Link(rate_bit_s=128_000, delay_ns=300_000_000)


def test_default_queue() -> None:
    """A link with only rate and delay has a queue of 25 packets, no loss, no jitter, and no delay upward."""
    assert (MODEM.queue_packets, MODEM.loss, MODEM.jitter_ns, MODEM.delay_up_ns) == (25, 0.0, 0, 0)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"rate_bit_s": 999}, "rate: allowed are 1kbit to 100gbit, or unlimited"),
        ({"rate_bit_s": 0}, "rate: "),
        ({"rate_bit_s": 100 * 10**9 + 1}, "rate: "),
        ({"delay_ns": -1}, "delay: allowed are 0ms to 60s"),
        ({"rate_up_bit_s": 999}, "rate_up: allowed are 1kbit to 100gbit, or unlimited"),
        ({"rate_up_bit_s": 10**6, "trace_up": Trace(name="t", times_ms=(10,))}, "rate_up: allowed is unlimited with"),
        ({"delay_up_ns": 60 * 10**9 + 1}, "delay_up: allowed are 0ms to 60s"),
        ({"queue_packets": 0}, "queue: allowed are 1 to 100000 packets of 1514 bytes"),
        ({"queue_packets": 100_001}, "queue: "),
        ({"loss": 1.01}, "loss: allowed are 0% to 100%"),
        ({"loss": -0.01}, "loss: "),
        ({"loss": float("nan")}, "loss: "),
        ({"jitter_ns": 300_000_001}, "jitter: allowed are 0ms to the delay"),
        ({"rate_steps": (RateStep(at_ns=1, rate_bit_s=999),)}, "rate_steps: allowed are rates of 1kbit"),
        ({"rate_steps": (RateStep(at_ns=0, rate_bit_s=1000),)}, "rate_steps: allowed are times above 0s"),
        ({"rate_steps": (STEP, STEP)}, "rate_steps: allowed are times above 0s up to 3600s, each later"),
        ({"rate_steps": (STEP,), "rate_bit_s": None}, "rate_steps: allowed with a limited rate only"),
        ({"rate_steps": (STEP,), "queue_packets": 1}, "rate_steps: allowed with a queue of two or more packets only"),
    ],
)
def test_invalid(fields: dict[str, Any], text: str) -> None:
    """A value out of range raises an error that begins with the field and says what is allowed."""
    with pytest.raises(ValueError, match=f"^{text}"):
        Link(**{"rate_bit_s": 128_000, "delay_ns": 300_000_000} | fields)


@pytest.mark.parametrize(
    ("link", "shaped"),
    [
        (Link(rate_bit_s=None, delay_ns=0), False),
        (Link(rate_bit_s=None, delay_ns=0, queue_packets=1), False),
        (Link(rate_bit_s=1000, delay_ns=0), True),
        (Link(rate_bit_s=None, delay_ns=1), True),
        (Link(rate_bit_s=None, delay_ns=0, delay_up_ns=1), True),
        (Link(rate_bit_s=None, delay_ns=0, rate_up_bit_s=1000), True),
        (Link(rate_bit_s=None, delay_ns=0, loss=0.01), True),
    ],
)
def test_shaped(link: Link, shaped: bool) -> None:  # noqa: FBT001
    """A link is shaped if it has a rate, a delay, or loss. A queue without a rate never fills, so it shapes nothing."""
    assert link.shaped is shaped


def test_round_trip_adds_both_directions() -> None:
    """The round trip is the delay down and the delay up."""
    assert Link(rate_bit_s=None, delay_ns=300, delay_up_ns=20).round_trip_ns == 320


def test_rates() -> None:
    """`rates_bit_s` is the first rate and those of the steps, in order of time."""
    assert replace(MODEM, rate_steps=(STEP,)).rates_bit_s == (128_000, 1_000_000)
    assert Link(rate_bit_s=None, delay_ns=0).rates_bit_s == ()


def test_a_link_survives_json() -> None:
    """A Link survives the way to JSON and back, with and without steps."""
    link = replace(MODEM, rate_steps=(STEP,))
    assert Link.from_document(json.loads(json.dumps(link.as_document()))) == link
    assert Link.from_document({"rate_bit_s": 128_000, "delay_ns": 300_000_000}) == MODEM


def test_transmission_time() -> None:
    """A full-size packet takes 94.6 ms on the modem link and no time at all without a rate."""
    assert MODEM.transmission_ns(PACKET_BYTES) == 94_625_000
    assert Link(rate_bit_s=None, delay_ns=0).transmission_ns(PACKET_BYTES) == 0


@pytest.mark.parametrize(
    ("fields", "longest_ms"),
    [
        ({}, 0),
        ({"delay_ns": 300_000_000, "delay_up_ns": 20_000_000}, 320),
        ({"delay_ns": 300_000_000, "jitter_ns": 50_000_000}, 350),
        ({"rate_bit_s": 1_211_200}, 60),
        ({"rate_bit_s": 1_211_200, "delay_ns": 300_000_000}, 360),
        ({"rate_bit_s": 1_211_200, "queue_packets": 22}, 380),
        ({"rate_bit_s": 1_211_200, "qdisc": Qdisc.CAKE}, 380),
        ({"queue_packets": 1}, 0),
    ],
)
def test_the_longest_silence(fields: dict[str, Any], longest_ms: int) -> None:
    """An answer of six packets takes the round trip and 60 ms, and thrice that and 200 ms if it may be sent again."""
    link = Link(**{"rate_bit_s": None, "delay_ns": 0, **fields})
    assert link.longest_silence_ns(8192) == longest_ms * 10**6


@given(
    rate_bit_s=st.integers(min_value=1000, max_value=100 * 10**9), size_bytes=st.integers(min_value=0, max_value=2**30)
)
def test_transmission_time_is_rounded_down(rate_bit_s: int, size_bytes: int) -> None:
    """In a packet's transmission time the link moves at most the packet's bytes.
    In one nanosecond more, the link could move more than these bytes.
    """
    time_ns = Link(rate_bit_s=rate_bit_s, delay_ns=0).transmission_ns(size_bytes)
    assert time_ns * rate_bit_s <= size_bytes * 8 * 10**9 < (time_ns + 1) * rate_bit_s
