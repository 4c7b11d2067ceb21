"""The counters of a front at the beginning of each load and at the end of the last one: front/counters.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The counts of a front: all its processes and threads, and the client's connection. None: not known.

    wakeups: voluntary context switches, after each of which a thread that had waited ran again. involuntary_switches:
    the other context switches. read_calls, write_calls: system calls that read and write (common/calls.h). cpu_ns:
    processor time. service_ns: in a guest, the time that the front's work took with SERVICE, of all threads together.
    handed_bytes: bytes of the TCP stream that the server handed to the kernel. retransmitted_bytes: bytes that the
    kernel sent again. busy_us: the time with data to send. rwnd_limited_us, sndbuf_limited_us: the parts of busy_us in
    which the client's receive window, or the send buffer, was the limit.
    """

    wakeups: int | None = None
    involuntary_switches: int | None = None
    read_calls: int | None = None
    write_calls: int | None = None
    cpu_ns: int | None = None
    service_ns: int | None = None
    handed_bytes: int | None = None
    retransmitted_bytes: int | None = None
    busy_us: int | None = None
    rwnd_limited_us: int | None = None
    sndbuf_limited_us: int | None = None


@dataclass(frozen=True, kw_only=True)
class Negotiated:
    """Properties of a connection from its handshake, as the front's kernel tells them (struct tcp_info, <linux/tcp.h>).

    options: the bits TCPI_OPT_*. send_scale, receive_scale: the shifts of the client's and the front's window.
    mss_bytes, advertised_mss_bytes: the payload of a full segment, sent and received. cwnd_segments, ssthresh_segments:
    congestion window, and where slow start ends. reordering_segments: how far segments may overtake each other.
    retransmitted_segments: those that the front's kernel has sent again, its SYN included. delivered_segments: those
    that the client has acknowledged, the SYN among them.
    """

    options: int
    send_scale: int
    receive_scale: int
    mss_bytes: int
    advertised_mss_bytes: int
    cwnd_segments: int
    ssthresh_segments: int
    reordering_segments: int
    retransmitted_segments: int
    delivered_segments: int


@dataclass(frozen=True, kw_only=True)
class FrontReading:
    """The counts so far. load: the number of the load that begins; at the end of the last load, one more.

    memory_bytes: the kernel's memory for the TCP connections of the front's place; None if unknown. reasons: why a
    count is None, by its name; none for the connection's. negotiated: of the client's connection; None without one.
    """

    load: int
    counts: Counts
    memory_bytes: int | None = None
    negotiated: Negotiated | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Counters:
    """The readings of a run, in the order of loads."""

    readings: tuple[FrontReading, ...]
