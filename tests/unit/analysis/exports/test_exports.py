"""Tests of the exports (HAR, qlog, Perfetto, tables) with small recordings made by hand.

The recordings have several loads, different clocks and overlapping records.
"""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from priolab.analysis.exports import har, perfetto, qlog, tables
from priolab.analysis.exports.recording import Album, Recording
from priolab.analysis.exports.streams import Chunk, streams
from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import Layers
from priolab.client.dialects import parse
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import Chunk as PageChunk
from priolab.common.formats.plan import Plan, Position, Protocol, Request, Signals
from priolab.common.formats.reading import FolderError
from priolab.common.formats.samples import QueueSample, SocketSample
from priolab.common.formats.scenario import ViaRecord
from priolab.common.priority_signals import as_text
from tests.support import builders
from tests.support.builders import MS, socket_sample
from tests.support.pages import page_of_parts, part
from tests.unit.client.plans import plan_of

_STREAMS = {"page": 1, "image": 3, "script": 5}


def plan(*, weights: bool = True) -> Plan:
    """Returns a plan of the Maps case; without weights no request has a priority."""
    image, script = (147, 183) if weights else (None, None)
    return Plan(
        protocol=Protocol.HTTP2,
        address="198.18.1.2",
        port=8443,
        server_name="maps.test",
        page=builders.maps(),
        requests=(
            Request(name="page", path="/", signals=_weighing(256 if weights else None)),
            Request(name="image", path="/image.jpg", signals=_weighing(image), after="page"),
            Request(name="script", path="/script.js", signals=_weighing(script), after="page"),
        ),
        groups=(),
        authority="maps.test",
        no_rfc7540_priorities=False,
        changes=(),
        loads=1,
        window_bytes=2**24,
        steps=None,
        load_deadline_ns=10**9,
    )


def _weighing(weight: int | None) -> Signals:
    return Signals(position=None if weight is None else Position(weight=weight))


def on_streams(events: Sequence[Event]) -> list[Event]:
    """Returns the events with stream numbers. Events of resources without a stream are left out."""
    made = []
    for event in events:
        detail = "200" if event.kind == "headers" else event.detail
        if event.resource in _STREAMS:
            stream_id = 10 * event.load + _STREAMS[event.resource]
            made.append(replace(event, stream_id=stream_id, detail=detail))
        elif event.resource is None:
            made.append(event)
    return made


def _as_asked(event: Event, asked: Plan) -> Event:
    """Returns the event; that of a request with the plan's signals as its detail."""
    request = asked.request(event.resource)
    if event.kind != Kind.REQUEST_SENT or request is None:
        return event
    return replace(event, detail=as_text(request.signals.position, request.signals.field))


def recording(
    start_ms: int,
    name: str = "control.1",
    *,
    layers: Layers | None = None,
    **changes: Any,
) -> Recording:
    """Returns a recording with a connection at start_ms and loads 2 s and 4 s later. Each load takes 1 s."""
    image, script = [(100, 60), (500, 40)], [(300, 10), (1000, 90)]
    loads = [on_streams(builders.load_events(number, start_ms + 2000 * number, image, script)) for number in (1, 2)]
    requests = [
        builders.script_request(start_ms + 2000 * number + 60, start_ms + 2000 * number + 200) for number in (1, 2)
    ]
    connected = Event(t_ns=start_ms * MS, kind=Kind.CONNECTED, load=0)
    asked = changes.pop("plan", plan())
    events = [connected, *(_as_asked(event, asked) for load in loads for event in load)]
    evidence = replace(builders.evidence(loads, requests), events=tuple(events))
    return Recording(
        name=name,
        arm=name.split(".", maxsplit=1)[0],
        record=builders.run().record,
        plan=asked,
        events=evidence.events,
        requests=evidence.requests,
        loads=tuple(page_loads(evidence)),
        streams=streams(evidence.events, asked, evidence.source),
        layers=layers or Layers(sockets=(), queue=(), arrivals=()),
    )


def album(*recordings: Recording) -> Album:
    """Returns an experiment with these recordings."""
    return Album(
        experiment="maps",
        revision="1",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        recordings=recordings,
        left_out=(),
    )


def data(t_ms: int, size_bytes: int, record_ms: int | None) -> Event:
    return Event(
        t_ns=t_ms * MS,
        kind=Kind.DATA,
        load=1,
        stream_id=3,
        resource="image",
        size_bytes=size_bytes,
        record_ns=None if record_ms is None else record_ms * MS,
    )


def stream_of(*pieces: Event, headers_ms: int = 1) -> list[Event]:
    """Returns the events of a stream whose payload arrives as `pieces`."""
    about = {"load": 1, "stream_id": 3, "resource": "image"}
    last_ns = pieces[-1].t_ns if pieces else 0
    return [
        Event(t_ns=0, kind="request-sent", **about),  # type: ignore[arg-type]
        Event(t_ns=headers_ms * MS, kind="headers", detail="200", **about),  # type: ignore[arg-type]
        *pieces,
        Event(t_ns=last_ns, kind="ended", **about),  # type: ignore[arg-type]
    ]


def test_payload_that_was_readable_at_once_is_one_chunk() -> None:
    """Pieces of payload that became readable at the same time are one chunk of their total size.

    The chunk starts at the start of the earliest TLS record among those of the pieces.
    """
    (stream,) = streams(stream_of(data(9, 10, 4), data(9, 5, 6), data(12, 1, 9)), plan(), "events")
    assert stream.chunks == (
        Chunk(started_ns=4 * MS, t_ns=9 * MS, size_bytes=15),
        Chunk(started_ns=9 * MS, t_ns=12 * MS, size_bytes=1),
    )
    assert (stream.first_byte_ns, stream.last_byte_ns, stream.size_bytes) == (9 * MS, 12 * MS, 16)


def test_a_stream_that_lacks_something() -> None:
    """A stream without data, with a status that is no number, or with an unplanned resource raises FolderError.

    The message names the file and the stream.
    """
    with pytest.raises(FolderError, match=r"^events: stream 3 has no event data$"):
        streams(stream_of(), plan(), "events")
    whole = stream_of(data(9, 10, 4))
    with pytest.raises(FolderError, match=r"^events: stream 3 has the status fine, not a number$"):
        streams([replace(e, detail="fine") for e in whole], plan(), "events")
    with pytest.raises(FolderError, match=r"^events: stream 3 has the resource video, which is not in the plan$"):
        streams([replace(e, resource="video") for e in whole], plan(), "events")


def _slices(document: dict[str, Any], name: str) -> list[tuple[int, float, float]]:
    events = [event for event in document["traceEvents"] if event["ph"] == "X" and event["name"] == name]
    return [(event["pid"], event["ts"], event["ts"] + event["dur"]) for event in events]


def test_measured_loads_begin_together() -> None:
    """Measured loads of different runs begin at the same time in Perfetto, even if clocks differ by an hour.

    No event has a negative time.
    """
    late = recording(3_600_000, "lowat-1.1")
    document = perfetto.document(album(recording(7), late))
    assert _slices(document, "load 2 (measured)") == [(1, 4e6, 5e6), (2, 4e6, 5e6)]
    assert _slices(document, "load 1") == [(1, 2e6, 3e6), (2, 2e6, 3e6)]
    assert min(event["ts"] for event in document["traceEvents"]) == 0


def test_slices_wait_their_turn() -> None:
    """A DATA slice begins with its TLS record, but not before the headers or the end of the previous slice."""
    pieces = [data(20, 1, 2), data(30, 1, 5), data(40, 1, 35)]
    made = recording(0)
    (stream,) = streams(stream_of(*pieces, headers_ms=10), plan(), "events")
    document = perfetto.document(album(replace(made, streams=(stream,))))
    assert _slices(document, "waiting for the first byte") == [(1, 10e3, 20e3)]
    assert _slices(document, "receiving") == [(1, 20e3, 40e3)]
    assert _slices(document, "DATA") == [(1, 10e3, 20e3), (1, 20e3, 30e3), (1, 35e3, 40e3)]


def look(t_ms: int, notsent_bytes: int) -> SocketSample:
    """Returns a sample of the socket. All values except time and notsent_bytes are fixed."""
    return socket_sample(
        t_ns=t_ms * MS,
        notsent_bytes=notsent_bytes,
        unacked_segments=2,
        cwnd_segments=10,
        mss_bytes=1000,
        rtt_us=1500,
        sndbuf_bytes=4096,
    )


def line(t_ms: int, size_bytes: int, dropped: int) -> QueueSample:
    """Returns a sample of the queue toward the client."""
    return QueueSample(
        t_ns=t_ms * MS, direction="down", packets=1, bytes=size_bytes, delay_line_packets=0, dropped=dropped
    )


def sampled() -> Recording:
    """Returns a recording with samples before, during and after the client's connection."""
    sockets = (look(900, 1), look(1100, 5), look(1200, 5), look(1300, 7), look(9000, 0))
    queue = (line(500, 8, 3), line(700, 0, 8), line(1500, 60, 9), line(9000, 0, 9))
    return recording(1000, layers=Layers(sockets=sockets, queue=queue, arrivals=()))


def test_counters_tell_of_changes() -> None:
    """A Perfetto counter has an event per change during the connection; packets dropped earlier do not count."""
    events = perfetto.document(album(sampled()))["traceEvents"]

    def told(name: str) -> list[tuple[float, Any]]:
        return [(event["ts"], event["args"]) for event in events if event["ph"] == "C" and event["name"] == name]

    assert told("front: unsent") == [(100e3, {"bytes": 5}), (300e3, {"bytes": 7})]
    assert told("front: in flight") == [(100e3, {"bytes": 2000})]
    assert told("link: bottleneck") == [(0, {"bytes": 0}), (500e3, {"bytes": 60})]
    assert told("link: dropped") == [(0, {"packets": 0}), (500e3, {"packets": 1})]


def test_qlog_tells_what_has_changed() -> None:
    """In qlog the first sample is an event with all values. Later samples are events with the changed values only.

    A sample without a change is no event.
    """
    _, server, link = qlog.document(album(sampled()))["traces"]
    looks = [event for event in server["events"] if event["name"] == "priolab:metrics_updated"]
    assert [event["time"] for event in looks] == [100.0, 300.0]
    assert looks[0]["data"]["congestion_window"] == 10_000
    assert looks[1]["data"] == {"bytes_unsent": 7}
    assert [event["time"] for event in link["events"]] == [0.0, 500.0]
    assert link["events"][1]["data"] == {"bottleneck_bytes": 60, "packets_dropped": 1}


def test_har_has_a_page_per_load() -> None:
    """HAR has a page for each load, and each entry refers to the page of its load.

    Dates count from the start of the experiment. The times of chunks count from the page's request.
    """
    document = har.document(album(), recording(123))["log"]
    assert [page["title"] for page in document["pages"]] == ["control.1, load 1", "control.1, load 2 (measured)"]
    assert [page["startedDateTime"][17:] for page in document["pages"]] == ["02.000000+00:00", "04.000000+00:00"]
    assert document["pages"][1]["pageTimings"] == {"onContentLoad": -1, "onLoad": 1000.0, "_focalAvailable": 200.0}
    assert [entry["pageref"] for entry in document["entries"]] == ["load_1"] * 3 + ["load_2"] * 3
    script = document["entries"][5]
    assert script["request"]["url"] == "https://maps.test:8443/script.js"
    assert script["startedDateTime"][17:] == "04.050000+00:00"
    assert (script["timings"]["wait"], script["timings"]["receive"], script["time"]) == (250.0, 700.0, 950.0)
    assert script["_chunks"] == [{"ts": 300.0, "bytes": 10}, {"ts": 1000.0, "bytes": 90}]


def test_no_priority_is_no_field() -> None:
    """HAR and qlog have no priority fields if the client sent no priorities."""
    made = recording(0, plan=plan(weights=False))
    entries = har.document(album(), made)["log"]["entries"]
    assert [key for entry in entries for key in entry if "priority" in key or "weight" in key] == []
    client = qlog.document(album(made))["traces"][0]
    assert not [event for event in client["events"] if "weight" in event["data"].get("frame", {})]


def test_over_spdy() -> None:
    """Over SPDY the exports have levels instead of weights, SPDY's field names, and 8 bytes of header for DATA."""
    asked = plan(weights=False)
    page, image, script = asked.requests
    requests = (
        replace(page, signals=Signals(level=0)),
        replace(image, signals=Signals(level=3)),
        replace(script, signals=Signals(level=2)),
    )
    asked = replace(asked, protocol=Protocol.SPDY, requests=requests)
    made = recording(0, plan=asked)
    entries = har.document(album(), made)["log"]["entries"]
    assert {entry["response"]["httpVersion"] for entry in entries} == {"SPDY/3.1"}
    assert "_http2_stream_weight" not in entries[0]
    told = qlog.document(album(made))
    assert told["description"].startswith("SPDY/3.1 through a bottleneck")
    frames = [event["data"]["frame"] for event in told["traces"][0]["events"] if "frame" in event["data"]]
    assert [frame["level"] for frame in frames if "level" in frame] == [0, 3, 2, 0, 3, 2]
    assert {"name": ":host", "value": "maps.test"} in frames[0]["headers"]
    assert {raw["length"] - raw["payload_length"] for frame in frames if (raw := frame.get("raw"))} == {8}
    tracks = [event.get("args", {}).get("name", "") for event in perfetto.document(album(made))["traceEvents"]]
    assert len([name for name in tracks if "level 2)" in name]) == 2


def test_only_the_measured_load_has_a_verdict() -> None:
    """The table of loads has a row for each load, with times since the load's start.

    Only the measured load has a verdict. A knob without a value is None.
    """
    made = {table.name: table for table in tables.tables(album(recording(0)))}
    first, second = made["loads"].rows
    assert (first["measured"], first["verdict"]) == (False, None)
    assert (second["measured"], second["verdict"]) == (True, "nothing-to-prioritize")
    assert (second["first_byte_ms"], second["other_bytes_before"]) == (300.0, 60)
    assert (second["lowat_bytes"], second["gso_segments"]) == (131_072, None)
    assert set(made["loads"].columns) == set(second)


_PAGE = page_of_parts(
    part("html", content_type="text/html; charset=utf-8", path="/", urgency=0),
    part("photo", content_type="image/jpeg", after="html", urgency=5),
    part("style", content_type="text/css", after="html", urgency=1, important=True),
    part("font", content_type="font/woff2", after="style", urgency=2, depends_on="photo"),
    part(
        "stream",
        content_type="text/event-stream",
        after="html",
        urgency=1,
        important=True,
        chunks=(PageChunk(at_ns=0, size_bytes=500, every_ns=MS, count=2),),
    ),
)
_CAME: dict[str, list[tuple[int, int]]] = {
    "html": [(40, 1000)],
    "photo": [(100, 600), (400, 400)],
    "style": [(150, 1000)],
    "font": [(300, 1000)],
    "stream": [(200, 500), (260, 500)],
}


def of_many(dialect: str = "plain") -> Recording:
    """Returns the recording of a load of the page with five resources. The load begins at 0."""
    events = [Event(t_ns=0, kind=Kind.LOAD_STARTED, load=1)]
    asked_ms = {"html": 0, "photo": 45, "style": 46, "font": 155, "stream": 47}
    for number, (name, pieces) in enumerate(_CAME.items()):
        about: dict[str, Any] = {"load": 1, "stream_id": 2 * number + 1, "resource": name}
        headers_ns = (pieces[0][0] - 1) * MS
        events += [
            Event(t_ns=asked_ms[name] * MS, kind=Kind.REQUEST_SENT, **about),
            Event(t_ns=headers_ns, kind=Kind.HEADERS, detail="200", **about),
            *(Event(t_ns=t_ms * MS, kind=Kind.DATA, size_bytes=size, **about) for t_ms, size in pieces),
            Event(t_ns=pieces[-1][0] * MS, kind=Kind.ENDED, **about),
        ]
    events.append(Event(t_ns=400 * MS, kind=Kind.LOAD_FINISHED, load=1))
    events.sort(key=lambda event: event.t_ns)
    plan = plan_of(_PAGE, dialect=parse(dialect))
    events = [_as_asked(event, plan) for event in events]
    evidence = replace(builders.evidence([events], [], page=_PAGE), events=tuple(events))
    return Recording(
        name="control.1",
        arm="control",
        record=builders.run(knobs={"PAGE": "news"}).record,
        plan=plan,
        events=evidence.events,
        requests=evidence.requests,
        loads=tuple(page_loads(evidence)),
        streams=streams(evidence.events, plan, evidence.source),
        layers=Layers(sockets=(), queue=(), arrivals=()),
    )


def test_the_table_of_resources() -> None:
    """The table of resources has a row for each resource of each load.

    Only for a resource in chunks the row has gaps, the times between chunks.
    """
    made = {table.name: table for table in tables.tables(album(recording(0), of_many()))}
    rows = made["resources"].rows
    assert [(row["run"], row["load"], row["measured"], row["resource"]) for row in rows] == [
        *(("control.1", 1, False, name) for name in ("page", "image", "script")),
        *(("control.1", 2, True, name) for name in ("page", "image", "script")),
        *(("control.1", 1, True, name) for name in _CAME),
    ]
    assert all(set(row) == set(made["resources"].columns) for row in rows)
    stream, photo = rows[-1], rows[-4]
    assert (stream["important"], stream["size_bytes"], stream["first_byte_ms"], stream["last_byte_ms"]) == (
        True,
        1000,
        200,
        260,
    )
    assert (stream["gap_p50_ms"], stream["gap_p99_ms"], stream["gap_longest_ms"]) == (60, 60, 60)
    assert (photo["important"], photo["gap_p50_ms"], photo["gap_longest_ms"]) == (False, None, None)
    lines = tables.as_csv(made["resources"]).decode().splitlines()
    assert lines[0].startswith("arm,run,load,measured,resource,important,size_bytes,available_ms")
    assert lines[-1].startswith("control,control.1,1,true,stream,true,1000,")
    assert lines[-1].endswith(",200.0,260.0,66667,60.0,60.0,60.0")
    assert lines[-4].endswith(",100.0,400.0,10667,,,")


def test_har_of_many() -> None:
    """Each HAR entry has the resource's type and its priority: weight and parent stream, or the header field."""
    document = har.document(album(), of_many())["log"]
    told = {
        entry["request"]["url"].rpartition("/")[2]: (
            entry["_resourceType"],
            entry["response"]["content"]["mimeType"],
            entry["_http2_stream_weight"],
            entry["_http2_stream_dependency"],
            entry.get("_priority"),
        )
        for entry in document["entries"]
    }
    assert told == {
        "": ("document", "text/html", 256, 0, "VeryHigh"),
        "photo": ("image", "image/jpeg", 74, 0, None),
        "style": ("stylesheet", "text/css", 220, 0, "High"),
        "font": ("fetch", "font/woff2", 183, 3, "Medium"),
        "stream": ("fetch", "text/event-stream", 220, 0, "High"),
    }
    assert document["pages"][0]["pageTimings"] == {"onContentLoad": -1, "onLoad": 400.0, "_focalAvailable": 47.000001}
    by_header = har.document(album(), of_many("header"))["log"]["entries"]
    assert [entry["request"]["headers"] for entry in by_header] == [
        [{"name": "priority", "value": f"u={urgency}"}] for urgency in (0, 5, 1, 1, 2)
    ]


def test_qlog_of_many() -> None:
    """qlog counts the bytes of each stream separately; a marker shows when the focal resource is available."""
    client, server, *_ = qlog.document(album(of_many()))["traces"]
    moved = [event["data"] for event in client["events"] if event["name"] == "priolab:stream_data_moved"]
    assert [(each["stream_id"], each["offset"], each["raw"]["length"]) for each in moved] == [
        (1, 0, 1000),
        (3, 0, 600),
        (5, 0, 1000),
        (9, 0, 500),
        (9, 500, 500),
        (7, 0, 1000),
        (3, 600, 400),
    ]
    markers = [event["data"]["type"] for event in server["events"] if event["name"] == "simulation:marker"]
    assert markers == ["stream-available"]
    paths = [
        field["value"]
        for event in client["events"]
        for field in event["data"].get("frame", {}).get("headers", ())
        if field["name"] == ":path"
    ]
    assert paths == ["/", "/photo", "/style", "/stream", "/font"]


def test_every_field_of_the_scenario_is_a_column() -> None:
    """A table of loads has the value of each field of the scenario; those of the second front have a prefix."""
    made = recording(0)
    via = ViaRecord(server="h2o", lowat=4096, http="2", rate_bit_s=None, delay_ns=5, queue_packets=9)
    scenario = replace(made.scenario, via=via, lowat="auto", target_delay_ns=7, native="on", disturb="reset")
    made = replace(made, record=replace(made.record, scenario=scenario))
    (loads, *_) = tables.tables(album(made))
    row = loads.rows[0]
    assert {field.name for field in fields(scenario)} - set(row) == {"lowat", "via"}
    assert {name: row[name] for name in row if name.startswith("via_")} == {
        "via_server": "h2o",
        "via_lowat_bytes": 4096,
        "via_http": "2",
        "via_rate_bit_s": None,
        "via_delay_ns": 5,
        "via_queue_packets": 9,
        "via_queue_bytes": None,
    }
    assert [row[name] for name in ("lowat_bytes", "target_delay_ns", "native", "disturb")] == [None, 7, "on", "reset"]
    assert [each["name"] for each in json.loads(row["resources"])] == [each.name for each in scenario.resources]
