"""Groups the client's events by stream, for waterfalls, traces and frame logs. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from priolab.common.formats.events import Event
from priolab.common.formats.plan import Plan, Request
from priolab.common.formats.reading import FolderError


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """DATA payload that became readable at t_ns.

    started_ns: the time at which the payload's first TLS record began to arrive; None over QUIC.
    """

    started_ns: int | None
    t_ns: int
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A request and its response. chunks: the response's payload, in order."""

    load: int
    stream_id: int
    request: Request
    status: int
    requested_ns: int
    headers_ns: int
    ended_ns: int
    chunks: tuple[Chunk, ...]

    @property
    def name(self) -> str:
        """The name of the requested resource."""
        return self.request.name

    @property
    def first_byte_ns(self) -> int:
        """The time of the first byte of DATA payload. HEADERS do not count: they can overtake DATA by seconds."""
        return self.chunks[0].t_ns

    @property
    def last_byte_ns(self) -> int:
        """The time of the last byte of DATA payload."""
        return self.chunks[-1].t_ns

    @property
    def size_bytes(self) -> int:
        """The payload bytes received."""
        return sum(chunk.size_bytes for chunk in self.chunks)


def streams(events: Iterable[Event], plan: Plan, source: str) -> tuple[Stream, ...]:
    """Returns every stream that has ended, in the order of the requests.

    source: the path of the events' file, for error messages. Raises FolderError if a stream lacks an event, has a
    status that is no number, or has a resource that is not in the plan.
    """
    by_stream: dict[int, list[Event]] = {}
    for event in events:
        if event.stream_id is not None:
            by_stream.setdefault(event.stream_id, []).append(event)
    return tuple(
        _stream(stream_id, of_stream, plan, source)
        for stream_id, of_stream in by_stream.items()
        if any(event.kind == "ended" for event in of_stream)
    )


def _stream(stream_id: int, events: Sequence[Event], plan: Plan, source: str) -> Stream:
    def first(kind: str) -> Event:
        for event in events:
            if event.kind == kind:
                return event
        raise FolderError(f"{source}: stream {stream_id} has no event {kind}")

    asked, headers = first("request-sent"), first("headers")
    first("data")
    request = plan.request(asked.resource)
    if request is None:
        raise FolderError(f"{source}: stream {stream_id} has the resource {asked.resource}, which is not in the plan")
    status = headers.detail or ""
    if not status.isdecimal():
        raise FolderError(f"{source}: stream {stream_id} has the status {headers.detail}, not a number")
    return Stream(
        load=asked.load,
        stream_id=stream_id,
        request=request,
        status=int(status),
        requested_ns=asked.t_ns,
        headers_ns=headers.t_ns,
        ended_ns=first("ended").t_ns,
        chunks=_chunks(event for event in events if event.kind == "data"),
    )


def _chunks(pieces: Iterable[Event]) -> tuple[Chunk, ...]:
    chunks = []
    for t_ns, together in groupby(pieces, key=lambda piece: piece.t_ns):
        size_bytes, started_ns = 0, []
        for piece in together:
            size_bytes += piece.size_bytes or 0
            started_ns += [piece.record_ns] if piece.record_ns is not None else []
        chunks.append(Chunk(started_ns=min(started_ns, default=None), t_ns=t_ns, size_bytes=size_bytes))
    return tuple(chunks)
