"""The ferry's process: takes packets out of the loops (netem/ferry/loops.py) and puts each packet back when it is due.

The process sleeps in select(2) until the next departure and never polls the clock. So the ferry also works in a guest,
whose clock stands still while a program computes. The ferry is ready as soon as its socket exists.
"""

import ctypes
import gc
import json
import os
import select
import socket
import time
from array import array
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self, TextIO

from priolab.common.formats.samples import queue_line
from priolab.netem import control
from priolab.netem.changes import RateChanges, beside
from priolab.netem.control import BEGIN
from priolab.netem.ferry import loops
from priolab.netem.ferry.direction import Direction
from priolab.netem.ferry.ring import Ring
from priolab.netem.link import Link

_BATCH = 32  # the most packets of a direction before it is the other direction's turn
_NEVER_NS = 2**63
_ASK_TIMEOUT_S = 5.0
_SLOW_BIT_S = 100 * 10**6
_PR_SET_TIMERSLACK = 29
_NOT_NICE = -20
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Order:
    """The ferry's configuration. seed: the seed of the random numbers.

    socket: the path of the socket at which the ferry reports its counters. journal: the file for samples of the queues,
    one per interval_ns at most. The file stays empty if interval_ns is None. Rate steps are recorded in a second file
    in the same folder. ipv6: True to carry packets of IPv6, too.
    """

    link: Link
    seed: int
    journal: Path
    interval_ns: int | None
    socket: Path
    ipv6: bool = False

    @property
    def begin(self) -> Path:
        """The path of the socket that receives the time at which the measured load began (netem/control.py)."""
        return self.socket.with_name(BEGIN.name)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads the output of `to_json`. Raises ValueError if the text is not an order."""
        try:
            document = json.loads(text)
            return cls(
                link=Link.from_document(document["link"]),
                seed=int(document["seed"]),
                journal=Path(document["journal"]),
                interval_ns=document["interval_ns"],
                socket=Path(document["socket"]),
                ipv6=bool(document.get("ipv6")),
            )
        except KeyError as error:
            raise ValueError(f"the order has no {error}") from None
        except TypeError as error:
            raise ValueError(f"not an order: {error}") from None

    def to_json(self) -> str:
        """Returns the order as JSON, for `from_json`."""
        return json.dumps(vars(self) | {"link": self.link.as_document()}, default=str)


def ask(path: Path, timeout_s: float = _ASK_TIMEOUT_S) -> dict[str, dict[str, int]]:
    """Asks a running ferry for its counters and its present queues, by direction. Raises OSError.

    path: the path of the ferry's socket.
    Most keys are the fields of `Counters` (netem/ferry/direction.py) and of `QueueContents`. kernel_drops: packets lost
    between the kernel and the ferry; it should be 0. lateness_p50_ns, lateness_p99_ns, lateness_max_ns: median, 99th
    percentile and maximum of the time between a packet's departure in the model and its write; -1 before the first
    packet.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        with control.short(path) as name:
            connection.connect(name)
        with connection.makefile("rb") as stream:
            answer: dict[str, dict[str, int]] = json.load(stream)
    return answer


class Lateness:
    """The distribution of the packets' lateness: the time between a departure in the model and the ferry's write.

    A percentile below 20 ms is rounded up by 1 us at most. In place of a larger percentile, the maximum is returned.
    """

    _BUCKETS = 20_000

    def __init__(self) -> None:
        self._counts = array("Q", bytes(8 * self._BUCKETS))
        self._total = 0
        self._longest_ns = -1

    def add(self, late_ns: int) -> None:
        """Adds a packet's lateness."""
        if late_ns < self._BUCKETS * 1000:
            self._counts[max(0, late_ns) // 1000] += 1
        self._total += 1
        self._longest_ns = max(self._longest_ns, late_ns)

    def percentile_ns(self, percent: int) -> int:
        """Returns the percentile of the lateness; -1 without packets."""
        wanted = -(-self._total * percent // 100)
        for microseconds, count in enumerate(self._counts):
            wanted -= count
            if self._total and wanted <= 0:
                return min(microseconds * 1000 + 999, self._longest_ns)
        return self._longest_ns


class _Lane:
    """Carries the packets of a direction between the ring and the model, and writes the journal's lines."""

    def __init__(self, direction: str, model: Direction, ring: Ring, journal: TextIO, interval_ns: int | None) -> None:
        self.ring = ring
        self._direction = direction
        self._model = model
        self._journal = journal
        self._lateness = Lateness()
        self._interval_ns = interval_ns
        self._next_line_ns = _NEVER_NS if interval_ns is None else 0
        self._line = model.queue(0)

    @property
    def wake_ns(self) -> int | None:
        """The latest time at which the method `carry` must be called next if no packet arrives.

        None if no packet and no journal line is due.
        """
        next_ns = self._model.next_ns
        if next_ns is not None:
            return min(next_ns, self._next_line_ns)
        return self._next_line_ns if self._line.packets or self._line.delay_line_packets else None

    def carry(self) -> int:
        """Takes arrived packets into the model, and writes due packets.

        Returns how many packets were taken and written in total.
        """
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
        """Writes a line of the journal if a sample is due and the contents have changed."""
        if now_ns < self._next_line_ns:
            return
        line = self._model.queue(now_ns)
        if line != self._line:
            self._journal.write(queue_line(now_ns, self._direction, line) + "\n")
            self._line = line
        self._next_line_ns = now_ns + (self._interval_ns or _NEVER_NS)

    def report(self, now_ns: int) -> dict[str, int]:
        """Returns this direction's counters and present queue; the function `ask` describes the keys."""
        return {
            **asdict(self._model.queue(now_ns)),
            **asdict(self._model.counters),
            "kernel_drops": self.ring.drops(),
            "lateness_p50_ns": self._lateness.percentile_ns(50),
            "lateness_p99_ns": self._lateness.percentile_ns(99),
            "lateness_max_ns": self._lateness.percentile_ns(100),
        }


def run(order: Order) -> None:
    """Runs the ferry in this place until SIGTERM or SIGINT. Raises OSError and NotSetUp."""
    with ExitStack() as stack:
        signals = stack.enter_context(control.signals())
        begin = stack.enter_context(control.bound(socket.SOCK_DGRAM, order.begin))
        journal = stack.enter_context(order.journal.open("w", encoding="utf-8"))
        models = {loops.DOWN: Direction.down(order.link, order.seed), loops.UP: Direction.up(order.link, order.seed)}
        lanes = {
            loop.direction: _Lane(
                loop.direction,
                models[loop],
                stack.enter_context(Ring(loop.ferry_end, ipv6=order.ipv6)),
                journal,
                order.interval_ns,
            )
            for loop in loops.needed(order.link)
        }
        # The model makes the steps itself; RateChanges only records them.
        changes = stack.enter_context(RateChanges(order.link.rate_steps, None, beside(order.journal)))
        _prepare(order.link)
        listener = stack.enter_context(control.bound(socket.SOCK_STREAM, order.socket))
        inputs = _Inputs(signals=signals, begin=begin, listener=listener)
        _carry(lanes, journal, inputs, [models[loops.DOWN], models[loops.UP]], changes)


@dataclass(frozen=True, kw_only=True)
class _Inputs:
    """The sockets that the ferry reads. signals: for the signals that end the ferry.

    begin: for the time at which the measured load began. listener: for programs that ask for the counters.
    """

    signals: socket.socket
    begin: socket.socket
    listener: socket.socket


def _carry(
    lanes: dict[str, _Lane], journal: TextIO, inputs: _Inputs, models: Sequence[Direction], changes: RateChanges
) -> None:
    """Carries packets until a signal comes. models: the directions, the one toward the client first."""
    waited_for = [*vars(inputs).values(), *(lane.ring.socket for lane in lanes.values())]
    while True:
        wakes_ns = [changes.next_ns, *(lane.wake_ns for lane in lanes.values())]
        wake_ns = min((wake_ns for wake_ns in wakes_ns if wake_ns is not None), default=None)
        patience_s = None if wake_ns is None else max(0, wake_ns - time.monotonic_ns()) / 10**9
        readable = select.select(waited_for, [], [], patience_s)[0]
        told = control.told(inputs.begin) if inputs.begin in readable else ""
        if told.startswith("{"):
            for lane in lanes.values():
                lane.carry()  # what arrived before passes the link as it was
            later = Link.from_document(json.loads(told))
            for model, way in zip(models, (later, later.reverse), strict=True):
                model.become(way, time.monotonic_ns())
        elif told:
            began_ns = int(told)
            for at_ns, rate_bit_s in changes.begin(began_ns):
                models[0].change(at_ns, rate_bit_s)
            for model in models:
                model.replay(began_ns)
        changes.look(time.monotonic_ns())
        for lane in lanes.values():
            if not lane.carry() and lane.ring.socket in readable:
                lane.ring.check()
            lane.write_line(time.monotonic_ns())
        if inputs.listener in readable:
            journal.flush()
            _answer(inputs.listener, {name: lane.report(time.monotonic_ns()) for name, lane in lanes.items()})
        if inputs.signals in readable:
            return


def _answer(listener: socket.socket, document: dict[str, Any]) -> None:
    # A caller that closes the connection or does not read must not stop the ferry. The document fits into any socket
    # buffer.
    with suppress(OSError), closing(listener.accept()[0]) as connection:
        connection.settimeout(0)
        connection.sendall(json.dumps(document).encode())


def come_before_others() -> None:
    """Gives this process real-time priority if allowed, else the lowest niceness if allowed, else changes nothing."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, _NOT_NICE)


def _prepare(link: Link) -> None:
    """Makes wake-ups punctual, and turns off garbage collection, because the ferry makes no reference cycles.

    On a machine without an idle processor an ordinary process is sometimes milliseconds late, so the ferry raises its
    priority if it may. A container often may not have real-time priority (RT_GROUP_SCHED) but may have the lowest
    niceness, which is nearly as good. On links above 100 Mbit/s the priority stays unchanged, because the ferry would
    take too much of the processor.
    """
    _libc.prctl(_PR_SET_TIMERSLACK, 1)
    if link.rates_bit_s and max(link.rates_bit_s) <= _SLOW_BIT_S:
        come_before_others()
    gc.collect()
    gc.freeze()
    gc.disable()
