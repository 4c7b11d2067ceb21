"""Writes Chrome's trace event format, for Perfetto. Every run is a process, so that runs lie one above the other. Pure.

Rules:
1. The measured loads of all runs begin at the same instant of the trace.
2. Slices of a track may be nested, but must not overlap otherwise. So each stream, and each path at the origin, has its
   own track.
3. Names of tracks begin with the place: client, front, link, origin. Perfetto chooses the order of tracks itself.
4. A counter has values from the client's first event on, and a new value only when the value has changed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from priolab.analysis.exports.recording import Album, Recording
from priolab.analysis.exports.streams import Stream
from priolab.common.formats.samples import OriginRequest, QueueSample, SocketSample

_Event = dict[str, Any]
_Sample = TypeVar("_Sample", SocketSample, QueueSample)

_TRACKS = 10**5
"""The number of tracks that a run can have. The lower half shows loads and streams, the upper half the origin."""
_ORIGIN = 5 * 10**4


def document(album: Album) -> dict[str, Any]:
    """Returns a trace of all runs."""
    lead_ns = max((each.measured.started_ns - each.zero_ns for each in album.recordings), default=0)
    events: list[_Event] = []
    for pid, recording in enumerate(album.recordings, start=1):
        events += _Process(recording, pid, recording.measured.started_ns - lead_ns).events()
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"experiment": album.experiment, "git_revision": album.revision},
    }


class _Process:
    """Makes the trace events of a run. zero_ns: the time on the run's clock at which the trace begins."""

    def __init__(self, recording: Recording, pid: int, zero_ns: int) -> None:
        self._recording = recording
        self._pid = pid
        self._zero_ns = zero_ns
        self._marks_track = pid * _TRACKS

    def events(self) -> Iterator[_Event]:
        recording = self._recording
        verdict = recording.judgement.verdict
        yield self._metadata("process_name", self._marks_track, name=f"{recording.name}: {verdict}")
        yield self._metadata("process_sort_index", self._marks_track, sort_index=self._pid)
        yield from self._track(self._marks_track, "lab: loads")
        yield from self._marks()
        for stream in recording.streams:
            yield from self._stream(stream)
        for number, path in enumerate(dict.fromkeys(request.path for request in self._requests())):
            track = self._marks_track + _ORIGIN + number
            yield from self._track(track, f"origin: {path}")
            for request in self._requests():
                if request.path == path:
                    yield from self._request(request, track)
        yield from self._socket()
        yield from self._queue()

    def _requests(self) -> list[OriginRequest]:
        """Returns the origin's records of requests, without the lab's own requests before the client's first event."""
        return [each for each in self._recording.requests if each.received_ns >= self._recording.zero_ns]

    def _marks(self) -> Iterator[_Event]:
        for load in self._recording.loads:
            measured = " (measured)" if load is self._recording.measured else ""
            until_ns = load.complete_ns
            yield self._slice(self._marks_track, f"load {load.number}{measured}", load.started_ns, until_ns)
            words = f"{load.focal.name} available"
            yield self._instant(words, self._marks_track, load.focal.available_ns, "p", load=load.number)

    def _stream(self, stream: Stream) -> Iterator[_Event]:
        # HTTP/3 numbers its streams from 0.
        track, signals = self._marks_track + 1 + stream.stream_id, stream.request.signals
        weight = signals.position.weight if signals.position else None
        words = ([] if weight is None else [f"weight {weight}"]) + ([signals.field] if signals.field else [])
        words += [] if signals.level is None else [f"level {signals.level}"]
        asked = ", ".join(words) or "no priority"
        yield from self._track(track, f"client: load {stream.load} {stream.name} (stream {stream.stream_id}, {asked})")
        first_ns, last_ns = stream.first_byte_ns, stream.last_byte_ns
        about = {"status": stream.status, "payload_bytes": stream.size_bytes, "weight": weight, "load": stream.load}
        yield self._slice(track, stream.name, stream.requested_ns, max(last_ns, stream.ended_ns), **about)
        yield self._slice(track, "waiting for headers", stream.requested_ns, stream.headers_ns)
        if first_ns > stream.headers_ns:
            yield self._slice(track, "waiting for the first byte", stream.headers_ns, first_ns)
        if last_ns > first_ns:
            yield self._slice(track, "receiving", first_ns, last_ns)
        # Slices must not overlap, but a record may begin to arrive while an earlier record is incomplete.
        turn_ns = stream.headers_ns if stream.headers_ns < first_ns else stream.requested_ns
        for chunk in stream.chunks:
            started_ns = chunk.t_ns if chunk.started_ns is None else max(turn_ns, chunk.started_ns)
            if started_ns < chunk.t_ns:
                yield self._slice(track, "DATA", started_ns, chunk.t_ns, size_bytes=chunk.size_bytes)
            else:
                yield self._instant("DATA", track, chunk.t_ns, "t", size_bytes=chunk.size_bytes)
            turn_ns = chunk.t_ns

    def _request(self, request: OriginRequest, track: int) -> Iterator[_Event]:
        if request.available_ns is not None:
            yield self._slice(track, "held back", request.received_ns, request.available_ns)
            if request.handed_over_ns is not None:
                yield self._slice(track, "handing over", request.available_ns, request.handed_over_ns)

    def _socket(self) -> Iterator[_Event]:
        samples = self._recording.sockets
        yield from self._counter("front: unsent", "bytes", samples, lambda look: look.notsent_bytes)
        yield from self._counter(
            "front: in flight", "bytes", samples, lambda look: look.unacked_segments * look.mss_bytes
        )
        yield from self._counter("front: cwnd", "bytes", samples, lambda look: look.cwnd_segments * look.mss_bytes)
        yield from self._counter("front: rtt", "ms", samples, lambda look: look.rtt_us / 1000)

    def _queue(self) -> Iterator[_Event]:
        samples = self._recording.queue
        before = samples[0].dropped if samples else 0
        yield from self._counter("link: bottleneck", "bytes", samples, lambda look: look.bytes)
        yield from self._counter("link: delay line", "bytes", samples, lambda look: look.delay_line_bytes)
        # Packets that the queue dropped before the client began, during calibration, do not count.
        yield from self._counter("link: dropped", "packets", samples, lambda look: look.dropped - before)

    def _counter(
        self, name: str, unit: str, samples: Sequence[_Sample], value_of: Callable[[_Sample], float]
    ) -> Iterator[_Event]:
        for t_ns, value in _changes((sample.t_ns, value_of(sample)) for sample in samples):
            at_us = self._us(max(t_ns, self._recording.zero_ns))
            yield {
                "ph": "C",
                "name": name,
                "pid": self._pid,
                "tid": self._marks_track,
                "ts": at_us,
                "args": {unit: value},
            }

    def _slice(self, track: int, name: str, from_ns: int, until_ns: int, **args: Any) -> _Event:
        return {
            "ph": "X",
            "name": name,
            "cat": "lab",
            "pid": self._pid,
            "tid": track,
            "ts": self._us(from_ns),
            "dur": (until_ns - from_ns) / 1000,
            "args": args,
        }

    def _instant(self, name: str, track: int, t_ns: int, scope: str, **args: Any) -> _Event:
        """Makes an instant event. scope: p for an event of the whole process, t for an event of the track."""
        return {
            "ph": "i",
            "s": scope,
            "name": name,
            "cat": "lab",
            "pid": self._pid,
            "tid": track,
            "ts": self._us(t_ns),
            "args": args,
        }

    def _track(self, track: int, name: str) -> Iterator[_Event]:
        yield self._metadata("thread_name", track, name=name)
        yield self._metadata("thread_sort_index", track, sort_index=track)

    def _metadata(self, what: str, track: int, **args: Any) -> _Event:
        return {"ph": "M", "name": what, "pid": self._pid, "tid": track, "ts": 0, "args": args}

    def _us(self, t_ns: int) -> float:
        return (t_ns - self._zero_ns) / 1000


def _changes(values: Iterable[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    before = None
    for t_ns, value in values:
        if value != before:
            yield t_ns, value
        before = value
