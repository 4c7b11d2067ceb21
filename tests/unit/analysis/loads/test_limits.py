"""Tests of what limited a transfer: each limit alone, on a link that would carry 1,000 bytes in a millisecond."""

from dataclasses import replace

import pytest

from priolab.analysis.loads.flow_control import Windows
from priolab.analysis.loads.limits import Ends, Limit, limits, sentence
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Layers
from priolab.common.formats.events import Arrival, Event, Kind
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.plan import Protocol
from priolab.common.formats.run import LimitsRecord
from priolab.common.formats.samples import SocketSample
from priolab.common.packets import unframed
from tests.support.builders import MS, load_of, socket_sample

_DELAY_MS = 30
_LINK = Ends(rate=Rate(pieces=((-(2**63), 8_000_000),)), delay_ns=_DELAY_MS * MS, windows=None)
_FILE = Resource(name="file", path="/file", size_bytes=10**5, content_type="text/plain", urgency=3, weight=16)
_LASTS_MS = 200
_SENT = {"cwnd_segments": 100, "unacked_segments": 10}


def _load() -> PageLoad:
    """Return a load whose payload comes in 21 equal pieces, from 30 to 230 ms, so that the front sends from 0 on."""
    pieces = [(_DELAY_MS + t_ms, 5000) for t_ms in range(0, _LASTS_MS + 1, 10)]
    return load_of(Page(name="one", title="", resources=(_FILE,)), {"file": pieces}, {"file": 0})


def _layers(bytes_in_ms: float, **changes: int) -> Layers:
    """Return what was seen every 10 ms. bytes_in_ms: what arrives in a millisecond, headers included.

    changes: a sample's values; those in `_us` grow by so much with each sample.
    """
    times_ms = range(0, _LASTS_MS + 100, 10)

    def sample(number: int) -> SocketSample:
        grown = {name: value * (number if name.endswith("_us") else 1) for name, value in changes.items()}
        return socket_sample(t_ns=number * 10 * MS, **_SENT | grown)

    def arrival(t_ms: int) -> Arrival:
        return Arrival(t_ns=(_DELAY_MS + t_ms) * MS, tcp_bytes=round(unframed(bytes_in_ms * t_ms)))

    sockets = tuple(sample(number) for number in range(len(times_ms)))
    return Layers(sockets=sockets, queue=(), arrivals=tuple(map(arrival, times_ms)))


def _shares(layers: Layers, ends: Ends = _LINK) -> dict[str, float]:
    found = limits(_load(), layers, ends)
    assert found is not None
    assert sum(found.shares.values()) == pytest.approx(1, abs=0.001)
    assert found.shares[found.largest] == max(found.shares.values())
    return {name: share for name, share in found.shares.items() if share > 0.001}


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"notsent_bytes": 1}, Limit.CONGESTION_WINDOW),
        ({"unacked_segments": 100}, Limit.CONGESTION_WINDOW),
        ({}, Limit.FRONT),
        ({"rwnd_limited_us": 10_000, "notsent_bytes": 1}, Limit.RECEIVE_WINDOW),
        ({"sndbuf_limited_us": 10_000}, Limit.SEND_BUFFER),
    ],
)
def test_what_limits_while_the_link_is_idle(changes: dict[str, int], limit: Limit) -> None:
    """The link limits for as long as it sends, whatever the front's kernel counts; for the rest, the other limit."""
    assert _shares(_layers(1000, **changes)) == {Limit.LINK: pytest.approx(1, abs=0.001)}
    assert _shares(_layers(250, **changes)) == {
        Limit.LINK: pytest.approx(0.25, abs=0.001),
        limit: pytest.approx(0.75, abs=0.001),
    }


def test_limits_of_a_part_of_the_time() -> None:
    """The kernel's counts limit for their own time, and what is left is the congestion window's."""
    found = _shares(_layers(500, rwnd_limited_us=1000, sndbuf_limited_us=2000, notsent_bytes=1))
    assert found == {
        Limit.LINK: pytest.approx(0.5, abs=0.001),
        Limit.RECEIVE_WINDOW: pytest.approx(0.1, abs=0.001),
        Limit.SEND_BUFFER: pytest.approx(0.2, abs=0.001),
        Limit.CONGESTION_WINDOW: pytest.approx(0.2, abs=0.001),
    }


def test_flow_control_limits_what_the_front_could_hand_over() -> None:
    """If a window is used up and the kernel has sent all, flow control is the limit, not the front."""
    frame = [
        Event(t_ns=10**12, kind=kind, load=1, stream_id=1, size_bytes=65_535, tcp_bytes=70_000)
        for kind in (Kind.DATA_HEADER, Kind.DATA)
    ]
    ends = replace(_LINK, windows=Windows(frame, Protocol.HTTP2, 65_535, 0))
    assert Limit.FLOW_CONTROL in _shares(_layers(500, bytes_sent=70_000), ends)
    assert Limit.FLOW_CONTROL not in _shares(_layers(500, bytes_sent=60_000), ends)


def test_bytes_behind_a_lost_packet_were_sent_before() -> None:
    """What arrives at once, after a packet was sent again, had kept the link busy before."""
    steady = _layers(1000, notsent_bytes=1)
    stalled = tuple(
        replace(each, tcp_bytes=0) if each.t_ns < (_DELAY_MS + _LASTS_MS) * MS else each for each in steady.arrivals
    )
    assert _shares(replace(steady, arrivals=stalled)) == _shares(steady)


def test_without_a_rate_the_link_is_no_limit() -> None:
    """With RATE=unlimited something else always is the limit."""
    assert _shares(_layers(1000), replace(_LINK, rate=None)) == {Limit.FRONT: pytest.approx(1)}


def test_slow_start() -> None:
    """It lasts while the congestion window is below its threshold; the goodput after it counts from its last time."""
    layers = _layers(1000)
    slow = tuple(replace(each, ssthresh_segments=2**31 - 1 if each.t_ns < 50 * MS else 50) for each in layers.sockets)
    found = limits(_load(), replace(layers, sockets=slow), _LINK)
    assert found is not None
    assert found.slow_start == 0.25
    assert found.goodput_bit_s == 5000 * 20 * 8 * 1000 // 200
    assert found.goodput_after_bit_s == 5000 * 15 * 8 * 1000 // 150
    bbr = tuple(replace(each, congestion_control="bbr") for each in slow)
    found = limits(_load(), replace(layers, sockets=bbr), _LINK)
    assert found is not None
    assert (found.slow_start, found.goodput_after_bit_s) == (None, None)


def test_too_few_samples() -> None:
    """Nine times between samples say too little."""
    layers = _layers(1000)
    assert limits(_load(), replace(layers, sockets=layers.sockets[:10]), _LINK) is None
    assert limits(_load(), replace(layers, sockets=layers.sockets[:11]), _LINK) is not None


def test_in_words() -> None:
    """The longest limit comes first; a part of less than half a percent is left out, and so is no slow start."""
    record = LimitsRecord(
        shares={"link": 0.28, "front": 0.0, "congestion_window": 0.716, "receive_window": 0.004},
        largest="congestion_window",
        goodput_bit_s=68_700_000,
        slow_start=0.4,
        goodput_after_bit_s=95_400_000,
    )
    begin = (
        "from first to last byte (68.7 Mbit/s) the limit was the congestion window or pacing for 72%, the link for 28%"
        " of the time"
    )
    assert sentence(record) == f"{begin}; slow start lasted 40% of it, and then came 95.4 Mbit/s"
    assert sentence(replace(record, slow_start=0.0)) == begin
    assert sentence(replace(record, slow_start=None, goodput_after_bit_s=None)) == begin
