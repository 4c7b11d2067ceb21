"""Tests of SPDY frames against bytes worked out by hand, and of header blocks and their dictionary."""

import zlib

import pytest

from priolab.client.spdy import frames
from priolab.client.spdy.blocks import DICTIONARY, BlockReader, BlockWriter
from priolab.client.spdy.frames import Block, Breach, FrameReader, Ping, Setting, WindowUpdate


def read(wire: bytes) -> list[frames.Seen]:
    return list(FrameReader().feed(wire))


def test_the_dictionary() -> None:
    """The dictionary has the length and the Adler-32 of the specification's dictionary.

    zlib sends the Adler-32, so a server would refuse any other dictionary.
    """
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_written_frames() -> None:
    """Each bit of a written frame is as specified: version 3, a length of 24 bits, a priority of 3 bits."""
    assert frames.syn_stream(5, 2, b"block") == bytes.fromhex("80030001 0100000f 00000005 00000000 4000") + b"block"
    assert frames.syn_stream(5, 7, b"")[16] == 0xE0
    assert frames.settings({Setting.INITIAL_WINDOW_SIZE: 65_536}) == bytes.fromhex(
        "80030004 0000000c 00000001 00000007 00010000"
    )
    assert frames.ping(6) == bytes.fromhex("80030006 00000004 00000006")
    assert frames.window_update(0, 2**31 - 1) == bytes.fromhex("80030009 00000008 00000000 7fffffff")


def test_read_frames() -> None:
    """The reserved bits of stream numbers and of window sizes are ignored."""
    assert read(bytes.fromhex("80030002 01000006 80000003 abcd")) == [
        Block(is_reply=True, stream_id=3, block=b"\xab\xcd", is_last=True)
    ]
    assert read(bytes.fromhex("80030009 00000008 80000003 80000001")) == [WindowUpdate(stream_id=3, delta_bytes=1)]
    assert read(frames.ping(4)) == [Ping(number=4)]


def test_of_a_setting_that_comes_twice_the_first_counts() -> None:
    """If a setting comes twice in a frame, the first value counts, as in the draft of SPDY/3.1.

    Flags are no part of the setting's number.
    """
    wire = bytes.fromhex("80030004 00000014 00000002 01000004 00000005 00000004 00000006")
    assert read(wire) == [frames.Settings(values={4: 5})]


def test_blocks_depend_on_each_other() -> None:
    """If a header block is left out, the next header block cannot be unpacked."""
    writer, reader = BlockWriter(), BlockReader()
    writer.pack({"x": "left out"})
    with pytest.raises(Breach, match="cannot be unpacked"):
        reader.unpack(writer.pack({"x": "left out"}))
