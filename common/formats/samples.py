"""Records of the front, the link and the origin: what instruments sample, one JSON object per line."""

import json
from dataclasses import asdict, dataclass

from common.cost import Cost


@dataclass(frozen=True, kw_only=True)
class SocketSample:
    """A line of front/sockets.jsonl: a sample of the front's socket. Names are those of ss(8) and struct tcp_info.

    notsent_bytes: handed to the kernel, not yet sent. unacked_segments: sent, not yet acknowledged. bytes_sent counts
    retransmissions too, and bytes_retrans those alone; bytes_acked is how far the client's kernel has everything.
    busy_us: time with anything to send; of it rwnd_limited_us held back by the client's window and sndbuf_limited_us by
    the send buffer. sndbuf_bytes and wmem_queued_bytes are skmem's tb and w, overhead included.
    """

    t_ns: int
    notsent_bytes: int
    unacked_segments: int
    cwnd_segments: int
    ssthresh_segments: int
    mss_bytes: int
    rtt_us: int
    min_rtt_us: int
    delivery_rate_bytes_s: int
    pacing_rate_bytes_s: int
    busy_us: int
    rwnd_limited_us: int
    sndbuf_limited_us: int
    bytes_sent: int
    bytes_retrans: int
    bytes_acked: int
    lost_segments: int
    sndbuf_bytes: int
    wmem_queued_bytes: int
    congestion_control: str

    @property
    def sent_bytes(self) -> int:
        """Bytes of the TCP stream that have been sent at least once."""
        return self.bytes_sent - self.bytes_retrans

    @property
    def handed_bytes(self) -> int:
        """Bytes of the TCP stream that the server has handed to the kernel."""
        return self.sent_bytes + self.notsent_bytes

    def to_json(self) -> str:
        """Returns the line, without its end."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, kw_only=True)
class ProcessSample:
    """A line of front/process.jsonl: the process that serves the client, and its socket's own TCP_NOTSENT_LOWAT.

    lowat_bytes: 0 where the sysctl rules. peer_port: the client's port of the sampled connection; None if none is
    established. cpu_ns to write_calls: counts so far, None where the kernel does not count. sampler: the sampler's own
    cost so far.
    """

    t_ns: int
    pid: int
    peer_port: int | None
    lowat_bytes: int
    cpu_ns: int | None
    voluntary_switches: int | None
    involuntary_switches: int | None
    read_calls: int | None
    write_calls: int | None
    sampler: Cost

    def to_json(self) -> str:
        """Returns the line, without its end."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, kw_only=True)
class QueueContents:
    """The contents of one direction of the link. packets, bytes: in the bottleneck; delay_line_*: before or behind it.

    Sizes are those of whole Ethernet frames. dropped: packets that the bottleneck has dropped so far.
    """

    packets: int = 0
    bytes: int = 0
    delay_line_packets: int = 0
    delay_line_bytes: int = 0
    dropped: int = 0


@dataclass(frozen=True, kw_only=True)
class QueueSample(QueueContents):
    """A line of link/queue.jsonl: the contents of one direction, `down` or `up`, from that instant on."""

    t_ns: int
    direction: str


def queue_line(t_ns: int, direction: str, contents: QueueContents) -> str:
    """Returns a line of link/queue.jsonl, without its end."""
    return json.dumps({"t_ns": t_ns, "direction": direction} | asdict(contents))


@dataclass(frozen=True, kw_only=True)
class OriginRequest:
    """A line of origin/access.jsonl, as backend/origin.mjs writes it; times are None if the request was given up."""

    path: str
    received_ns: int
    available_ns: int | None = None
    handed_over_ns: int | None = None
