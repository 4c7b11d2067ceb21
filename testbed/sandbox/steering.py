"""Carries out the calls of a session in the guest, which stands still between them."""

import signal
import subprocess
import time
from contextlib import ExitStack
from typing import Self

from priolab.common.errors import LabError
from priolab.testbed.process.jobs import ANSWERS
from priolab.testbed.process.work_folder import PROGRESS
from priolab.testbed.sandbox.alarm import Alarm
from priolab.testbed.sandbox.calls import Answer, Call, Happen, Send, Signal, Start, Until, read_call
from priolab.testbed.sandbox.events import Events
from priolab.testbed.sandbox.programs import Ended, Programs
from priolab.testbed.sandbox.pty import host_line
from priolab.testbed.sandbox.spec import Files


class Steering:
    """The calls of a session. A context manager."""

    def __init__(self, files: Files, programs: Programs, events: Events) -> None:
        self._files = files
        self._programs = programs
        self._events = events
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._printed: dict[int, bytearray] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._alarm = stack.enter_context(Alarm())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fileno(self) -> int:
        """Returns the descriptor that is readable when the time of a call is over."""
        return self._alarm.fileno()

    def hear(self) -> None:
        """Hears that the time of a call is over."""
        self._alarm.clear()

    def carry_out(self) -> None:
        """Carries out calls until the lab wants no more."""
        answer = Answer(now_ns=0)
        while True:
            print(f"{PROGRESS}{ANSWERS}{answer.text}", flush=True)
            if not (line := host_line().strip()):
                return
            answer = self._answer(read_call(self._files, int(line)))

    def _answer(self, call: Call) -> Answer:
        met, reason = True, None
        try:
            met = self._done(call)
        except (LabError, Ended, OSError) as error:
            met, reason = False, str(error)
        except KeyError as error:
            met, reason = False, f"no program of {error}"
        process = None if isinstance(call, Happen) or call.number is None else self._processes.get(call.number)
        code = None if process is None else process.poll()
        return Answer(now_ns=time.monotonic_ns() - self._programs.began_ns, met=met, code=code, reason=reason)

    def _done(self, call: Call) -> bool:
        match call:
            case Start():
                printed = self._printed[call.number] = bytearray()
                self._processes[call.number] = self._programs.run_further(call.host, call.command, printed)
            case Send():
                stdin = self._processes[call.number].stdin
                assert stdin is not None
                if call.data is None:
                    stdin.close()
                else:
                    stdin.write(call.data)
                    stdin.flush()
            case Signal():
                self._processes[call.number].send_signal(signal.Signals[call.name])
            case Happen():
                self._events.happen(call.text, time.monotonic_ns())
            case Until():
                until_ns = self._programs.began_ns + call.until_ns
                self._alarm.set(until_ns)
                return self._programs.attend_until(lambda: self._holds(call), until_ns)
        return True

    def _holds(self, call: Until) -> bool:
        if call.number is None:
            return False
        if call.text is None:
            return self._processes[call.number].poll() is not None
        return call.text in self._printed[call.number]
