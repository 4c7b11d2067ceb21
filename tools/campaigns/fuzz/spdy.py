"""A misbehaving SPDY/3.1 server."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from struct import pack

from priolab.client.spdy.blocks import DICTIONARY
from tests.support.spdy_pair import (
    GOAWAY,
    HEADERS,
    OK,
    PING,
    RST_STREAM,
    SETTINGS,
    SYN_REPLY,
    SYN_STREAM,
    WINDOW_UPDATE,
    block,
    control,
    data_frame,
)
from tools.campaigns.fuzz.peer import Peer

_FIN = 1
_FIELDS: Sequence[Mapping[str, str]] = (
    OK,
    {":status": "200", ":version": "HTTP/1.1", "content-length": "64"},
    {**OK, "set-cookie": "a=1\0b=2"},
    {":status": "404", ":version": "HTTP/1.1"},
    {":status": "", ":version": "HTTP/1.1"},
    {":version": "HTTP/1.1"},
    {**OK, "Upper": "case"},
    {**OK, "": "nothing"},
    {**OK, "x": "y" * 70_000},
    {**OK, **{f"x-{number}": "y" * 100 for number in range(200)}},
    {},
)


class SpdyPeer(Peer):
    """A misbehaving SPDY/3.1 server; see Peer."""

    def __init__(self, random: Random, streams: tuple[int, int, int]) -> None:
        super().__init__(random, streams)
        self._deflater = zlib.compressobj(zdict=DICTIONARY)

    def settings(self) -> bytes:
        return control(SETTINGS, pack("!III", 1, 4, 100))

    def answered(self, stream_id: int) -> bytes:
        return control(SYN_REPLY, stream_id.to_bytes(4) + self._packed(OK))

    def payload(self, stream_id: int, payload: bytes, *, last: bool) -> bytes:
        return data_frame(stream_id, payload, _FIN if last else 0)

    def ping(self) -> bytes:
        return control(PING, pack("!I", 2))

    def data(self) -> bytes:
        payload = bytes(self._random.choice((0, 1, 64, 1000, 16_384)))
        return data_frame(self.stream(), payload, self._flags())

    def headers(self) -> bytes:
        fields = self._random.choices(_FIELDS, [12] * 3 + [1] * (len(_FIELDS) - 3))[0]
        packed = self._packed(fields) if self._random.random() < 0.97 else self._random.randbytes(40)
        kind = self._random.choices((SYN_REPLY, HEADERS), (3, 1))[0]
        return control(kind, self.stream().to_bytes(4) + packed, self._flags())

    def control(self) -> bytes:
        random, stream_id = self._random, self.stream()
        number = random.choice((0, 1, 2, 2**16, 2**31 - 1, 2**31, 2**32 - 1))
        count = random.choices((0, 1, 2, 100), (1, 8, 1, 1))[0]
        frames: list[Callable[[], bytes]] = [
            lambda: control(PING, pack("!I", number)),
            lambda: control(WINDOW_UPDATE, pack("!II", stream_id, number)),
            lambda: control(SETTINGS, pack("!III", count, random.choice((1, 4, 5, 7, 99)), number)),
            lambda: control(random.choice((5, 10, 11, 4095)), random.randbytes(12)),
            lambda: control(RST_STREAM, pack("!II", stream_id, number)),
            lambda: control(GOAWAY, pack("!II", stream_id, number)),
            lambda: control(SYN_STREAM, pack("!IIH", 2, stream_id, 0) + self._packed(OK)),
        ]
        return random.choices(frames, [8, 8, 8, 8, 1, 1, 1])[0]()

    def anything(self) -> bytes:
        body = self._random.randbytes(self._random.choice((0, 1, 4, 8, 10, 17, 300)))
        if self._random.random() < 0.3:
            return data_frame(self._random.randrange(2**31), body, self._random.randrange(256))
        version = self._random.choices((3, 2, 4, 0x7FFF), (8, 1, 1, 1))[0]
        return control(self._random.choice((*range(12), 0xFFFF)), body, self._random.randrange(256), version)

    def _flags(self) -> int:
        return self._random.choices((0, _FIN, 0xFF), (12, 4, 1))[0]

    def _packed(self, fields: Mapping[str, str]) -> bytes:
        return self._deflater.compress(block(fields)) + self._deflater.flush(zlib.Z_SYNC_FLUSH)
