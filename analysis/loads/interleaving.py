"""The payload of a load in the order in which the front wrote it, and what the front had written at an instant. Pure.

A client reads a TCP stream in order. So the order in which the payload arrived is the order in which the front handed
it to its kernel. A *place* in a load is the number of payload bytes before it, of all resources together.

What the front had written when the origin handed a resource over follows from the next sample of the front's socket.
Without samples (SAMPLE=none, HTTP/3) the front had written at most what arrived a delay later, what the bottleneck's
queue holds, and what the kernel takes at once. With losses the arrivals do not tell this; a second front (VIA) hides
when the front had the bytes. Then only the bytes behind a resource's first byte are known to be written later.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from priolab.analysis.loads.flow_control import Windows, windows_of
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.stream import Payload
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Protocol
from priolab.common.formats.samples import FEWEST_LOOKS, SocketSample
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import PACKET_BUFFER_BYTES, RECORD_BYTES, SEGMENT_BYTES

_LARGEST_SEND_BUFFER_BYTES = 4 * 2**20  # the kernel's default of net.ipv4.tcp_wmem


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Payload of one resource that the front wrote at once.

    begin: its place in the load. end_bytes: the position in the TCP stream where its TLS record ends; None over QUIC.
    """

    resource: str
    begin: int
    size_bytes: int
    end_bytes: int | None = None


def _never(_: Piece, __: str) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class Interleaving:
    """The pieces of a load, in the order in which the front wrote them.

    written: returns the place up to which the front had written at most at an instant (CLOCK_MONOTONIC, in ns); None if
    that is unknown. is_closed: True if the client's flow-control window kept the front from writing a resource when it
    wrote a piece. burst_bytes: the most payload that the kernel may take before the front must choose again; None if
    that is unknown. ahead_bytes: the most payload that a front prepares ahead: a packet buffer and a TLS record.
    record_bytes: the most payload in a TLS record, which a front does not interrupt. is_exact: False if the order of
    pieces that arrived at one instant is unknown. up_ns: how long a signal of the client takes to the front.
    """

    pieces: Sequence[Piece]
    written: Callable[[int], int] | None = None
    is_closed: Callable[[Piece, str], bool] = field(default=_never)
    burst_bytes: int | None = None
    ahead_bytes: int = PACKET_BUFFER_BYTES + RECORD_BYTES
    record_bytes: int = RECORD_BYTES
    is_exact: bool = True
    up_ns: int = 0

    @classmethod
    def of_arrivals(cls, load: PageLoad, *, record_bytes: int = 0) -> "Interleaving":
        """Returns the order of a load of which only the arrivals are known."""
        arrived = sorted(
            ((piece.t_ns, name, piece.size_bytes) for name, times in load.resources.items() for piece in times.pieces),
            key=lambda piece: piece[0],
        )
        pieces = _pieces((name, size_bytes, None) for _, name, size_bytes in arrived)
        return cls(pieces=pieces, record_bytes=record_bytes, is_exact=False)

    @classmethod
    def of(cls, load: PageLoad, evidence: Evidence, layers: Layers, scenario: ScenarioRecord) -> "Interleaving":
        """Returns the order of a load of a run."""
        events = [event for event in evidence.events if (event.load, event.kind) == (load.number, Kind.DATA)]
        samples = [each for each in layers.sockets if load.started_ns <= each.t_ns <= load.finished_ns]
        is_sampled = len(samples) >= FEWEST_LOOKS
        buffer_bytes = PACKET_BUFFER_BYTES
        if scenario.gso_segments is not None:
            buffer_bytes = min(buffer_bytes, scenario.gso_segments * SEGMENT_BYTES)
        over_quic = evidence.protocol is Protocol.HTTP3
        if over_quic:
            burst_bytes = buffer_bytes
        elif isinstance(scenario.lowat, int):
            burst_bytes = scenario.lowat + buffer_bytes + RECORD_BYTES
        elif is_sampled:
            burst_bytes = max(each.notsent_bytes for each in samples) + RECORD_BYTES
        else:
            burst_bytes = (scenario.sndbuf_bytes or _LARGEST_SEND_BUFFER_BYTES) + RECORD_BYTES
        written: Callable[[int], int] | None = None
        if scenario.via is None and is_sampled and all(event.tcp_bytes is not None for event in events):
            written = _by_samples(samples, Payload(evidence.events, load.number, set(load.resources)))
        elif scenario.via is None and not scenario.loss and not scenario.reorder:
            written = _by_arrivals(events, scenario, burst_bytes)
        windows = windows_of(evidence, scenario)
        return cls(
            pieces=_pieces((event.resource or "", event.size_bytes or 0, event.tcp_bytes) for event in events),
            written=written,
            is_closed=_closing(windows, samples, events) if windows and is_sampled else _never,
            burst_bytes=burst_bytes,
            ahead_bytes=buffer_bytes + RECORD_BYTES,
            up_ns=scenario.delay_up_ns,
        )

    @property
    def may_be_closed(self) -> bool:
        """True if a flow-control window may have kept the front from writing."""
        return self.is_closed is not _never

    def place_at(self, t_ns: int) -> int:
        """Returns the place up to which the front had written at most at an instant; the load's end if unknown."""
        return self.pieces[-1].begin + self.pieces[-1].size_bytes if self.written is None else self.written(t_ns)


def _pieces(arrived: Iterable[tuple[str, int, int | None]]) -> list[Piece]:
    pieces, begin = [], 0
    for name, size_bytes, end_bytes in arrived:
        if size_bytes:
            pieces.append(Piece(resource=name, begin=begin, size_bytes=size_bytes, end_bytes=end_bytes))
            begin += size_bytes
    return pieces


def _by_samples(samples: Sequence[SocketSample], payload: Payload) -> Callable[[int], int]:
    times = [sample.t_ns for sample in samples]

    def written(t_ns: int) -> int:
        index = min(bisect_left(times, t_ns), len(samples) - 1)
        return payload.before(samples[index].handed_bytes)

    return written


def _by_arrivals(events: Sequence[Event], scenario: ScenarioRecord, burst_bytes: int) -> Callable[[int], int]:
    times, totals = (
        [event.t_ns for event in events],
        list(accumulate((event.size_bytes or 0 for event in events), initial=0)),
    )
    way_ns = scenario.delay_ns + scenario.jitter_ns
    unseen_bytes = scenario.queue_packets * SEGMENT_BYTES + burst_bytes

    def written(t_ns: int) -> int:
        return min(totals[-1], totals[bisect_right(times, t_ns + way_ns)] + unseen_bytes)

    return written


def _closing(
    windows: Windows, samples: Sequence[SocketSample], events: Sequence[Event]
) -> Callable[[Piece, str], bool]:
    streams: Mapping[str, int] = {event.resource or "": event.stream_id or 0 for event in events}
    handed, times = [sample.handed_bytes for sample in samples], [sample.t_ns for sample in samples]

    def is_closed(piece: Piece, resource: str) -> bool:
        if piece.end_bytes is None:
            return False
        # The piece was written after the last sample without it; until then less was allowed.
        index = max(0, bisect_left(handed, piece.end_bytes) - 1)
        return windows.closed(streams[resource], piece.end_bytes, times[index])

    return is_closed
