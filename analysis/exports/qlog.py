"""Writes qlog (draft-ietf-quic-qlog-main-schema-14): a file with a trace per run and vantage point. Pure.

qlog defines events of QUIC and HTTP/3. Events of other protocols need another namespace. So events of HTTP/2 over TCP,
and of SPDY, are in the lab's namespace `priolab`, and have the form of similar events of qlog:

| event | vantage point | modelled on |
|---|---|---|
| priolab:frame_created, priolab:frame_parsed | client | http3:frame_created, http3:frame_parsed |
| priolab:stream_data_moved | client | quic:stream_data_moved |
| priolab:metrics_updated | server | quic:recovery_metrics_updated |
| priolab:queue_updated | network | - |

docs/reference/qlog.cddl defines these events. Other events are a `simulation:marker`; the scenario is a
`simulation:scenario`.

All traces of a run have times in milliseconds since the client's first event.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from priolab.analysis.exports.recording import Album, Recording
from priolab.common.formats.events import Event
from priolab.common.formats.plan import NAMES, Protocol
from priolab.common.formats.samples import QueueSample, SocketSample

SCHEMA = "https://priolab.invalid/112026/priolab"
"""The URI of the lab's event schema. Nothing can be fetched from this address: the draft needs it only as a name."""

_FILE_SCHEMA = "urn:ietf:params:qlog:file:contained"
_SIMULATION = "urn:ietf:params:qlog:events:simulation"
_FRAME_HEADER_BYTES = {Protocol.HTTP2: 9, Protocol.SPDY: 8}

_Event = dict[str, Any]
_Sample = TypeVar("_Sample", SocketSample, QueueSample)


def document(album: Album) -> dict[str, Any]:
    """Returns the qlog file of all runs."""
    return {
        "file_schema": _FILE_SCHEMA,
        "serialization_format": "application/qlog+json",
        "title": album.experiment,
        "description": f"{_spoken(album)} through a bottleneck: the client, the front's socket, the link's queue",
        "traces": [trace for recording in album.recordings for trace in _traces(album, recording)],
    }


def _spoken(album: Album) -> str:
    protocols = dict.fromkeys(recording.plan.protocol for recording in album.recordings)
    return " and ".join(NAMES[protocol] for protocol in protocols)


def _traces(album: Album, recording: Recording) -> Iterator[dict[str, Any]]:
    server = {"name": f"front ({recording.scenario.server}) and origin", "type": "server"}
    link = {"name": "the link, toward the client", "type": "network", "flow": "server"}
    yield _trace(album, recording, {"name": "client", "type": "client"}, _client(recording))
    yield _trace(album, recording, server, _server(recording))
    if recording.queue:
        yield _trace(album, recording, link, _link(recording))


def _trace(
    album: Album, recording: Recording, vantage_point: dict[str, str], events: Iterable[_Event]
) -> dict[str, Any]:
    return {
        "title": f"{recording.name}: {vantage_point['name']}",
        "common_fields": {
            "group_id": recording.name,
            "time_format": "relative_to_epoch",
            "reference_time": {
                "clock_type": "monotonic",
                "epoch": "unknown",
                "wall_clock_time": album.started_at.isoformat(timespec="milliseconds"),
            },
        },
        "vantage_point": vantage_point,
        "event_schemas": [SCHEMA, _SIMULATION],
        "events": sorted(events, key=lambda event: float(event["time"])),
    }


def _event(recording: Recording, t_ns: int, name: str, data: Mapping[str, Any]) -> _Event:
    return {"time": recording.ms(t_ns), "name": name, "data": data}


def _marker(recording: Recording, t_ns: int, kind: str, message: str) -> _Event:
    return _event(recording, t_ns, "simulation:marker", {"type": kind, "message": message})


# --- the client ------------------------------------------------------------------------------------------------------


def _client(recording: Recording) -> Iterator[_Event]:
    scenario = {"name": recording.arm, "details": asdict(recording.scenario)}
    yield _event(recording, recording.zero_ns, "simulation:scenario", scenario)
    offsets: dict[int, int] = {}
    for event in recording.events:
        if event.stream_id is None:
            about = f"load {event.load}" if event.load else "before the first load"
            yield _marker(recording, event.t_ns, event.kind, about)
        elif event.kind == "data":
            offset = offsets.get(event.stream_id, 0)
            offsets[event.stream_id] = offset + (event.size_bytes or 0)
            yield _event(recording, event.t_ns, "priolab:stream_data_moved", _moved(event, offset))
        elif event.kind in _FRAMES:
            name, frame = _FRAMES[event.kind]
            data = {"stream_id": event.stream_id, "frame": frame(recording, event)}
            yield _event(recording, event.t_ns, f"priolab:{name}", data)
        else:
            about = " ".join([f"stream {event.stream_id}", *([event.detail] if event.detail else [])])
            yield _marker(recording, event.t_ns, event.kind, about)


def _moved(event: Event, offset: int) -> dict[str, Any]:
    data = {
        "stream_id": event.stream_id,
        "offset": offset,
        "from": "transport",
        "to": "application",
        "raw": {"length": event.size_bytes},
    }
    return data | ({} if event.tcp_bytes is None else {"tcp_offset": event.tcp_bytes})


def _request_frame(recording: Recording, event: Event) -> dict[str, Any]:
    request = recording.plan.request(event.resource)
    host = ":host" if recording.plan.protocol is Protocol.SPDY else ":authority"
    fields = {":method": "GET", ":scheme": "https", host: recording.plan.server_name}
    if request is None:
        return {"frame_type": "headers", "headers": _fields(fields)}
    signals = request.signals
    fields |= {":path": request.path} | ({"priority": signals.field} if signals.field else {})
    frame = {"frame_type": "headers", "headers": _fields(fields)}
    said = {"weight": signals.position and signals.position.weight, "level": signals.level}
    return frame | {name: value for name, value in said.items() if value is not None}


def _response_frame(_: Recording, event: Event) -> dict[str, Any]:
    return {"frame_type": "headers", "headers": _fields({":status": event.detail or ""})}


def _data_frame(recording: Recording, event: Event) -> dict[str, Any]:
    size_bytes = event.size_bytes or 0
    raw = {"length": _FRAME_HEADER_BYTES[recording.plan.protocol] + size_bytes, "payload_length": size_bytes}
    return {"frame_type": "data", "raw": raw}


def _fields(fields: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in fields.items()]


_FRAMES: dict[str, tuple[str, Callable[[Recording, Event], dict[str, Any]]]] = {
    "request-sent": ("frame_created", _request_frame),
    "headers": ("frame_parsed", _response_frame),
    "data-header": ("frame_parsed", _data_frame),
}


# --- the server, the link --------------------------------------------------------------------------------------------


def _server(recording: Recording) -> Iterator[_Event]:
    for load in recording.loads:
        yield _marker(recording, load.focal.available_ns, f"{load.focal.name}-available", f"load {load.number}")
    yield from _updates(recording, "priolab:metrics_updated", recording.sockets, _metrics)


def _metrics(sample: SocketSample) -> dict[str, Any]:
    return {
        "smoothed_rtt": sample.rtt_us / 1000,
        "congestion_window": sample.cwnd_segments * sample.mss_bytes,
        "bytes_in_flight": sample.unacked_segments * sample.mss_bytes,
        "packets_in_flight": sample.unacked_segments,
        "bytes_unsent": sample.notsent_bytes,
        "bytes_acked": sample.bytes_acked,
        "send_buffer": sample.sndbuf_bytes,
    }


def _link(recording: Recording) -> Iterator[_Event]:
    before = recording.queue[0].dropped

    def state(sample: QueueSample) -> dict[str, Any]:
        return {
            "bottleneck_packets": sample.packets,
            "bottleneck_bytes": sample.bytes,
            "delay_line_packets": sample.delay_line_packets,
            "delay_line_bytes": sample.delay_line_bytes,
            "packets_dropped": sample.dropped - before,
        }

    yield from _updates(recording, "priolab:queue_updated", recording.queue, state)


def _updates(
    recording: Recording, name: str, samples: Sequence[_Sample], state_of: Callable[[_Sample], dict[str, Any]]
) -> Iterator[_Event]:
    """Yields an event, with the changed values, for each sample whose values differ from those of the sample before.

    name: the events' name. state_of: returns the values of a sample.
    """
    before: dict[str, Any] = {}
    for sample in samples:
        state = state_of(sample)
        changed = {key: value for key, value in state.items() if before.get(key) != value}
        if changed:
            yield _event(recording, max(sample.t_ns, recording.zero_ns), name, changed)
        before = state
