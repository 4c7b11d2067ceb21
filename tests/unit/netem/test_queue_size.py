"""The notations of QUEUE, and the bytes that they stand for on a link."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common.packets import PACKET_BYTES
from priolab.common.trace import Trace
from priolab.netem.link import Link, Qdisc
from priolab.netem.link_options import link_from, packed_traces
from priolab.netem.queue_size import MOST_BYTES, QueueSize

MS = 10**6


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("25", QueueSize(packets=25)),
        ("30kb", QueueSize(size_bytes=30_720)),
        ("10000b", QueueSize(size_bytes=10_000)),
        ("1m", QueueSize(size_bytes=2**20)),
        ("200ms", QueueSize(time_ns=200 * MS)),
        ("0.2s", QueueSize(time_ns=200 * MS)),
        ("1bdp", QueueSize(products=Fraction(1))),
        (".5BDP", QueueSize(products=Fraction(1, 2))),
    ],
)
def test_notations(text: str, size: QueueSize) -> None:
    """A number is packets; a unit of size, of time, or bdp says what else it is."""
    assert QueueSize.parse(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "0", "100001", "0b", "1513b", "151400001b", "0ms", "3601s", "0bdp", "bdp", "-1bdp", "1bd", "x"],
)
def test_what_is_no_queue(text: str) -> None:
    """A queue of nothing, one that is too long, and other texts are refused."""
    with pytest.raises(ValueError, match=r".+"):
        QueueSize.parse(text)


@pytest.mark.parametrize(
    ("words", "packets", "down", "up"),
    [
        ({"QUEUE": "25"}, 25, None, None),
        ({"QUEUE": "10kb", "RATE": "1mbit"}, 6, 10_240, None),
        ({"QUEUE": "30kb", "RATE_UP": "1mbit"}, 20, 30_720, 30_720),
        ({"QUEUE": "200ms", "RATE": "10mbit", "RATE_UP": "1mbit"}, 165, 250_000, 25_000),
        ({"QUEUE": "1bdp", "RATE": "10mbit", "DELAY": "20ms", "DELAY_UP": "30ms"}, 41, 62_500, None),
        ({"QUEUE": "2bdp", "RATE": "10mbit", "DELAY": "20ms", "DELAY_UP": "30ms"}, 82, 125_000, None),
        ({"QUEUE": "1bdp", "RATE": "1kbit", "RATE_STEPS": "1gbit@1s", "DELAY": "1ms"}, 1, PACKET_BYTES, None),
        ({"QUEUE": "200ms", "RATE": "unlimited", "RATE_UP": "1mbit"}, 16, None, 25_000),
        ({"QUEUE": "30kb", "RATE": "unlimited"}, 20, None, None),
    ],
)
def test_what_they_become(words: dict[str, str], packets: int, down: int | None, up: int | None) -> None:
    """A time and a bandwidth-delay product are taken at each direction's first rate, and are at least a full packet."""
    link = link_from(words)
    assert (link.queue_packets, link.queue_bytes, link.queue_up_bytes) == (packets, down, up)


def test_the_rate_of_a_trace_is_its_mean() -> None:
    """With a trace, in either direction, the mean rate counts."""
    trace = Trace(name="t", times_ms=(4, 8))  # 3.028 Mbit/s
    traces = packed_traces(Link(rate_bit_s=trace.mean_bit_s, delay_ns=0, trace=trace, trace_up=trace))
    link = link_from({**traces, "DELAY": "10ms", "DELAY_UP": "30ms", "QUEUE": "1bdp"})
    assert (link.queue_bytes, link.queue_up_bytes) == (15_140, 15_140)


@given(st.integers(1000, 10**9), st.integers(0, 10**9), st.fractions(Fraction(1, 100), 4))
def test_a_product_is_what_a_round_trip_carries(rate_bit_s: int, round_trip_ns: int, products: Fraction) -> None:
    """The bytes are those of so many round trips, to the byte, but at least a full packet and never too many."""
    asked = products * rate_bit_s * round_trip_ns / (8 * 10**9)
    size = QueueSize(products=products)
    if asked > MOST_BYTES + 1:
        with pytest.raises(ValueError, match="queue: allowed at most"):
            size.fields(rate_bit_s=rate_bit_s, rate_up_bit_s=None, round_trip_ns=round_trip_ns)
        return
    if asked > MOST_BYTES - 1:
        return
    found = size.fields(rate_bit_s=rate_bit_s, rate_up_bit_s=None, round_trip_ns=round_trip_ns)
    assert abs(found["queue_bytes"] - max(asked, PACKET_BYTES)) <= Fraction(1, 2)


@pytest.mark.parametrize("qdisc", [qdisc for qdisc in Qdisc if qdisc is not Qdisc.FIFO])
@pytest.mark.parametrize("queue", ["30kb", "200ms", "1bdp"])
def test_only_fifo_counts_bytes(qdisc: Qdisc, queue: str) -> None:
    """The kernel limits the other disciplines in packets or in memory; the error says in which."""
    counted = "memory" if qdisc is Qdisc.CAKE else "packets"
    with pytest.raises(ValueError, match=f"a number of packets with QDISC={qdisc}, whose limit counts {counted}"):
        link_from({"QUEUE": queue, "QDISC": qdisc})


def test_packets_are_those_that_have_room_in_the_bytes() -> None:
    """A Link whose packets and bytes contradict each other is none."""
    assert Link(rate_bit_s=10**6, delay_ns=0, queue_packets=6, queue_bytes=10_000).most_queue_bytes == 10_000
    with pytest.raises(ValueError, match="queue: allowed as many packets as full-size ones"):
        Link(rate_bit_s=10**6, delay_ns=0, queue_packets=7, queue_bytes=10_000)
