"""The ferry's process: takes packets out of the loops, and puts each back when its time has come.

It sleeps in select(2) until the next departure and never spins, so that it can also live under a clock that stands
still while anybody works. Readiness is the existence of its socket.
"""

import ctypes
import gc
import json
import os
import select
import signal
import socket
import time
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self, TextIO

from netem.ferry import loops
from netem.ferry.direction import Direction
from netem.ferry.ring import Ring
from netem.link import Link

_BATCH = 32  # packets before the other direction has its turn
_NEVER_NS = 2**63
_ASK_TIMEOUT_S = 5.0
_SLOW_BIT_S = 100 * 10**6
_PR_SET_TIMERSLACK = 29
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a ferry is told to do. socket: where it answers `ask`.

    journal: the file of queue lengths, written every interval_ns at most; None leaves it empty.
    """

    link: Link
    seed: int
    journal: Path
    interval_ns: int | None
    socket: Path

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError if it is not an order."""
        try:
            document = json.loads(text)
            return cls(
                link=Link(**document["link"]),
                seed=int(document["seed"]),
                journal=Path(document["journal"]),
                interval_ns=document["interval_ns"],
                socket=Path(document["socket"]),
            )
        except KeyError as error:
            raise ValueError(f"the order has no {error}") from None
        except TypeError as error:
            raise ValueError(f"not an order: {error}") from None

    def to_json(self) -> str:
        """The order as `from_json` reads it."""
        return json.dumps(asdict(self), default=str)


def ask(path: Path, timeout_s: float = _ASK_TIMEOUT_S) -> dict[str, dict[str, int]]:
    """What a running ferry has done, by direction; its journal is complete up to then. Raises OSError.

    `Counters` and `Queue` in netem/ferry/direction.py say what most figures count; the queue is the one of this moment.
    kernel_drops: packets lost between the kernel and the ferry, which should be 0. lateness_*_ns: how long after its
    departure in the model a packet was written; p50 and p99 in whole microseconds, -1 before the first.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        with _short(path) as name:
            connection.connect(name)
        with connection.makefile("rb") as stream:
            answer: dict[str, dict[str, int]] = json.load(stream)
    return answer


class Lateness:
    """How late packets were: percentiles to the microsecond up to 20 ms, beyond that the longest."""

    _BUCKETS = 20_000

    def __init__(self) -> None:
        self._counts = array("Q", bytes(8 * self._BUCKETS))
        self._total = 0
        self._longest_ns = -1

    def add(self, late_ns: int) -> None:
        """One packet's."""
        if late_ns < self._BUCKETS * 1000:
            self._counts[max(0, late_ns) // 1000] += 1
        self._total += 1
        self._longest_ns = max(self._longest_ns, late_ns)

    def percentile_ns(self, percent: int) -> int:
        """So many percent of the packets were no later than this; -1 if there was none."""
        wanted = -(-self._total * percent // 100)
        for microseconds, count in enumerate(self._counts):
            wanted -= count
            if self._total and wanted <= 0:
                return min(microseconds * 1000 + 999, self._longest_ns)
        return self._longest_ns


class _Lane:
    """One direction at work."""

    def __init__(self, direction: str, model: Direction, ring: Ring, journal: TextIO, interval_ns: int | None) -> None:
        self.ring = ring
        self._direction = direction
        self._model = model
        self._journal = journal
        self._lateness = Lateness()
        self._interval_ns = interval_ns
        self._next_line_ns = _NEVER_NS if interval_ns is None else 0
        self._line = asdict(model.queue(0)) | {"dropped": 0}

    @property
    def wake_ns(self) -> int | None:
        """When there is something to do at the latest, if no packet comes."""
        next_ns = self._model.next_ns
        if next_ns is not None:
            return min(next_ns, self._next_line_ns)
        return self._next_line_ns if self._line["packets"] or self._line["delay_line_packets"] else None

    def carry(self) -> int:
        """Take in what is there, write what is due; how many packets that were."""
        model, ring, lateness = self._model, self.ring, self._lateness
        arrived = ring.read(_BATCH)
        for arrival_ns, frame in arrived:
            model.arrive(arrival_ns, frame)
        written = 0
        for departure_ns, frame in islice(model.due(time.monotonic_ns()), _BATCH):
            ring.write(frame)
            lateness.add(time.monotonic_ns() - departure_ns)
            written += 1
        return len(arrived) + written

    def write_line(self, now_ns: int) -> None:
        """A line of the journal, if one is due and anything has changed."""
        if now_ns < self._next_line_ns:
            return
        line = asdict(self._model.queue(now_ns)) | {"dropped": self._model.counters.dropped}
        if line != self._line:
            self._journal.write(json.dumps({"t_ns": now_ns, "direction": self._direction} | line) + "\n")
            self._line = line
        self._next_line_ns = now_ns + (self._interval_ns or _NEVER_NS)

    def report(self, now_ns: int) -> dict[str, int]:
        """See `ask`."""
        return {
            **asdict(self._model.queue(now_ns)),
            **asdict(self._model.counters),
            "kernel_drops": self.ring.drops(),
            "lateness_p50_ns": self._lateness.percentile_ns(50),
            "lateness_p99_ns": self._lateness.percentile_ns(99),
            "lateness_max_ns": self._lateness.percentile_ns(100),
        }


def run(order: Order) -> None:
    """Be the ferry of this place until SIGTERM or SIGINT. Raises OSError and NotSetUp."""
    with ExitStack() as stack:
        signals = stack.enter_context(_signals())
        journal = stack.enter_context(order.journal.open("w", encoding="utf-8"))
        models = {loops.DOWN: Direction.down(order.link, order.seed), loops.UP: Direction.up(order.link, order.seed)}
        lanes = {
            loop.direction: _Lane(
                loop.direction, models[loop], stack.enter_context(Ring(loop.ferry_end)), journal, order.interval_ns
            )
            for loop in loops.needed(order.link)
        }
        _prepare(order.link)
        listener = stack.enter_context(_listening(order.socket))
        _carry(lanes, journal, listener, signals)


def _carry(lanes: dict[str, _Lane], journal: TextIO, listener: socket.socket, signals: socket.socket) -> None:
    inputs = [signals.fileno(), listener.fileno(), *(lane.ring.socket.fileno() for lane in lanes.values())]
    while True:
        wake_ns = min((lane.wake_ns for lane in lanes.values() if lane.wake_ns is not None), default=None)
        patience_s = None if wake_ns is None else max(0, wake_ns - time.monotonic_ns()) / 10**9
        readable = select.select(inputs, [], [], patience_s)[0]
        for lane in lanes.values():
            if not lane.carry() and lane.ring.socket.fileno() in readable:
                lane.ring.check()
            lane.write_line(time.monotonic_ns())
        if listener.fileno() in readable:
            journal.flush()
            _answer(listener, {name: lane.report(time.monotonic_ns()) for name, lane in lanes.items()})
        if signals.fileno() in readable:
            return


def _answer(listener: socket.socket, document: dict[str, Any]) -> None:
    # Who asks and goes away, or does not listen, must not stop the ferry; a document fits into any socket's buffer.
    with suppress(OSError), closing(listener.accept()[0]) as connection:
        connection.settimeout(0)
        connection.sendall(json.dumps(document).encode())


def _prepare(link: Link) -> None:
    """Wake up on time, and do not stop to look for garbage: nothing here refers to itself.

    On a machine with no idle processor, packets of an ordinary process are now and then milliseconds late; so this one
    comes before others where it may. Not on fast links, where it would leave them too little of the processor.
    """
    _libc.prctl(_PR_SET_TIMERSLACK, 1)
    if link.rate_bit_s is not None and link.rate_bit_s <= _SLOW_BIT_S:
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    gc.collect()
    gc.freeze()
    gc.disable()


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name of the same place: an address of AF_UNIX holds 107 bytes (unix(7)), a temporary folder's path may not."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        unready = path.with_name(f"{path.name}.unready")
        try:
            with _short(unready) as name:
                listener.bind(name)
            listener.listen()
            listener.settimeout(0)
            unready.rename(path)
            yield listener
        finally:
            unready.unlink(missing_ok=True)
            path.unlink(missing_ok=True)


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """A socket that becomes readable when the process is told to end."""
    reading, writing = socket.socketpair()
    with reading, writing:
        writing.settimeout(0)
        before = signal.set_wakeup_fd(writing.fileno())
        handlers = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield reading
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before)
