"""A misbehaving HTTP/2 server."""

from collections.abc import Callable, Sequence
from random import Random

from hpack import Encoder
from hyperframe.frame import (
    AltSvcFrame,
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from tools.campaigns.fuzz.peer import Peer

_SETTINGS = (1, 2, 3, 4, 5, 6, 8, 9, 77)
_HEADERS: Sequence[Sequence[tuple[str, str]]] = (
    [(":status", "200"), ("content-length", "64")],
    [(":status", "200")],
    [(":status", "200"), ("priority", "u=1")],
    [(":status", "103"), ("link", "</style.css>")],
    [(":status", "404")],
    [(":status", "000")],
    [(":status", "\u00e9")],
    [("content-type", "text/html")],
    [(":status", "200"), (":status", "200")],
    [("Content-Type", "text/html"), (":status", "200")],
    [(":path", "/"), (":status", "200")],
    [(":status", "200"), ("connection", "close")],
    [(":status", "200"), *(("x", "y" * 500) for _ in range(200))],
    [(":status", "200"), ("x" * 20_000, "y")],
    [],
)


class Http2Peer(Peer):
    """A misbehaving HTTP/2 server; see Peer."""

    def __init__(self, random: Random, streams: tuple[int, int, int]) -> None:
        super().__init__(random, streams)
        self._encoder = Encoder()

    def settings(self) -> bytes:
        return SettingsFrame(0, settings={3: 100, 4: 65_535}).serialize()

    def answered(self, stream_id: int) -> bytes:
        frame = HeadersFrame(stream_id, data=self._encoder.encode(_HEADERS[1]))
        frame.flags.add("END_HEADERS")
        return frame.serialize()

    def payload(self, stream_id: int, payload: bytes, *, last: bool) -> bytes:
        frame = DataFrame(stream_id, data=payload)
        if last:
            frame.flags.add("END_STREAM")
        return frame.serialize()

    def ping(self) -> bytes:
        return PingFrame(0, opaque_data=bytes(8)).serialize()

    def data(self) -> bytes:
        frame = DataFrame(max(1, self.stream()), data=bytes(self._random.choice((0, 1, 64, 1000, 16_384))))
        self._flags(frame, "END_STREAM")
        if self._random.random() < 0.1:
            frame.flags.add("PADDED")
            frame.pad_length = self._random.randrange(256)
        return frame.serialize()

    def headers(self) -> bytes:
        block = self._encoder.encode(self._random.choices(_HEADERS, [12] * 3 + [1] * (len(_HEADERS) - 3))[0])
        stream_id = max(1, self.stream())
        if self._random.random() < 0.9:
            frame = HeadersFrame(stream_id, data=block)
            frame.flags.add("END_HEADERS")
            return self._flags(frame, "END_STREAM").serialize()
        half = len(block) // 2
        first, rest = HeadersFrame(stream_id, data=block[:half]), ContinuationFrame(stream_id, data=block[half:])
        if self._random.random() < 0.8:
            rest.flags.add("END_HEADERS")
        return first.serialize() + rest.serialize()

    def control(self) -> bytes:
        random, stream_id = self._random, self.stream()
        number = random.choice((0, 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1))
        frames: list[Callable[[], Frame]] = [
            lambda: PingFrame(0, opaque_data=random.randbytes(8)),
            lambda: WindowUpdateFrame(stream_id, window_increment=max(1, number % 2**31)),
            lambda: SettingsFrame(0, settings={random.choice(_SETTINGS): number}),
            lambda: self._flags(SettingsFrame(0), "ACK"),
            lambda: PriorityFrame(max(1, stream_id), depends_on=3, stream_weight=9),
            lambda: AltSvcFrame(0, origin=b"maps.test", field=b'h3=":443"'),
            lambda: RstStreamFrame(max(1, stream_id), error_code=number),
            lambda: GoAwayFrame(0, last_stream_id=number % 2**31, error_code=number, additional_data=b"why"),
            lambda: PushPromiseFrame(max(1, stream_id), promised_stream_id=2, data=b"\x88"),
        ]
        # Frames that end the connection are rare, because otherwise most sessions would be short.
        return random.choices(frames, [8, 8, 8, 8, 8, 4, 1, 1, 1])[0]().serialize()

    def anything(self) -> bytes:
        body = self._random.randbytes(self._random.choice((0, 1, 4, 5, 8, 17, 300)))
        head = bytes([self._random.choice((*range(12), 16, 255)), self._random.randrange(256)])
        return len(body).to_bytes(3) + head + self.stream().to_bytes(4) + body

    def _flags(self, frame: Frame, *names: str) -> Frame:
        for name in names:
            if self._random.random() < 0.25:
                frame.flags.add(name)
        return frame
