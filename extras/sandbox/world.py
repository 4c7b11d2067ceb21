"""Carries out an order in the places: joins them by the link, runs the programs, counts, and writes the outcome."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from priolab.experiments.errors import LabError, StepFailed, Unavailable
from priolab.experiments.results.run_folder import write_json
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.testbed import tap
from priolab.experiments.testbed.namespaces import pair
from priolab.experiments.testbed.namespaces.cross_traffic import crossing
from priolab.experiments.testbed.namespaces.front_place import CC
from priolab.experiments.testbed.namespaces.link_namespace import LinkNamespace
from priolab.experiments.testbed.namespaces.namespace import Namespace
from priolab.experiments.testbed.namespaces.wiring import ADDRESSES, TO_CLIENT, TO_FRONT, WIRE
from priolab.experiments.testbed.places import ActiveCross, ActiveLink, Look
from priolab.extras.sandbox.connections import Ends, joined
from priolab.extras.sandbox.order import AT_ONCE, CLIENT, LISTENS, SERVER, Files, Order
from priolab.extras.sandbox.outcome import Direction, Ending, Outcome
from priolab.extras.sandbox.said import Said, Writer
from priolab.extras.sandbox.samples import SocketJournal, longest_queue
from priolab.extras.sandbox.surroundings import surround
from priolab.netem import shaper as shapers
from priolab.netem.shaper_kind import Shaper

_ATTENTIVE, _USUAL = 2, 1
"""Priorities under SCHED_FIFO: of this process, which hears at once what a program writes, and of the programs."""
_CHUNK_BYTES = 2**16
_LISTEN_NS = 30 * 10**9
_FIRST_LOOK_NS, _LAST_LOOK_NS = 10**6, 10**8
_STOP_NS = 5 * 10**9
_SETTLE_S = 0.001
_LISTENING, _BOUND = "0A", "07"  # states in /proc/net/tcp and /proc/net/udp (<net/tcp_states.h>)
_TABLES = (("tcp", _LISTENING), ("udp", _BOUND), ("tcp6", _LISTENING), ("udp6", _BOUND))


class Ended(Exception):
    """The sandbox has ended before the client did."""

    def __init__(self, ending: Ending, reason: str) -> None:
        self.ending = ending
        super().__init__(reason)


def carry_out(order: Order, files: Files, usual: Shaper | None, *, seeded: bool) -> None:
    """Carries out the order, and writes the outcome, also after a failure.

    usual: the shaper for a link without a trace; None to look for netem. seeded: for the outcome.
    """
    try:
        outcome = _carried_out(order, files, usual)
    except LabError as error:
        outcome = Outcome(ending=Ending.FAILED, reason=str(error))
    except Exception as error:  # a bug in the lab
        traceback.print_exc()
        reason = str(StepFailed("the lab itself", f"{type(error).__name__}: {error}"))
        outcome = Outcome(ending=Ending.FAILED, reason=reason)
    write_json(files.outcome, asdict(replace(outcome, seeded=seeded)))


def _carried_out(order: Order, files: Files, usual: Shaper | None) -> Outcome:
    scenario = order.scenario
    scratch = Path(os.environ.get("TMPDIR", "/run")) / "sandbox"
    scratch.mkdir(exist_ok=True)
    with ExitStack() as stack:
        client, link, server = (
            stack.enter_context(Namespace(name, forwards=name == "link")) for name in (CLIENT, "link", SERVER)
        )
        pair.join(client, link, server)
        _set(order, client, server)
        shaping = LinkNamespace(link, usual, scratch / "ferry").shaping(
            scenario.link, None, seed=order.seed, folder=scratch, interval_ns=order.interval_ns
        )
        active = stack.enter_context(shaping)
        stack.enter_context(_crossing(client, link, scenario, active, scratch))
        near = stack.enter_context(Ends(client, ADDRESSES.front))
        far = stack.enter_context(Ends(server, ADDRESSES.client))
        said = stack.enter_context(Writer(files.said))
        journal = stack.enter_context(_sampling(order, files, client, server))
        with _capturing(order, client, server, files):
            home = surround(order, scratch)
            programs = _Programs(order, files, said, {CLIENT: client, SERVER: server}, home)
            outcome = programs.run(active, [near, far], [active.look, *([journal.look] if journal else [])])
        time.sleep(_SETTLE_S)  # the kernel tells of the last connections
        return replace(
            outcome,
            connections=joined(near, far),
            down=_direction(active, scenario, client, "down"),
            up=_direction(active, scenario, server, "up"),
            longest_queue=longest_queue(scratch / "queue.jsonl") if order.interval_ns else None,
        )


def _set(order: Order, client: Namespace, server: Namespace) -> None:
    """Sets what the knobs and --set ask for. Raises StepFailed and Unavailable."""
    scenario = order.scenario
    pair.apply_settings(client, server, scenario)
    if "CC" in order.knobs and (seen := server.read_sysctl(CC)) != scenario.congestion_control:
        raise Unavailable(f"CC={scenario.congestion_control}", f"this kernel uses {seen}", "use FABRIC=virtual")
    places = {CLIENT: client, SERVER: server}
    for place, name, value in order.sysctls:
        places[place].write_sysctl(name, value)


def _crossing(
    client: Namespace, link: Namespace, scenario: Scenario, active: ActiveLink, folder: Path
) -> AbstractContextManager[ActiveCross | None]:
    if not scenario.cross:
        return nullcontext()
    return crossing(client, link, scenario, active.shaper, folder=folder, interval_ns=None)


def _sampling(
    order: Order, files: Files, client: Namespace, server: Namespace
) -> AbstractContextManager[SocketJournal | None]:
    if order.interval_ns is None:
        return nullcontext()
    return SocketJournal({CLIENT: client, SERVER: server}, files.samples, order.interval_ns)


@contextmanager
def _capturing(order: Order, client: Namespace, server: Namespace, files: Files) -> Iterator[None]:
    """Captures the packets of both places while the context is open, and some time longer. Raises StepFailed."""
    if not order.capture:
        yield
        return
    assert order.tcpdump is not None, "the lab has looked for tcpdump"
    with ExitStack() as stack:
        for place in (client, server):
            command = tap.command(order.tcpdump, WIRE, files.path / f"{place.name}.pcap", None)
            process = place.start(f"the capture at the {place.name}", command, files.path / f"{place.name}.log")
            stack.enter_context(tap.listening(process, process.stop))
        yield
        time.sleep(tap.LAST_BLOCK_S + 0.5)


def _direction(active: ActiveLink, scenario: Scenario, place: Namespace, name: str) -> Direction:
    """Returns what a direction of the link has done. place: that at its end."""
    dropped, lost = _drops(active, scenario, name)
    return Direction(bytes=place.received(WIRE).bytes, dropped=dropped, lost=lost)


def _drops(active: ActiveLink, scenario: Scenario, name: str) -> tuple[int, int]:
    """Returns the packets that the queue dropped, and those that the link lost at random."""
    counters = active.counters().get(name, {})  # a ferry counts a direction that it shapes
    if active.shaper is Shaper.FERRY:
        return counters.get("dropped", 0), counters.get("lost", 0)
    stages = shapers.stages(scenario.link, TO_CLIENT, TO_FRONT)[name]
    drops = {(each["dev"], each["handle"]): each["drops"] for each in counters}
    own = {stage: drops.get((stage.device, f"{stage.handle:x}:"), 0) for stage in stages.bottleneck}
    queue = own[stages.bottleneck[0]] if stages.bottleneck else 0
    line = stages.delay_line
    if line is None:
        return queue, 0
    whole = drops.get((line.device, f"{line.handle:x}:"), 0)
    nested = line._replace(handle=line.handle + 1) in stages.bottleneck
    return queue, whole - queue if nested else whole


class _Programs:
    """The programs, and this process's attention to them."""

    def __init__(self, order: Order, files: Files, said: Writer, places: dict[str, Namespace], home: str) -> None:
        """said: for what the programs write. home: their HOME."""
        self._order = order
        self._files = files
        self._said = said
        self._places = places
        self._environment = {**order.environment, "HOME": home}
        self._began_ns = time.monotonic_ns()
        self._looks: Sequence[Look] = ()
        self._selector = selectors.DefaultSelector()
        self._last = dict.fromkeys(places, b"")

    def run(self, active: ActiveLink, ends: Sequence[Ends], looks: Sequence[Look]) -> Outcome:
        """Runs the server and the client, until the client ends or a limit is over."""
        self._take_precedence()
        for end in ends:
            self._selector.register(end, selectors.EVENT_READ, end.hear)
        started: list[subprocess.Popen[bytes]] = []
        code, ending, reason, clock_ns = None, Ending.ENDED, None, 0
        try:
            if self._order.server is not None:
                server = self._start(SERVER, self._order.server)
                started.append(server)
                self._wait_for(server)
            clock_ns, self._began_ns = time.time_ns(), time.monotonic_ns()
            active.begin(self._began_ns)
            self._looks = looks
            client = self._start(CLIENT, self._order.client)
            started.append(client)
            code = self._until_it_ends(client, self._began_ns + self._order.limit_ns)
            if code is None:
                limit_s = self._order.limit_ns / 10**9
                raise Ended(Ending.LIMIT, f"the client did not end within {limit_s:g} s (--limit)")
        except Ended as ended:
            ending, reason = ended.ending, str(ended)
        duration_ns = time.monotonic_ns() - self._began_ns
        self._looks = ()
        for process in reversed(started):
            self._stop(process)
        self._drain()
        active.check_alive()
        return Outcome(ending=ending, reason=reason, code=code, duration_ns=duration_ns, clock_ns=clock_ns)

    def _take_precedence(self) -> None:
        if self._order.isolated and not self._order.fair:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_ATTENTIVE))

    def _start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        stdin = self._files.stdin if name == CLIENT and self._files.stdin.exists() else Path(os.devnull)
        try:
            with self._places[name].entered(), stdin.open("rb") as given:
                process = subprocess.Popen(
                    command,
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self._environment,
                    cwd=self._order.folder,
                    start_new_session=True,
                    preexec_fn=self._as_others,
                )
        except FileNotFoundError:
            raise Ended(Ending.NOT_FOUND, f"the {name}'s program {command[0]} is not found") from None
        except OSError as error:
            raise Ended(Ending.NOT_STARTED, f"the {name}'s program {command[0]}: {error.strerror}") from error
        for stream, pipe in (("out", process.stdout), ("err", process.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, partial(self._hear, name, stream, pipe.fileno()))
        return process

    def _as_others(self) -> None:
        if self._order.isolated and not self._order.fair:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_USUAL))

    def _hear(self, place: str, stream: str, pipe: int) -> bool:
        """Passes on what a program has written; returns False at the end of the stream."""
        try:
            data = os.read(pipe, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        if data:
            at_ns = time.monotonic_ns() - self._began_ns
            self._said.write(Said(at_ns=at_ns, place=place, stream=stream, data=data))
            self._last[place] = (self._last[place] + data)[-_CHUNK_BYTES:]
        return bool(data)

    def _attend(self, until_ns: int) -> None:
        """Waits until something happens, or until a time; hears the programs, and takes the samples that are due."""
        now_ns = time.monotonic_ns()
        due_ns = [at_ns for look in self._looks if (at_ns := look(now_ns)) is not None]
        for key, _ in self._selector.select(max(0, min([until_ns, *due_ns]) - now_ns) / 10**9):
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
                self._attend(until_ns)
            return process.returncode
        finally:
            self._selector.unregister(ended)
            os.close(ended)

    def _wait_for(self, server: subprocess.Popen[bytes]) -> None:
        """Waits until the server listens. Raises Ended if it ends before, or does not listen in time."""
        if self._order.wait == AT_ONCE:
            return
        begun_ns, pause_ns = time.monotonic_ns(), _FIRST_LOOK_NS
        while True:
            if self._until_it_ends(server, time.monotonic_ns() + pause_ns) is not None:
                self._drain()
                code = server.returncode
                how = f"ended with exit code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
                raise Ended(Ending.SERVER, f"the server {how} before it listened: {self._last_line(SERVER)}")
            if self._listens():
                return
            if time.monotonic_ns() - begun_ns > _LISTEN_NS:
                what = "at any port" if self._order.wait == LISTENS else f"at port {self._order.wait}"
                reason = f"the server does not listen {what} after {_LISTEN_NS // 10**9} s; --wait-port {AT_ONCE}"
                raise Ended(Ending.SERVER, f"{reason} starts the client at once")
            pause_ns = min(2 * pause_ns, _LAST_LOOK_NS)

    def _listens(self) -> bool:
        """True if a socket of the server's place listens, at the port that the order names if it names one."""
        with self._places[SERVER].entered():
            for table, state in _TABLES:
                with contextlib.suppress(FileNotFoundError):
                    for line in Path(f"/proc/thread-self/net/{table}").read_text().splitlines()[1:]:
                        _, local, _, seen, *_ = line.split()
                        port = str(int(local.rpartition(":")[2], 16))
                        if seen == state and self._order.wait in (LISTENS, port):
                            return True
        return False

    def _last_line(self, place: str) -> str:
        lines = self._last[place].decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it wrote nothing")

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a program and its children: by SIGTERM, and five seconds later by SIGKILL."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            if self._until_it_ends(process, time.monotonic_ns() + _STOP_NS) is not None:
                return

    def _drain(self) -> None:
        """Hears what is left in the pipes."""
        while any(key.data() for key, _ in self._selector.select(0)):
            pass
