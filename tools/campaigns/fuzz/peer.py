"""A misbehaving server, independent of the protocol.

Each server has its own share of wrong frames, from none to all. Its other frames are those that a correct server would
send, so that a session does not end at once. Most wrong frames have a type of the protocol, but random content and a
random stream. Some are cut off or have changed bytes, and some are random bytes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from random import Random

Maker = Callable[[], bytes]


class Peer(ABC):
    """The frames that a server sends on one connection; subclasses encode the frames of a protocol.

    streams: the ids of the client's first three streams; the first is the page's.
    """

    def __init__(self, random: Random, streams: tuple[int, int, int]) -> None:
        self._random = random
        self._rude = random.choice((0.0, 0.02, 0.2, 1.0))
        self._streams = streams
        self._answers = [self._answer(stream_id) for stream_id in streams]
        self._page_sent = False
        self._begun = False

    def frame(self) -> bytes:
        """Return the next frame."""
        if not self._begun:
            self._begun = True
            if self._random.random() > 0.2 * self._rude:
                return self.settings()
        if self._random.random() > self._rude:
            return self._sensible()
        makers: dict[Maker, int] = {self.data: 8, self.headers: 8, self.control: 5, self.anything: 2, self._broken: 1}
        return self._random.choices(list(makers), list(makers.values()))[0]()

    @abstractmethod
    def settings(self) -> bytes:
        """Return the first frame of a server."""

    @abstractmethod
    def answered(self, stream_id: int) -> bytes:
        """Return the correct response headers of a stream."""

    @abstractmethod
    def payload(self, stream_id: int, payload: bytes, *, last: bool) -> bytes:
        """Return a correct frame of response data."""

    @abstractmethod
    def ping(self) -> bytes:
        """Return a ping, to which the client replies."""

    @abstractmethod
    def data(self) -> bytes:
        """Return a data frame on any stream."""

    @abstractmethod
    def headers(self) -> bytes:
        """Return a headers frame on any stream."""

    @abstractmethod
    def control(self) -> bytes:
        """Return any other frame of the protocol."""

    @abstractmethod
    def anything(self) -> bytes:
        """Return a frame with random type, flags and payload."""

    def stream(self) -> int:
        """Return a stream id, mostly one of the client's."""
        if self._random.random() < 0.93:
            return self._random.choice(self._streams)
        return self._random.choice((0, 2, 7, 9, 2**31 - 1))

    def _sensible(self) -> bytes:
        """Return the frame that a correct server would send next."""
        while self._answers:
            chosen = self._random.choice(self._answers[1:] or self._answers) if self._page_sent else self._answers[0]
            if made := next(chosen, None):
                return made
            self._answers.remove(chosen)
            self._page_sent = True
        return self.ping()

    def _answer(self, stream_id: int) -> Iterator[bytes]:
        yield self.answered(stream_id)
        for _ in range(self._random.randrange(12)):
            yield self.payload(stream_id, bytes(self._random.choice((1, 64, 500))), last=False)
        yield self.payload(stream_id, b"end", last=True)

    def _broken(self) -> bytes:
        """Return a frame with a changed byte, with its end cut off, or with a wrong length."""
        made = bytearray(self._random.choice((self.data, self.headers, self.control))())
        match self._random.randrange(3):
            case 0:
                made[self._random.randrange(len(made))] = self._random.randrange(256)
            case 1:
                del made[self._random.randrange(len(made)) :]
            case _:
                made[:3] = self._random.randbytes(3)
        return bytes(made)
