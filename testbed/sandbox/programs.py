"""Runs the programs of a spec in their hosts, hears what they write, and waits for the client's end.

In a guest this process comes before the programs, under SCHED_FIFO: it hears at once what one writes, and ends one that
reads the clock again and again. The programs take turns (SCHED_RR): one that asks for the time without a rest, as
iperf3 does while it waits for its server, leaves the processor to the others after a tick of the guest's clock. A
program that spins without reading the clock stops the clock, and this process with it.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from priolab.common.descriptors import process_ids, stat
from priolab.common.process.processes import set_back
from priolab.netem.interface_counters import read_counts
from priolab.testbed.guest.guest_start import set_seed
from priolab.testbed.sandbox import hints
from priolab.testbed.sandbox.daemons import foreground
from priolab.testbed.sandbox.filesystem import View
from priolab.testbed.sandbox.oom import like_others
from priolab.testbed.sandbox.outcome import Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame, OutputWriter
from priolab.testbed.sandbox.pty import Pty
from priolab.testbed.sandbox.samples import Pace, SocketJournal
from priolab.testbed.sandbox.spec import AT_ONCE, CLIENT, LISTENS, SERVER, Files, SandboxSpec
from priolab.testbed.topology.active import ActiveLink, Look
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.topology import WIRE

_ATTENTIVE, _USUAL = 2, 1
"""Priorities: of this process, which hears at once what a program writes, and of the programs."""
_LONGEST_TURN = Path("/proc/sys/kernel/sched_rr_timeslice_ms")
_TICK_MS = 10
_CHUNK_BYTES = 2**16
_LISTEN_NS = 30 * 10**9
_FIRST_LOOK_NS, _LAST_LOOK_NS = 10**6, 10**8
_STOP_NS = 5 * 10**9
_MOMENT_S = 1e-6
_START_NS = 10**7
"""Programs start at multiples of this time."""
_LISTENING, _BOUND = "0A", "07"  # states in /proc/net/tcp and /proc/net/udp (<net/tcp_states.h>)
_TABLES = (("tcp", _LISTENING), ("udp", _BOUND), ("tcp6", _LISTENING), ("udp6", _BOUND))


class Heard(Protocol):
    """Something beside the programs to which this process listens."""

    def fileno(self) -> int:
        """Returns the descriptor that is readable when there is something."""

    def hear(self) -> None:
        """Hears it."""


class Steers(Protocol):
    """Somebody who says what happens (steering.py)."""

    def begin(self) -> None:
        """Tells that the hosts are there, and waits for what is wanted first."""

    def carry_out(self) -> int:
        """Carries out what is wanted; returns the time of the end. Raises Ended."""


class Ended(Exception):
    """The sandbox has ended before the client did."""

    def __init__(self, ending: Ending, reason: str) -> None:
        self.ending = ending
        super().__init__(reason)


class Programs:
    """The programs of all hosts, and this process's attention to them. began_ns: when the client started.

    numbered: those that a session has started, by their numbers. printed: what the programs of a session have printed
    so far, by their hosts, and by their numbers.
    """

    def __init__(
        self, spec: SandboxSpec, files: Files, said: OutputWriter, hosts: dict[str, Namespace], view: View, back_s: int
    ) -> None:
        """said: for what the programs write. view: their files. back_s: how far their monotonic clock is set back."""
        self._back_s = back_s
        self._spec = spec
        self._files = files
        self._said = said
        self._hosts = hosts
        self._view = view
        self._environment = {**spec.environment, "HOME": view.home}
        self.began_ns, self._has_begun = time.monotonic_ns(), False
        self._looks: Sequence[Look] = ()
        self._pty: Pty | None = None
        self._selector = selectors.DefaultSelector()
        self._last = dict.fromkeys(hosts, b"")
        self._commands: dict[str, Sequence[str]] = {**spec.companions, CLIENT: spec.client}
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._all: list[subprocess.Popen[bytes]] = []
        self._halted: set[str] = set()
        self._of_lab = {*process_ids()} if spec.schedule or spec.steered else set()
        self._numbers: dict[str, int] = {}
        self.numbered: dict[int, subprocess.Popen[bytes]] = {}
        self.printed: defaultdict[str | int, bytearray] = defaultdict(bytearray)

    def run(
        self,
        links: Sequence[ActiveLink],
        heard: Sequence[Heard],
        journal: SocketJournal | None,
        looks: Sequence[Look] = (),
        steering: Steers | None = None,
    ) -> Outcome:
        """Runs the server, the further programs and the client, until the client ends or a limit is over.

        heard: to what else to listen meanwhile. journal: for samples of the sockets; None for none. looks: called from
        the client's start on. steering: what happens instead of the client's start and end.
        """
        self._take_precedence()
        for each in heard:
            self._selector.register(each, selectors.EVENT_READ, each.hear)
        code, ending, reason, clock_ns, ended_ns = None, Ending.ENDED, None, 0, None
        try:
            self._begin_random_numbers()
            self._settle()
            for name in self._spec.companions:
                self._wait_for(name, self._start_command(name))
            if steering:
                steering.begin()
            self._settle()
            clock_ns, self.began_ns, self._has_begun = time.time_ns(), time.monotonic_ns(), True
            for link in links:
                link.begin(self.began_ns)
            self._looks = self._looks_at(links, journal)
            if self._spec.terminal is not None:
                self._pty = Pty(self._spec, self._files, self._selector, partial(self._heard, CLIENT, "out"))
                self._looks = (*self._looks, self._pty.look)
            if not steering:
                self._start_command(CLIENT)
            self._looks = (*self._looks, *looks)
            if steering:
                ended_ns = steering.carry_out()
            else:
                code = self._until_the_client_ends(self.began_ns + self._spec.limit_ns)
            if code is None and not steering:
                limit_s = self._spec.limit_ns / 10**9
                raise Ended(Ending.LIMIT, f"the client did not end within {limit_s:g} s (--limit)")
        except Ended as ended:
            ending, reason = ended.ending, str(ended)
        duration_ns = (ended_ns or time.monotonic_ns()) - self.began_ns
        found = [*hints.of_state(self._hosts, failed=code != 0 and not steering)]
        self._looks = ()
        codes = {} if self._spec.is_pair else _codes(self._started)
        for host in sorted(self._halted):
            self._signal_all(host, signal.SIGCONT)
        server = self._started.get(SERVER)
        others = (each for each in reversed(self._all) if each is not server)
        for process in filter(None, (*others, server)):
            self._stop(process)
        if self._pty:
            self._pty.settle()
        self._drain()
        for link in links:
            link.check_alive()
        found += hints.of_words(self._last, self._spec.open_files, ipv6=self._spec.ipv6)
        told = Outcome(ending=ending, reason=reason, code=code, duration_ns=duration_ns, clock_ns=clock_ns, codes=codes)
        return replace(told, hints=found)

    def _looks_at(self, links: Sequence[ActiveLink], journal: SocketJournal | None) -> Sequence[Look]:
        looks = [each.look for each in links]
        if journal is None:
            return looks
        steps = [step.at_ns for each in self._spec.ways.values() for step in each.link.rate_steps]
        steps_ns = [self.began_ns + at_ns for at_ns in steps]
        return [Pace(journal, [*looks, journal.look], self._hosts.values(), self._selector, steps_ns).look]

    def kill(self, host: str, name: str | None = None) -> None:
        """Ends all programs of a host by SIGKILL; or sends the process of its command the signal of this name."""
        if name is None:
            self._halted.discard(host)
            self._signal_all(host, signal.SIGKILL)
        elif (process := self._started.get(host)) is not None:
            process.send_signal(signal.Signals[name])

    def restart(self, host: str) -> None:
        """Ends all programs of a host, and starts its command anew. Raises Ended if it cannot be started.

        A host without a command of its own has that of the last program which a session started there.
        """
        self.kill(host)
        self._started[host].wait()
        while self._process_ids(host):
            time.sleep(_MOMENT_S)
        self._start_command(host)

    def run_further(self, host: str, command: Sequence[str], number: int = 0, stdin: int | None = None) -> None:
        """Starts a further program on a host. Raises Ended if it cannot be started.

        number: of a program that a session starts. stdin: the end of a pipe, for its standard input.
        """
        process = self._start(host, command, number, stdin)
        self._all.append(process)
        if number and host not in self._spec.companions:
            self._commands[host], self._started[host], self._numbers[host] = command, process, number
        if number:
            self._number(number, process)

    def _number(self, number: int, process: subprocess.Popen[bytes]) -> None:
        self.numbered[number], ended = process, os.pidfd_open(process.pid)

        def hear() -> bool:
            if process.returncode is None:  # poll() would take time
                process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
            self._selector.unregister(ended)
            os.close(ended)
            return True

        self._selector.register(ended, selectors.EVENT_READ, hear)

    def halt(self, host: str, *, on: bool) -> None:
        """Makes all programs of a host stand still, or go on."""
        self._halted = self._halted | {host} if on else self._halted - {host}
        self._signal_all(host, signal.SIGSTOP if on else signal.SIGCONT)

    def _signal_all(self, host: str, number: signal.Signals) -> None:
        for pid in self._process_ids(host):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _process_ids(self, host: str) -> list[int]:
        """Returns the processes of a host's programs, in the order of their numbers."""
        place = os.fstat(self._hosts[host].descriptor).st_ino
        found = []
        for pid in sorted({*process_ids()} - self._of_lab):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/ns/net").stat().st_ino == place:
                    found.append(pid)
        return found

    def _start_command(self, host: str) -> subprocess.Popen[bytes]:
        number = self._numbers.get(host, 0)
        process = self._started[host] = self._start(host, self._commands[host], number)
        self._all.append(process)
        if number:
            self._number(number, process)
        return process

    def _until_the_client_ends(self, until_ns: int) -> int | None:
        """Waits for the end of a client that is not started anew; returns as `_until_it_ends`."""
        while True:
            client = self._started[CLIENT]
            code = self._until_it_ends(client, until_ns)
            if code is None or client is self._started[CLIENT]:
                return code

    def _take_precedence(self) -> None:
        if self._spec.isolated and not self._spec.fair:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_ATTENTIVE))
            _LONGEST_TURN.write_text(f"{_TICK_MS}")

    def _begin_random_numbers(self) -> None:
        """Makes the programs' random numbers follow from the seed alone, in a guest.

        Before, the kernel draws one for each file that is made in memory: for each entry of this machine's root folder,
        and for each folder above the current one.
        """
        if self._spec.isolated:
            set_seed(self._spec.seed)

    def _settle(self) -> None:
        """Waits for the next hundredth of a second, in a guest.

        So the programs start at the same time on every machine. Those before them search for libraries in more folders
        for some processors than for others (ld.so(8)), and in the user's PATH for programs; each costs a microsecond.
        """
        if self._spec.isolated:
            time.sleep((_START_NS - time.monotonic_ns() % _START_NS) / 10**9)

    def _start(
        self, name: str, command: Sequence[str], number: int = 0, pipe_end: int | None = None
    ) -> subprocess.Popen[bytes]:
        pty = self._pty if name == CLIENT else None
        stdin = self._files.stdin if name == CLIENT and self._files.stdin.exists() else Path(os.devnull)
        try:
            with self._hosts[name].entered(), self._view.opened(stdin) as given:
                process = subprocess.Popen(
                    command,
                    stdin=pty.slave if pty else given if pipe_end is None else pipe_end,
                    stdout=pty.slave if pty else subprocess.PIPE,
                    stderr=pty.slave if pty else subprocess.PIPE,
                    env=self._environment,
                    start_new_session=True,
                    preexec_fn=partial(self._as_others, pty),
                )
        except FileNotFoundError:
            hidden = self._spec.visible is not None
            hint = "; --read PATH shows more of this machine's files" if hidden else _remedy(command[0])
            raise Ended(Ending.NOT_FOUND, f"{_whose(name)} program {command[0]} is not found{hint}") from None
        except OSError as error:
            raise Ended(Ending.NOT_STARTED, f"{_whose(name)} program {command[0]}: {error.strerror}") from error
        except subprocess.SubprocessError as error:  # between fork(2) and execve(2)
            raise Ended(Ending.NOT_STARTED, f"{_whose(name)} program {command[0]}: {error}") from error
        if pty:
            pty.begin()
            return process
        for stream, pipe in (("out", process.stdout), ("err", process.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            hear = partial(self._hear, name, stream, pipe.fileno(), number)
            self._selector.register(pipe, selectors.EVENT_READ, hear)
        return process

    def _as_others(self, pty: Pty | None) -> None:
        if self._spec.isolated:
            like_others()
            set_back(self._back_s)
            if not self._spec.fair:
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_USUAL))
        if pty:
            pty.take()
        self._view.enter()

    def _hear(self, host: str, stream: str, pipe: int, number: int) -> bool:
        """Passes on what a program has written; returns False at the end of the stream."""
        try:
            data = os.read(pipe, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        if data:
            self._heard(host, stream, data, number)
        return bool(data)

    def _heard(self, host: str, stream: str, data: bytes, number: int = 0) -> None:
        now_ns = time.monotonic_ns()
        at_ns = now_ns - self.began_ns if self._has_begun else 0
        self._said.write(OutputFrame(at_ns=at_ns, place=host, stream=stream, data=data, program=number))
        self._last[host] = (self._last[host] + data)[-_CHUNK_BYTES:]
        if self._spec.steered:
            self.printed[host] += data
            self.printed[number] += data

    def attend(self, until_ns: int | None, now_ns: int | None = None) -> None:
        """Waits until something happens, or until a time; hears the programs, and takes the samples that are due.

        until_ns: None for no time. now_ns: the present time, if it has been read.
        """
        now_ns = time.monotonic_ns() if now_ns is None else now_ns
        due_ns = [at_ns for look in self._looks if (at_ns := look(now_ns)) is not None]
        due_ns += [] if until_ns is None else [until_ns]
        for key, _ in self._selector.select(max(0, min(due_ns) - now_ns) / 10**9 if due_ns else None):
            if key.data() is False:
                self._selector.unregister(key.fileobj)

    def _until_it_ends(self, process: subprocess.Popen[bytes], until_ns: int) -> int | None:
        """Waits for the end of a program; returns its exit code, or None if it has not ended at that time."""
        if process.poll() is not None:
            return process.returncode
        ended = os.pidfd_open(process.pid)
        self._selector.register(ended, selectors.EVENT_READ, lambda: None)
        try:
            while process.poll() is None:
                if time.monotonic_ns() >= until_ns:
                    return None
                self.attend(until_ns)
            return process.returncode
        finally:
            self._selector.unregister(ended)
            os.close(ended)

    def _wait_for(self, name: str, program: subprocess.Popen[bytes]) -> None:
        """Waits until a program listens if the spec says so. Raises Ended if it ends before, or does not in time."""
        port = self._spec.wait if name == SERVER else self._spec.waits.get(name, AT_ONCE)
        if port == AT_ONCE:
            return
        begun_ns, pause_ns = time.monotonic_ns(), _FIRST_LOOK_NS
        while True:
            if self._until_it_ends(program, time.monotonic_ns() + pause_ns) is not None:
                self._drain()
                code = program.returncode
                how = f"ended with exit code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
                hint = "" if code else foreground(self._spec.companions[name])
                raise Ended(Ending.SERVER, f"{_who(name)} {how} before it listened: {self._last_line(name)}{hint}")
            if self.listens(name, port):
                return
            if time.monotonic_ns() - begun_ns > _LISTEN_NS:
                what = "at any port" if port == LISTENS else f"at port {port}"
                reason = f"{_who(name)} does not listen {what} after {_LISTEN_NS // 10**9} s"
                remedy = f"; --wait-port {AT_ONCE} starts the client at once" if name == SERVER else ""
                raise Ended(Ending.SERVER, f"{reason}{remedy}")
            pause_ns = min(2 * pause_ns, _LAST_LOOK_NS)

    def listens(self, host: str, wanted: str) -> bool:
        """True if a socket of the host listens, at the wanted port or at any."""
        with self._hosts[host].entered():
            for table, state in _TABLES:
                with contextlib.suppress(FileNotFoundError):
                    for line in Path(f"/proc/thread-self/net/{table}").read_text().splitlines()[1:]:
                        _, local, _, seen, *_ = line.split()
                        port = str(int(local.rpartition(":")[2], 16))
                        if seen == state and wanted in (LISTENS, port):
                            return True
        return False

    def prints_no_more(self, number: int) -> bool:
        """True if a program that a session has started has ended, and nobody else has its outputs."""
        process = self.numbered[number]
        open_ones = self._selector.get_map()
        ended = process.returncode is not None
        return ended and process.stdout not in open_ones and process.stderr not in open_ones

    def counts(self) -> Sequence[str]:
        """Returns the counts of what the hosts have sent and received so far."""
        found = []
        for host in self._hosts.values():
            with host.entered():
                found += [line for line in read_counts().splitlines() if line.split(":")[0].strip() == WIRE]
        return found

    def _last_line(self, host: str) -> str:
        lines = self._last[host].decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it wrote nothing")

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a program by SIGTERM, which its own process gets first, so that it ends its children in its own way.

        Its children that are left get it afterwards. What has not ended five seconds later ends by SIGKILL.
        """
        process.send_signal(signal.SIGTERM)
        ended = self._until_it_ends(process, time.monotonic_ns() + _STOP_NS) is not None
        if not (ended and self._end_group(process, signal.SIGTERM)):
            self._end_group(process, signal.SIGKILL)

    def _end_group(self, process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
        """Sends a signal to a program and its children; returns True if all of them have ended five seconds later."""
        until_ns, pause_ns = time.monotonic_ns() + _STOP_NS, _FIRST_LOOK_NS
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        while (is_there := _is_there(process.pid)) and time.monotonic_ns() < until_ns:
            self.attend(time.monotonic_ns() + pause_ns)
            process.poll()
            pause_ns = min(2 * pause_ns, _LAST_LOOK_NS)
        return not is_there

    def _drain(self) -> None:
        """Hears what is left in the pipes."""
        while any(key.data() for key, _ in self._selector.select(0)):
            pass


def _codes(programs: Mapping[str, subprocess.Popen[bytes]]) -> dict[str, int]:
    """Returns the exit codes of the programs that have ended."""
    return {name: process.returncode for name, process in programs.items() if process.poll() is not None}


def _is_there(group: int) -> bool:
    """True if a process of this group has not ended."""
    found = (fields for pid in process_ids() if (fields := stat(pid)) is not None)
    return any(int(fields[2]) == group and fields[0] != "Z" for fields in found)


def _who(host: str) -> str:
    return f"the {host}" if host in (CLIENT, SERVER) else f"the host {host}"


def _remedy(program: str) -> str:
    """Returns how to get a program that is not found. Many packages of Debian have their program's name."""
    return "" if "/" in program else f"; install it, such as by `apt-get install {program}`, or give its path"


def _whose(host: str) -> str:
    return f"{_who(host)}'s"
