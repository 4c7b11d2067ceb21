"""Writes HAR 1.2, a document per run: a page per load, an entry per request. Pure.

Origin and meaning of the fields:
- without an underscore: defined by HAR 1.2. `wait` ends and `receive` begins with the first byte of DATA, which the lab
  calls "first byte" everywhere. `dns`, `connect` and `ssl` do not apply, because the connection exists before the load.
- `_priority`, `_resourceType`: defined by Chrome DevTools. `_priority` is the priority for which Chrome sends the
  request's weight.
- `_chunks`, `_http2_stream_*`: defined by WebPageTest. A chunk is payload that became readable at one instant: `ts` is
  the time in milliseconds since the page's request, `bytes` the size. PerfCascade and waterfall-tools also read chunks.
- `_focalAvailable`: defined by the lab, a page timing: the time at which the origin had the focal resource. Viewers
  that draw a line for every page timing, such as PerfCascade, also show this time.
- `_headers_ms`: defined by the lab: the arrival of the response's HEADERS, in milliseconds since the page's request.
"""

from typing import Any

from priolab.analysis.exports.recording import Album, Recording
from priolab.analysis.exports.streams import Stream
from priolab.analysis.loads.metrics import PageLoad
from priolab.common.formats.plan import NAMES

_HTTPS_PORT = 443
_KINDS = {"text/html": "document", "image/jpeg": "image", "text/javascript": "script", "text/css": "stylesheet"}
"""DevTools' name for the kind of a resource, by content type. A resource of any other content type is `fetch`."""
# Chrome converts its five priorities to SPDY/3 priorities, and SPDY/3 priorities to weights (spdy_http_utils.cc,
# client/priorities.py).
_PRIORITIES = {256: "VeryHigh", 220: "High", 183: "Medium", 147: "Low", 110: "VeryLow"}


def document(album: Album, recording: Recording) -> dict[str, Any]:
    """Returns the HAR of a run."""
    loads = {load.number: load for load in recording.loads}
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "priority lab", "version": album.revision},
            "pages": [_page(album, recording, load) for load in recording.loads],
            "entries": [
                _entry(album, recording, loads[stream.load], stream)
                for stream in recording.streams
                if stream.load in loads
            ],
            "comment": f"{album.experiment}, {recording.name}: dates are those of the experiment's start",
        }
    }


def _page_id(load: PageLoad) -> str:
    return f"load_{load.number}"


def _page(album: Album, recording: Recording, load: PageLoad) -> dict[str, Any]:
    measured = load is recording.measured
    return {
        "id": _page_id(load),
        "startedDateTime": _date(album, recording, load.started_ns),
        "title": f"{recording.name}, load {load.number}" + (" (measured)" if measured else ""),
        "pageTimings": {
            "onContentLoad": -1,
            "onLoad": load.ms(load.complete_ns),
            "_focalAvailable": load.ms(load.focal.available_ns),
        },
        "comment": f"{recording.judgement.verdict}: {recording.judgement.reason}" if measured else "",
    }


def _entry(album: Album, recording: Recording, load: PageLoad, stream: Stream) -> dict[str, Any]:
    known = {each.name: each.content_type.partition(";")[0] for each in recording.plan.page.resources}
    mime_type = known.get(stream.name, "application/octet-stream")
    kind = _KINDS.get(mime_type, "fetch") if stream.name in known else "other"
    field = stream.request.signals.field
    timings = {
        "blocked": -1,
        "dns": -1,
        "connect": -1,
        "ssl": -1,
        "send": 0,
        "wait": (stream.first_byte_ns - stream.requested_ns) / 10**6,
        "receive": (stream.last_byte_ns - stream.first_byte_ns) / 10**6,
    }
    return {
        "pageref": _page_id(load),
        "startedDateTime": _date(album, recording, stream.requested_ns),
        "time": timings["send"] + timings["wait"] + timings["receive"],
        "request": {
            "method": "GET",
            "url": _url(recording, stream),
            "httpVersion": NAMES[recording.plan.protocol],
            "cookies": [],
            "headers": [{"name": "priority", "value": field}] if field else [],
            "queryString": [],
            "headersSize": -1,
            "bodySize": 0,
        },
        "response": {
            "status": stream.status,
            "statusText": "",
            "httpVersion": NAMES[recording.plan.protocol],
            "cookies": [],
            "headers": [],
            "content": {"size": stream.size_bytes, "mimeType": mime_type},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": stream.size_bytes,
        },
        "cache": {},
        "timings": timings,
        "serverIPAddress": recording.plan.address,
        "connection": "1",
        "_resourceType": kind,
        **_priority(recording, stream),
        "_http2_stream_id": stream.stream_id,
        "_headers_ms": load.ms(stream.headers_ns),
        "_chunks": [{"ts": load.ms(chunk.t_ns), "bytes": chunk.size_bytes} for chunk in stream.chunks],
    }


def _priority(recording: Recording, stream: Stream) -> dict[str, Any]:
    """Returns the fields for the request's position in the priority tree; none if the request has no position."""
    position = stream.request.signals.position
    if position is None:
        return {}
    named = {"_priority": _PRIORITIES[position.weight]} if position.weight in _PRIORITIES else {}
    return {
        **named,
        "_http2_stream_weight": position.weight,
        "_http2_stream_dependency": recording.parent(stream),
        "_http2_stream_exclusive": int(position.exclusive),
    }


def _url(recording: Recording, stream: Stream) -> str:
    plan = recording.plan
    port = "" if plan.port == _HTTPS_PORT else f":{plan.port}"
    return f"https://{plan.server_name}{port}{stream.request.path}"


def _date(album: Album, recording: Recording, t_ns: int) -> str:
    return album.wall_clock(recording, t_ns).isoformat(timespec="microseconds")
