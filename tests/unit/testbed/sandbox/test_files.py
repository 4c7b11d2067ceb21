"""Files of what programs wrote, and of the packets of both hosts."""

import os
import struct
from pathlib import Path

from priolab.testbed.sandbox import pcapng
from priolab.testbed.sandbox.output_log import OutputFrame, OutputReader, OutputWriter
from priolab.testbed.sandbox.target import Target

_HOSTS = ["client", "server", "phone"]
_FRAMES = [
    OutputFrame(at_ns=0, place="server", stream="out", data=b"ready\n"),
    OutputFrame(at_ns=7, place="client", stream="err", data=b"\x00\xff"),
    OutputFrame(at_ns=8, place="phone", stream="err", data=b"ring\n"),
    OutputFrame(at_ns=2**40, place="client", stream="out", data=b"x" * 70_000),
]


def test_frames_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A reader gets each frame once, when it is whole."""
    file, grown = tmp_path / "said", tmp_path / "grown"
    reader = OutputReader(file, _HOSTS)
    assert list(reader.read()) == []
    with OutputWriter(grown, _HOSTS) as writer:
        for frame in _FRAMES:
            writer.write(frame)
    data = grown.read_bytes()
    file.write_bytes(data[:30])
    assert list(reader.read()) == _FRAMES[:1]
    file.write_bytes(data)
    assert list(reader.read()) == _FRAMES[1:]
    assert list(reader.read()) == []


def _pcap(*packets: tuple[int, int, bytes]) -> bytes:
    head = struct.pack("=IHHiIII", 0xA1B2_3C4D, 2, 4, 0, 0, 262_144, 1)
    return head + b"".join(struct.pack("=IIII", s, ns, len(data), len(data)) + data for s, ns, data in packets)


def test_captures_are_joined_by_time(tmp_path: Path) -> None:
    """The packets of both hosts are in the order of their times, each with its interface."""
    client, server = (tmp_path / name for name in ("client.pcap", "server.pcap"))
    client.write_bytes(_pcap((1, 5, b"late"), (1, 9, b"later")))
    server.write_bytes(_pcap((1, 4, b"early!")))
    data, at, seen = pcapng.joined([("client", client), ("server", server)]), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("=II", data, at)
        assert struct.unpack_from("=I", data, at + length - 4) == (length,)
        if kind == 6:
            number, high, low, kept, _ = struct.unpack_from("=IIIII", data, at + 8)
            seen.append((number, high << 32 | low, data[at + 28 : at + 28 + kept]))
        at += length
    assert seen == [(1, 10**9 + 4, b"early!"), (0, 10**9 + 5, b"late"), (0, 10**9 + 9, b"later")]


def test_a_target_is_written_where_it_was(tmp_path: Path) -> None:
    """What programs put in the place of a file, or of its folder, is not followed. A pipe that was there is used."""
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    for path in (outside, folder):
        path.mkdir()
    (outside / "kept").write_text("as it was")
    with Target(folder / "file", "a test") as target, Target(folder / "sub/file", "a test") as below:
        (folder / "file").symlink_to(outside / "kept")
        (folder / "sub").rename(folder / "moved")
        (folder / "sub").symlink_to(outside)
        target.write(b"told")
        below.write(b"told")
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"kept": "as it was"}
    assert not (folder / "file").is_symlink()
    assert (folder / "file").read_bytes() == (folder / "moved/file").read_bytes() == b"told"
    with Target(folder / "made", "a test") as target:
        os.mkfifo(folder / "made")
        target.write(b"told")
    assert (folder / "made").read_bytes() == b"told"
    os.mkfifo(folder / "pipe")
    read = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with Target(folder / "pipe", "a test") as target:
        target.write(b"told")
    assert os.read(read, 9) == b"told"
    os.close(read)
