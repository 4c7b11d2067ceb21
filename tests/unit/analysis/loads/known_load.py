"""A load of which the times and positions of all bytes are known."""

from dataclasses import replace

from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.events import Arrival, Event, Kind
from priolab.common.formats.samples import OriginRequest, QueueSample, SocketSample
from tests.support.builders import MS, maps, scenario, socket_sample

PACKET_MS = 10


SCENARIO = scenario(rate_bit_s=1514 * 8 * 1000 // PACKET_MS, delay_ns=300 * MS)


AVAILABLE_MS, HANDED_MS, SENT_MS, RECORD_MS, FIRST_MS = 200, 505, 705, 1205, 1225


DELAY_MS = 300


ENTERED_MS = SENT_MS + DELAY_MS


IMAGE, SCRIPT = 1000, 180


def event(t_ms: int, kind: str, resource: str | None = None) -> Event:
    return Event(t_ns=t_ms * MS, kind=Kind(kind), load=1, resource=resource)


def data(t_ms: int, resource: str, size_bytes: int, tcp_bytes: int, record_ms: int) -> Event:
    seen = event(t_ms, "data", resource)
    return replace(seen, size_bytes=size_bytes, tcp_bytes=tcp_bytes, record_ns=record_ms * MS)


def evidence() -> Evidence:
    """Returns the events of a load, and the requests at the origin.

    In the TCP stream the page ends at position 100, the image's two records at 600 and 1100, the script at 1300.
    """
    events = [
        event(0, "load-started"),
        *(event(0, "request-sent", name) for name in ("page", "image", "script")),
        *(event(1, "headers", name) for name in ("page", "image", "script")),
        data(5, "page", 50, 100, 5),
        data(600, "image", 500, 600, 590),
        data(1200, "image", 500, 1100, 1190),
        data(FIRST_MS, "script", SCRIPT, 1300, RECORD_MS),
        event(2000, "load-finished"),
    ]
    requests = [
        OriginRequest(path="/", received_ns=1, available_ns=1),
        OriginRequest(path="/image.jpg", received_ns=5 * MS, available_ns=10 * MS),
        OriginRequest(path="/script.js", received_ns=5 * MS, available_ns=AVAILABLE_MS * MS),
    ]
    return Evidence(events=tuple(events), requests=tuple(requests), page=maps())


def sampled(t_ms: int, *, resent: int = 0) -> SocketSample:
    """Returns a sample of the front's socket at t_ms, with the totals of handed over and sent bytes.

    The front has handed over 700 bytes at first, and 1300 from 505 ms on. The kernel has sent 600 bytes at first, and
    1300 from 705 ms on.
    """
    handed = 1300 if t_ms >= HANDED_MS else 700
    sent = 1300 if t_ms >= SENT_MS else 600
    return socket_sample(
        t_ns=t_ms * MS,
        notsent_bytes=handed - sent,
        unacked_segments=1,
        cwnd_segments=10,
        mss_bytes=1448,
        rtt_us=300_000,
        delivery_rate_bytes_s=1,
        bytes_sent=sent + resent,
        bytes_retrans=resent,
        bytes_acked=100,
        sndbuf_bytes=1,
    )


def layers(queue_packets: int = 19) -> Layers:
    """Returns the samples. When the script's packet reaches the bottleneck, queue_packets packets are before it."""
    nothing = QueueSample(
        t_ns=0, direction="down", packets=0, bytes=0, delay_line_packets=0, dropped=0, delay_line_bytes=0
    )
    on_line = replace(nothing, t_ns=SENT_MS * MS, delay_line_packets=2, delay_line_bytes=2 * 1514)
    waiting = [
        replace(nothing, t_ns=(ENTERED_MS + index * PACKET_MS) * MS, packets=left, bytes=left * 1514)
        for index, left in enumerate(range(queue_packets + 1, -1, -1))
    ]
    return Layers(
        sockets=tuple(sampled(t_ms) for t_ms in range(0, 2001, 10)),
        queue=(nothing, on_line, *waiting),
        arrivals=(
            Arrival(t_ns=5 * MS, tcp_bytes=100),
            Arrival(t_ns=600 * MS, tcp_bytes=600),
            Arrival(t_ns=FIRST_MS * MS, tcp_bytes=1300),
        ),
    )
