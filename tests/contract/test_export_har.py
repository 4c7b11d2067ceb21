"""The HAR export: it conforms to the specification, and a HAR reader finds the run's times in it."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from haralyzer import HarParser

from priolab.analysis.exports import har
from priolab.analysis.exports.recording import Album, album
from priolab.analysis.records.runs import load_experiment
from tests.support.schemas import validator

_GOLDEN = Path(__file__).parent.parent / "golden"
_SCHEMA = json.loads((Path(__file__).parent / "har-1.2.schema.json").read_text())


@pytest.fixture(params=["format-3"])
def golden(request: pytest.FixtureRequest) -> Album:
    """Return the recordings of a golden folder."""
    return album(load_experiment(_GOLDEN / request.param))


def _documents(golden: Album) -> list[Any]:
    # As read back from a file.
    return [json.loads(json.dumps(har.document(golden, recording))) for recording in golden.recordings]


def test_the_form(golden: Album) -> None:
    """Every document is valid HAR 1.2; a document without a required timing is not."""
    for document in _documents(golden):
        assert [error.message for error in validator(_SCHEMA).iter_errors(document)] == []
        del document["log"]["entries"][0]["timings"]["wait"]
        assert not validator(_SCHEMA).is_valid(document)


def test_a_reader_finds_the_figures(golden: Album) -> None:
    """haralyzer finds the times of first and last bytes that run.json has; an entry's timings add up to its time."""
    for recording, document in zip(golden.recordings, _documents(golden), strict=True):
        (page,) = HarParser(document).pages
        assert [entry.url for entry in page.entries] == [
            "https://maps.test/",
            "https://maps.test/image.jpg",
            "https://maps.test/script.js",
        ]
        begun = page.entries[0].startTime
        measured = recording.record.measured.resources
        for name, entry in zip(("image", "script"), page.entries[1:], strict=True):
            first = entry.startTime + timedelta(milliseconds=entry.timings["wait"]) - begun
            last = entry.startTime + timedelta(milliseconds=entry.time) - begun
            # startedDateTime has a resolution of microseconds.
            assert first / timedelta(milliseconds=1) == pytest.approx(measured[name].first_byte_ms, abs=0.002)
            assert last / timedelta(milliseconds=1) == pytest.approx(measured[name].last_byte_ms, abs=0.002)
        for entry in page.entries:
            spent_ms = sum(value for key, value in entry.timings.items() if value > 0 and key != "ssl")
            assert entry.time == pytest.approx(spent_ms)
        assert page.image_size == page.js_size == recording.scenario.size_bytes


def test_chunks_are_all_of_the_payload(golden: Album) -> None:
    """An entry's chunks add up to its size; the first and last have the times of the first and last byte."""
    for recording, document in zip(golden.recordings, _documents(golden), strict=True):
        measured = recording.record.measured.resources
        for name, entry in zip(("image", "script"), document["log"]["entries"][1:], strict=True):
            chunks = entry["_chunks"]
            assert sum(chunk["bytes"] for chunk in chunks) == entry["response"]["bodySize"]
            assert chunks[0]["ts"] == measured[name].first_byte_ms
            assert chunks[-1]["ts"] == measured[name].last_byte_ms


def test_priorities(golden: Album) -> None:
    """An entry has Chrome's name for its priority (VeryHigh), and WebPageTest's fields for weight and stream id."""
    for document in _documents(golden):
        entries = document["log"]["entries"]
        assert [entry["_priority"] for entry in entries] == ["VeryHigh", "Low", "Medium"]
        assert [entry["_http2_stream_weight"] for entry in entries] == [256, 147, 183]
        assert [entry["_http2_stream_id"] for entry in entries] == [1, 3, 5]
        assert [entry["_resourceType"] for entry in entries] == ["document", "image", "script"]
