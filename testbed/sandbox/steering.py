"""Carries out the calls of a session in the guest, which stands still between them.

Reading the clock takes some of its time, and so does a system call that fails; Python reads it for each lock, too. The
programs find the same times as in a run whose schedule has the events of the calls, because this module takes as much
time as `Programs.run` does: when something is heard, before an event and after it, and after the client's start. A call
that only lets time go on takes none.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import repeat
from shlex import join, quote
from threading import Lock
from typing import Self

from priolab.common.errors import LabError
from priolab.testbed.process.jobs import ANSWERS
from priolab.testbed.process.work_folder import PROGRESS
from priolab.testbed.sandbox.alarm import Alarm
from priolab.testbed.sandbox.calls import (
    Answer,
    Call,
    Ends,
    Happen,
    Listens,
    Prints,
    Quiet,
    Send,
    Signal,
    Start,
    Until,
    Wanted,
    read_call,
)
from priolab.testbed.sandbox.events import Events
from priolab.testbed.sandbox.programs import Ended, Programs
from priolab.testbed.sandbox.pty import host_line
from priolab.testbed.sandbox.schedule import Verb
from priolab.testbed.sandbox.spec import Files

_FIRST_LOOK_NS, _LAST_LOOK_NS = 10**6, 10**8
"""The times between looks for a socket that listens: the first, and the longest."""
_LOOKS = 10
"""The number of looks that must find that nothing has been sent or received."""


class _Since(Enum):
    """The reason that stopped the time."""

    INSTANT = "an instant that was asked for"
    SOUND = "something that was heard"
    EVENT = "the same as before the event that was the last call"


class Steering:
    """The calls of a session. A context manager."""

    def __init__(self, files: Files, programs: Programs, events: Events) -> None:
        self._files = files
        self._programs = programs
        self._events = events
        self._stdin: dict[int, int] = {}
        self._call: Call | None = None
        self._is_first = True
        self._now_ns = 0
        self._since = _Since.EVENT
        self._is_over = False
        self._lock = Lock()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._alarm = stack.enter_context(Alarm())
            stack.callback(self._close_all)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _close_all(self) -> None:
        for descriptor in self._stdin.values():
            os.close(descriptor)

    def fileno(self) -> int:
        """Returns the descriptor that is readable when the time of a call is over."""
        return self._alarm.fileno()

    def hear(self) -> None:
        """Hears that the time of a call is over."""
        self._alarm.clear()
        self._is_over = True

    def begin(self) -> None:
        """Tells the lab that the session begins, and waits for its first call."""
        self._call = self._asked(Answer())

    def carry_out(self) -> int:
        """Carries out calls until the lab wants no more; returns the time of the end."""
        self._now_ns = self._programs.began_ns
        while self._call is not None:
            self._call = self._asked(self._answer(self._call))
        return self._now_ns

    def _asked(self, answer: Answer) -> Call | None:
        os.write(1, f"{PROGRESS}{ANSWERS}{answer.text}\n".encode())
        line = host_line().strip()
        return read_call(self._files, int(line)) if line else None

    def _answer(self, call: Call) -> Answer:
        met, reason = True, None
        try:
            met = self._carried_out(call)
        except (LabError, Ended) as error:
            met, reason = False, str(error)
        codes = {number: each.returncode for number, each in self._programs.numbered.items()}
        ended = {number: code for number, code in codes.items() if code is not None}
        return Answer(now_ns=self._now_ns - self._programs.began_ns, met=met, codes=ended, reason=reason)

    def _carried_out(self, call: Call) -> bool:
        """Carries out a call; returns whether what it wants is so."""
        match call:
            case Start():
                self._start(call)
            case Send():
                self._send(call)
            case Signal():
                self._programs.numbered[call.number].send_signal(signal.Signals[call.name])
            case Happen():
                self._read()
                for text in call.texts:
                    self._events.happen(text, self._now_ns)
            case Until():
                return self._wait(call)
        return True

    def _read(self) -> None:
        """Reads the clock before an event, as a run does that has waited for it."""
        if self._since is _Since.INSTANT:
            self._poll()
            time.monotonic_ns()
        if self._since is not _Since.EVENT:
            self._now_ns = time.monotonic_ns()
        self._since, self._is_first = _Since.EVENT, False

    def _poll(self) -> None:
        """Takes the time that Python takes to see that a program goes on (Popen.poll)."""
        with self._lock:
            pass

    def _start(self, call: Start) -> None:
        was_first = self._is_first
        self._read()
        end = None
        if call.stdin:
            end, self._stdin[call.number] = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(self._stdin[call.number], False)
        text = f"{Verb.RUN} {call.host} {quote(join(call.command))}"
        started = partial(self._programs.run_further, call.host, call.command, call.number, end)
        try:
            self._events.note(text, self._now_ns, started)
        finally:
            if end is not None:
                os.close(end)
        if was_first:
            self._poll()
            self._poll()
            self._now_ns = time.monotonic_ns()

    def _send(self, call: Send) -> None:
        pipe = self._stdin.get(call.number)
        if pipe is None:
            raise LabError("the program's standard input has ended")
        if call.data is None:
            os.close(self._stdin.pop(call.number))
            return
        try:
            taken = os.write(pipe, call.data)
        except BrokenPipeError:
            raise LabError("the program reads its standard input no longer") from None
        except BlockingIOError:
            taken = 0
        if taken < len(call.data):
            room = f"of {len(call.data)} bytes {taken} had room"
            raise LabError(f"the program reads too little: {room}; time must go on before the rest")

    def _wait(self, call: Until) -> bool:
        """Lets time go on; returns whether what the call wants is so."""
        until_ns = self._programs.began_ns + call.until_ns
        holds, pauses_ns = self._condition(call.wanted)
        in_vain = partial(self._is_vain, call.wanted)
        while not holds():
            if in_vain() or until_ns <= self._now_ns:
                return False
            if pauses_ns is None:
                self._let_pass(until_ns, lambda: holds() or in_vain())
            else:
                self._let_pass(min(until_ns, self._now_ns + next(pauses_ns)), lambda: False)
        return True

    def _let_pass(self, due_ns: int, stops: Callable[[], bool]) -> None:
        """Lets time go on until then, or until something stops it."""
        self._is_over = False
        self._alarm.set(due_ns)
        until_ns = None if self._since is _Since.INSTANT else due_ns
        now_ns = None if self._since is _Since.SOUND else self._now_ns
        while True:
            self._programs.attend(until_ns, now_ns)
            if self._is_over:
                self._now_ns, self._since = due_ns, _Since.INSTANT
                return
            self._poll()
            read_ns = time.monotonic_ns()
            if stops():
                self._now_ns, self._since = read_ns, _Since.SOUND
                return
            until_ns, now_ns = due_ns, None

    def _condition(self, wanted: Wanted | None) -> tuple[Callable[[], bool], Iterator[int] | None]:
        """Returns whether something is so, as a function, and the times between looks; None if the hosts tell it."""
        programs = self._programs
        match wanted:
            case Ends(number=number):
                return lambda: programs.numbered[number].returncode is not None, None
            case Prints(number=number, host=host, text=text, times=times):
                printed = programs.printed[number or host]
                return lambda: printed.count(text) >= times, None
            case Listens(host=host, port=port):
                return partial(programs.listens, host, port), _growing()
            case Quiet(for_ns=for_ns):
                return partial(self._has_been_quiet, for_ns, _Counts(self._now_ns)), repeat(-(-for_ns // _LOOKS))
        return lambda: False, None

    def _is_vain(self, wanted: Wanted | None) -> bool:
        """True if something can no longer happen."""
        number = wanted.number if isinstance(wanted, Prints) else None
        return number is not None and self._programs.prints_no_more(number)

    def _has_been_quiet(self, for_ns: int, before: "_Counts") -> bool:
        counts = self._programs.counts()
        if counts != before.counts:
            before.counts, before.since_ns = counts, self._now_ns
        return self._now_ns - before.since_ns >= for_ns


@dataclass
class _Counts:
    """The amounts that the hosts have sent and received, and the time since which they are the same."""

    since_ns: int
    counts: Sequence[str] = ()


def _growing() -> Iterator[int]:
    """Yields the times between looks, each twice as long as the one before, up to the longest."""
    pause_ns = _FIRST_LOOK_NS
    while True:
        yield pause_ns
        pause_ns = min(2 * pause_ns, _LAST_LOOK_NS)
