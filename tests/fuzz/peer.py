"""The parts that misbehaving fronts of all protocols share.

Most of what they say is what a server could say to this client, so that its frames reach deep; some of it is what no
server may say; and some are bytes. Some are hardly rude at all, so that there are sessions that get far.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from random import Random

Maker = Callable[[], bytes]


class Peer(ABC):
    """The frames of one connection. streams: the client's first three, of which the first is the page's.

    Subclasses say how frames are made in their protocol.
    """

    def __init__(self, random: Random, streams: tuple[int, int, int]) -> None:
        self._random = random
        self._rude = random.choice((0.0, 0.02, 0.2, 1.0))
        self._streams = streams
        self._answers = [self._answer(stream_id) for stream_id in streams]
        self._page_sent = False
        self._begun = False

    def frame(self) -> bytes:
        """The next one, as bytes."""
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
        """How a server begins."""

    @abstractmethod
    def answered(self, stream_id: int) -> bytes:
        """Headers as they should be."""

    @abstractmethod
    def payload(self, stream_id: int, payload: bytes, *, last: bool) -> bytes:
        """A frame of data as it should be."""

    @abstractmethod
    def ping(self) -> bytes:
        """Harmless, and answered."""

    @abstractmethod
    def data(self) -> bytes:
        """A frame of data, of any stream."""

    @abstractmethod
    def headers(self) -> bytes:
        """Headers, of any stream."""

    @abstractmethod
    def control(self) -> bytes:
        """Any other frame of the protocol."""

    @abstractmethod
    def anything(self) -> bytes:
        """Any type, any flags, any length that is not absurd."""

    def stream(self) -> int:
        """Mostly one of the client's."""
        if self._random.random() < 0.93:
            return self._random.choice(self._streams)
        return self._random.choice((0, 2, 7, 9, 2**31 - 1))

    def _sensible(self) -> bytes:
        """What a server would say next."""
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
        """A frame with a byte that is another, or cut off, or that says to be larger than it is."""
        made = bytearray(self._random.choice((self.data, self.headers, self.control))())
        match self._random.randrange(3):
            case 0:
                made[self._random.randrange(len(made))] = self._random.randrange(256)
            case 1:
                del made[self._random.randrange(len(made)) :]
            case _:
                made[:3] = self._random.randbytes(3)
        return bytes(made)
