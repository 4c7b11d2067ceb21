"""Tests of the segments of a connection, in captures that the tests write themselves."""

import json
from collections.abc import Sequence
from pathlib import Path

import dpkt
import pytest

from priolab.common.errors import StepFailed
from priolab.common.formats.files import write_json
from priolab.experiments.hosts.experiment_hosts import FRONT_PORT
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.run.segments import finish

_PORT, _OTHER = 40_001, 40_002
_AHEAD_NS = 10**18
"""CLOCK_REALTIME minus CLOCK_MONOTONIC."""
_FIRST = 2**32 - 5
"""The sequence number of a stream's first byte. The counter wraps after five bytes."""

Packet = tuple[int, int, int | None, bytes]
"""Time in ns, the client's port, the position in the stream (None for a SYN), payload."""


def _write(file: Path, packets: Sequence[Packet]) -> None:
    with file.open("wb") as out:
        writer = dpkt.pcap.Writer(out, nano=True)
        for t_ns, port, position, payload in packets:
            flags = dpkt.tcp.TH_SYN if position is None else dpkt.tcp.TH_ACK
            sequence = (_FIRST - 1 if position is None else _FIRST + position) % 2**32
            tcp = dpkt.tcp.TCP(sport=FRONT_PORT, dport=port, seq=sequence, flags=flags, data=payload)
            packet = dpkt.ip.IP(src=b"\0\0\0\1", dst=b"\0\0\0\2", p=dpkt.ip.IP_PROTO_TCP, data=tcp)
            packet.len = len(packet)
            writer.writepkt(bytes(dpkt.ethernet.Ethernet(data=packet)), ts=(_AHEAD_NS + t_ns) / 10**9)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Returns the folder of a run whose captures are still raw."""
    folder = RunFolder(tmp_path)
    folder.wire.mkdir()
    folder.client.mkdir()
    write_json(folder.wire / "clock.json", {"realtime_minus_monotonic_ns": {"start": _AHEAD_NS, "end": _AHEAD_NS}})
    write_json(folder.client / "socket.json", {"port": _PORT})
    return folder


def test_each_segment_of_the_loads_has_a_line(folder: RunFolder) -> None:
    """Copies have lines, too; packets without bytes, and other connections, have none."""
    opening: list[Packet] = [(0, _PORT, None, b""), (0, _OTHER, None, b"")]
    sent: list[Packet] = [(10**9, _PORT, 0, b"abcdef"), (2 * 10**9, _PORT, 3, b"def"), (3 * 10**9, _OTHER, 0, b"x")]
    _write(folder.wire / "server.pcap", [*opening, *sent, (4 * 10**9, _PORT, 6, b"")])
    _write(folder.wire / "client.pcap", [*opening, (5 * 10**9, _PORT, 0, b"abcdef")])
    finish(folder)
    lines = [json.loads(line) for line in (folder.wire / "segments.jsonl").read_text().splitlines()]
    found = [
        (each["end"], round(each["t_ns"] / 10**9, 3), each["position_bytes"], each["size_bytes"]) for each in lines
    ]
    assert found == [("server", 1, 0, 6), ("server", 2, 3, 3), ("client", 5, 0, 6)]


def test_captures_that_cannot_be_read(folder: RunFolder) -> None:
    """Without a capture, or with one that is none, one line says so; the captures stay for the keys."""
    with pytest.raises(StepFailed, match=r"server\.pcap: No such file"):
        finish(folder)
    for end in ("server", "client"):
        (folder.wire / f"{end}.pcap").write_bytes(b"no capture at all, but long enough")
    with pytest.raises(StepFailed, match="they cannot be read"):
        finish(folder)
    assert len(list(folder.wire.glob("*.pcap"))) == 2
