"""Reads a capture with Wireshark: tshark decrypts and dissects the file without code of the lab.

tshark reports an HTTP/2 frame with the packet in which the frame ends. The position of a frame's first byte follows
from the lengths of the frames before it. The packet that made this byte readable follows from the decrypted TLS
records, which tshark reports with the packet that completed each record.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from priolab.common.running import finished

OUT_OF_ORDER = "tcp.reassemble_out_of_order:TRUE"
"""The preference with which tshark can decrypt a TLS connection after a lost packet."""

_FRONT = "443"
_DATA, _HEADERS = "0", "1"
_FRAME_HEADER_BYTES = 9
_TIMEOUT_S = 60


@dataclass(frozen=True, kw_only=True)
class Packet:
    """A packet of the front. t_ns: CLOCK_REALTIME.

    begin_bytes, end_bytes: the bytes of the front's TCP stream before the payload, and up to its end.
    """

    t_ns: int
    begin_bytes: int
    end_bytes: int


@dataclass(frozen=True, kw_only=True)
class _Frame:
    kind: str
    stream_id: str
    size_bytes: int


class Capture:
    """A capture, read by tshark with its default settings. preferences: preferences that differ, NAME:VALUE."""

    def __init__(self, file: Path, *preferences: str) -> None:
        self._command = ["tshark", "-r", str(file), *(word for each in preferences for word in ("-o", each))]
        # This folder has no preferences of a user.
        self._environment = os.environ | {"WIRESHARK_CONFIG_DIR": str(file.parent)}

    def first_bytes(self) -> dict[str, Packet]:
        """Returns by path the packet that made the first byte of DATA in the last response readable."""
        frames, paths = self._frames()
        records = list(self._records())
        assert sum(_FRAME_HEADER_BYTES + frame.size_bytes for frame in frames) == sum(size for _, size in records)
        packets = self._packets()
        found: dict[str, Packet] = {}
        position, record_end, seen = 0, 0, set()
        remaining = iter(records)
        for frame in frames:
            position += _FRAME_HEADER_BYTES
            if frame.kind == _DATA and frame.size_bytes and frame.stream_id not in seen:
                seen.add(frame.stream_id)
                while record_end <= position:
                    number, size = next(remaining)
                    record_end += size
                found[paths[frame.stream_id]] = packets[number]
            position += frame.size_bytes
        return found

    def data_bytes(self) -> dict[str, int]:
        """Returns by path the bytes of DATA that tshark could decrypt, in all responses together."""
        frames, paths = self._frames()
        sizes = dict.fromkeys(paths.values(), 0)
        for frame in frames:
            if frame.kind == _DATA:
                sizes[paths[frame.stream_id]] += frame.size_bytes
        return sizes

    def _frames(self) -> tuple[list[_Frame], dict[str, str]]:
        """Returns the front's HTTP/2 frames in order, and the requested path of each stream."""
        frames: list[_Frame] = []
        paths: dict[str, str] = {}
        names = ("tcp.srcport", "http2.type", "http2.streamid", "http2.length", "http2.headers.path")
        for source, *lists in self._fields("http2", *names):
            kinds, stream_ids, sizes, asked = (text.split(",") if text else [] for text in lists)
            if source == _FRONT:
                frames += [
                    _Frame(kind=kind, stream_id=stream_id, size_bytes=int(size))
                    for kind, stream_id, size in zip(kinds, stream_ids, sizes, strict=True)
                ]
            else:
                requests = [each for kind, each in zip(kinds, stream_ids, strict=False) if kind == _HEADERS]
                paths.update(zip(requests, asked, strict=True))
        return frames, paths

    def _records(self) -> Iterator[tuple[str, int]]:
        """Returns, for each of the front's TLS records, the number of its last packet, and its plaintext bytes."""
        followed = yaml.safe_load(self._tshark("-q", "-z", "follow,tls,yaml,0"))
        (front,) = (each["peer"] for each in followed["peers"] if each["port"] == int(_FRONT))
        return ((str(each["packet"]), len(each["data"])) for each in followed["packets"] if each["peer"] == front)

    def _packets(self) -> dict[str, Packet]:
        """Returns the front's packets by number."""
        packets = {}
        fields = self._fields(f"tcp.srcport == {_FRONT}", "frame.number", "frame.time_epoch", "tcp.seq", "tcp.len")
        for number, time, sequence, size in fields:
            seconds, nanoseconds = time.split(".")
            begin_bytes = int(sequence) - 1  # the first is the SYN's
            packets[number] = Packet(
                t_ns=int(seconds) * 10**9 + int(nanoseconds),
                begin_bytes=begin_bytes,
                end_bytes=begin_bytes + int(size),
            )
        return packets

    def _fields(self, which: str, *names: str) -> Iterator[list[str]]:
        wanted = [word for name in names for word in ("-e", name)]
        return (line.split("\t") for line in self._tshark("-Y", which, "-T", "fields", *wanted).splitlines())

    def _tshark(self, *words: str) -> str:
        done = finished([*self._command, *words], _TIMEOUT_S, environment=self._environment).checked()
        assert "cut short" not in done.errors
        return done.out
