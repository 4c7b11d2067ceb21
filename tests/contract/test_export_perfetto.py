"""The Perfetto export, read by Perfetto's own trace processor."""

import json
from pathlib import Path
from typing import Any

from priolab.analysis.exports import perfetto
from priolab.analysis.exports.recording import Album, album
from priolab.analysis.records.runs import load_experiment
from tests.contract import perfetto_reader

_GOLDEN = Path(__file__).parent.parent / "golden"

_COMPLAINTS = "select name from stats where value > 0 and severity != 'info'"
_PROCESSES = "select pid, name from process where pid > 0 order by pid"
_SLICES = """
    select p.pid, t.name as track, s.name, s.ts, s.dur, s.depth from slice s
    join thread_track tt on s.track_id = tt.id join thread t using (utid) join process p using (upid)
    order by p.pid, s.id
"""
_INSTANTS = """
    select p.pid, s.name, s.ts from slice s join process_track pt on s.track_id = pt.id join process p using (upid)
    order by p.pid, s.ts
"""
_COUNTERS = """
    select p.pid, ct.name, c.ts, c.value from counter c join process_counter_track ct on c.track_id = ct.id
    join process p using (upid) order by p.pid, c.ts
"""


def _album(folder: str) -> Album:
    return album(load_experiment(_GOLDEN / folder))


def _write(trace: Path, document: Any) -> Path:
    trace.write_text(json.dumps(document))
    return trace


def test_perfetto_reads_it(tmp_path: Path) -> None:
    """Perfetto reads the trace without errors.

    Each run is a process. The slices of a stream nest, and begin and end at the run's times, to the nanosecond. Each
    counter ends with the value of the last sample.
    """
    golden = _album("format-3")
    trace = _write(tmp_path / "trace.json", perfetto.document(golden))
    complaints, processes, slices, instants, counters = perfetto_reader.ask(
        trace, [_COMPLAINTS, _PROCESSES, _SLICES, _INSTANTS, _COUNTERS]
    )
    assert complaints == []
    assert [row["name"] for row in processes] == ["control.1: inverted", "lowat-16384.1: inverted"]

    depths = {"waiting for headers": 1, "waiting for the first byte": 1, "receiving": 1, "DATA": 2}
    lead_ns = max(each.measured.started_ns - each.zero_ns for each in golden.recordings)
    for pid, recording in enumerate(golden.recordings, start=1):
        zero_ns = recording.measured.started_ns - lead_ns
        own = [row for row in slices if row["pid"] == pid]
        assert [row["ts"] for row in own if row["name"] == "load 1 (measured)"] == [lead_ns]
        for stream in recording.streams[1:]:
            track = [row for row in own if f"(stream {stream.stream_id}," in row["track"]]
            by_name = {row["name"]: row for row in track}
            whole, receiving = by_name[stream.name], by_name["receiving"]
            assert (whole["ts"], whole["depth"]) == (stream.requested_ns - zero_ns, 0)
            assert receiving["ts"] == stream.first_byte_ns - zero_ns
            assert receiving["ts"] + receiving["dur"] == stream.last_byte_ns - zero_ns
            assert all(row["depth"] == depths.get(row["name"], 0) for row in track)
            assert sum(row["name"] == "DATA" for row in track) == len(stream.chunks)
        (available,) = [row["ts"] for row in instants if row["pid"] == pid]
        assert available == recording.measured.focal.available_ns - zero_ns

        last = {row["name"]: row["value"] for row in counters if row["pid"] == pid}
        sample, line = recording.sockets[-1], recording.queue[-1]
        assert last == {
            "front: unsent bytes": sample.notsent_bytes,
            "front: in flight bytes": sample.unacked_segments * sample.mss_bytes,
            "front: cwnd bytes": sample.cwnd_segments * sample.mss_bytes,
            "front: rtt ms": sample.rtt_us / 1000,
            "link: bottleneck bytes": line.bytes,
            "link: delay line bytes": line.delay_line_bytes,
            "link: dropped packets": line.dropped - recording.queue[0].dropped,
        }


def test_perfetto_would_complain(tmp_path: Path) -> None:
    """Perfetto reports overlapping slices of one track, so a trace that it reads without errors has none."""
    slices = [{"ph": "X", "name": "", "pid": 1, "tid": 1, "ts": ts, "dur": 10} for ts in (0, 5)]
    (complaints,) = perfetto_reader.ask(_write(tmp_path / "trace.json", {"traceEvents": slices}), [_COMPLAINTS])
    assert [row["name"] for row in complaints] == ["slice_drop_overlapping_complete_event"]
