"""The qlog export against docs/reference/qlog.cddl: the draft's requirements on a file, and the lab's own events."""

import copy
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cbor2
import pytest

from priolab.analysis.exports import qlog
from priolab.analysis.exports.recording import Album, album
from priolab.analysis.records.runs import load_experiment

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cddl() -> Any:
    """Return pycddl."""
    return importlib.import_module("pycddl")


@pytest.fixture(scope="module")
def schema(cddl: Any) -> Any:
    """Return the schema of docs/reference/qlog.cddl."""
    return cddl.Schema((_ROOT / "docs/reference/qlog.cddl").read_text())


def _album(folder: str) -> Album:
    return album(load_experiment(_ROOT / "tests" / "golden" / folder))


def _document(golden: Album) -> Any:
    # As read back from a file.
    return json.loads(json.dumps(qlog.document(golden)))


@pytest.mark.needs("pycddl")
def test_the_form(schema: Any) -> None:
    """The export is valid, with a trace for client, server and link of each run."""
    document = _document(_album("format-3"))
    schema.validate_cbor(cbor2.dumps(document))
    assert len(document["traces"]) == 6


@pytest.mark.needs("pycddl")
@pytest.mark.parametrize(
    "damage",
    [
        lambda document: document.pop("file_schema"),
        lambda document: document["traces"][0].pop("event_schemas"),
        lambda document: document["traces"][0]["events"][4]["data"].update(stream_id="1"),
        lambda document: document["traces"][1]["events"][2]["data"].update(cwnd=1),
        lambda document: document["traces"][2]["vantage_point"].pop("flow"),
    ],
)
def test_the_definition_is_strict(damage: Callable[[Any], None], schema: Any, cddl: Any) -> None:
    """A file without a required field, or with an undefined field, is not valid."""
    document = copy.deepcopy(_document(_album("format-3")))
    damage(document)
    with pytest.raises(cddl.ValidationError):
        schema.validate_cbor(cbor2.dumps(document))


def test_what_is_in_it() -> None:
    """Events are in order of time; the script's payload, its first byte and the last `bytes_acked` are the run's."""
    golden = _album("format-3")
    traces = _document(golden)["traces"]
    for recording, (client, server, link) in zip(golden.recordings, (traces[:3], traces[3:]), strict=True):
        for trace in (client, server, link):
            times = [event["time"] for event in trace["events"]]
            assert times == sorted(times)
            assert times[0] >= 0
            assert trace["common_fields"]["group_id"] == recording.name
        script = next(stream for stream in recording.streams if stream.name == "script")
        moved = [
            event
            for event in client["events"]
            if event["name"] == "priolab:stream_data_moved" and event["data"]["stream_id"] == script.stream_id
        ]
        assert moved[0]["time"] == recording.ms(script.first_byte_ns)
        assert moved[-1]["data"]["offset"] + moved[-1]["data"]["raw"]["length"] == script.size_bytes
        metrics: dict[str, Any] = {}
        for event in server["events"]:
            metrics |= event["data"] if event["name"] == "priolab:metrics_updated" else {}
        assert metrics["bytes_acked"] == recording.sockets[-1].bytes_acked


def test_what_a_file_begins_with() -> None:
    """Schema and serialization are named in the first 256 bytes, as the draft asks."""
    document = json.dumps(qlog.document(_album("format-3")))
    assert "application/qlog+json" in document[:256]
    assert "urn:ietf:params:qlog:file:contained" in document[:256]
