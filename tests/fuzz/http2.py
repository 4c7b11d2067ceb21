"""A front that speaks HTTP/2, more or less.

Most of what it says is what a server could say to this client, so that its frames reach deep; some of it is what no
server may say; and some are bytes.
"""

from collections.abc import Callable, Iterator, Sequence
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


class Peer:
    """The frames of one connection. first: the client's first stream; the page's, and two more follow.

    Some peers are hardly rude at all, so that there are sessions that get far.
    """

    def __init__(self, random: Random, first: int) -> None:
        self._random = random
        self._rude = random.choice((0.0, 0.02, 0.2, 1.0))
        self._streams = (first, first + 2, first + 4)
        self._answers = [self._answer(stream_id) for stream_id in self._streams]
        self._encoder = Encoder()
        self._preface = True
        self._page_sent = False

    def frame(self) -> bytes:
        """The next one, as bytes."""
        if self._preface:
            self._preface = False
            if self._random.random() > 0.2 * self._rude:
                return SettingsFrame(0, settings={3: 100, 4: 65_535}).serialize()
        if self._random.random() > self._rude:
            return self._sensible()
        usual: list[tuple[Callable[[], bytes], int]] = [
            (self._data, 8),
            (self._headers, 8),
            (self._control, 5),
            (self._any, 2),
            (self._broken, 1),
        ]
        makers, weights = zip(*usual, strict=True)
        made: bytes = self._random.choices(makers, weights)[0]()
        return made

    def _sensible(self) -> bytes:
        """What a server would say next."""
        while self._answers:
            chosen = self._random.choice(self._answers[1:] or self._answers) if self._page_sent else self._answers[0]
            if made := next(chosen, None):
                return made
            self._answers.remove(chosen)
            self._page_sent = True
        return PingFrame(0, opaque_data=bytes(8)).serialize()

    def _answer(self, stream_id: int) -> Iterator[bytes]:
        headers = HeadersFrame(stream_id, data=self._encoder.encode(_HEADERS[1]))
        headers.flags.add("END_HEADERS")
        yield headers.serialize()
        for _ in range(self._random.randrange(12)):
            yield DataFrame(stream_id, data=bytes(self._random.choice((1, 64, 500)))).serialize()
        last = DataFrame(stream_id, data=b"end")
        last.flags.add("END_STREAM")
        yield last.serialize()

    def _stream(self) -> int:
        if self._random.random() < 0.93:
            return self._random.choice(self._streams)
        return self._random.choice((0, 2, 7, 9, 2**31 - 1))

    def _flags(self, frame: Frame, *names: str) -> Frame:
        for name in names:
            if self._random.random() < 0.25:
                frame.flags.add(name)
        return frame

    def _data(self) -> bytes:
        frame = DataFrame(max(1, self._stream()), data=bytes(self._random.choice((0, 1, 64, 1000, 16_384))))
        self._flags(frame, "END_STREAM")
        if self._random.random() < 0.1:
            frame.flags.add("PADDED")
            frame.pad_length = self._random.randrange(256)
        return frame.serialize()

    def _headers(self) -> bytes:
        block = self._encoder.encode(self._random.choices(_HEADERS, [12] * 3 + [1] * (len(_HEADERS) - 3))[0])
        stream_id = max(1, self._stream())
        if self._random.random() < 0.9:
            frame = HeadersFrame(stream_id, data=block)
            frame.flags.add("END_HEADERS")
            return self._flags(frame, "END_STREAM").serialize()
        half = len(block) // 2
        first, rest = HeadersFrame(stream_id, data=block[:half]), ContinuationFrame(stream_id, data=block[half:])
        if self._random.random() < 0.8:
            rest.flags.add("END_HEADERS")
        return first.serialize() + rest.serialize()

    def _control(self) -> bytes:
        random, stream_id = self._random, self._stream()
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
        # What ends a connection would end most of them at once if it came as often as the rest.
        return random.choices(frames, [8, 8, 8, 8, 8, 4, 1, 1, 1])[0]().serialize()

    def _any(self) -> bytes:
        """Any type, any flags, any length that is not absurd."""
        body = self._random.randbytes(self._random.choice((0, 1, 4, 5, 8, 17, 300)))
        head = bytes([self._random.choice((*range(12), 16, 255)), self._random.randrange(256)])
        return len(body).to_bytes(3) + head + self._stream().to_bytes(4) + body

    def _broken(self) -> bytes:
        """A frame with a byte that is another, or cut off, or that says to be larger than it is."""
        made = bytearray(self._random.choice((self._data, self._headers, self._control))())
        match self._random.randrange(3):
            case 0:
                made[self._random.randrange(len(made))] = self._random.randrange(256)
            case 1:
                del made[self._random.randrange(len(made)) :]
            case _:
                made[:3] = self._random.randbytes(3)
        return bytes(made)
