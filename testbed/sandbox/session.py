"""Carries out a sandbox's spec: starts a guest, or a process on a real clock, hears the programs, reads the outcome.

A guest is a job like that of an experiment (process/jobs.py), and is kept for the next spec where guests are kept.
"""

import os
import re
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from priolab.common.errors import RAISE_LIMIT, ScenarioError, StepFailed, Unavailable
from priolab.common.formats.conversion import convert
from priolab.common.formats.files import read_json
from priolab.common.home import kernel_command
from priolab.common.limits import too_low_for_run
from priolab.common.process.processes import module
from priolab.common.process.scratch import scratch_folder
from priolab.common.process.search_path import find
from priolab.testbed.guest import guest_requirements as of_guests
from priolab.testbed.guest import guests, kernel
from priolab.testbed.guest.guests import Guest
from priolab.testbed.process import jobs
from priolab.testbed.process.command_process import Work
from priolab.testbed.process.work_folder import PROGRESS
from priolab.testbed.sandbox import knobs, pcapng
from priolab.testbed.sandbox.busy_program import busy_program
from priolab.testbed.sandbox.filesystem import GUESTS
from priolab.testbed.sandbox.outcome import Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame, OutputReader
from priolab.testbed.sandbox.packet_trace import PacketTrace
from priolab.testbed.sandbox.schedule import ClockJump, Run
from priolab.testbed.sandbox.spec import TASKS, Files, SandboxSpec
from priolab.testbed.sandbox.target import Target
from priolab.testbed.sandbox.terminal import KERNEL_WORD, Terminal, joined
from priolab.testbed.topology import namespace_requirements as of_namespaces
from priolab.testbed.topology.namespace_requirements import entering

_NAME = "sandbox"
_TMP = "/tmp"  # noqa: S108
GUEST, NAMESPACES, AUTO = of_guests.FABRIC, of_namespaces.FABRIC, "auto"
"""The values of FABRIC; AUTO stands for the first of the others that can be used."""

_MEMORY_MIB = 520
_TCP_MIB, _FLOW_MIB = 10, 4
"""The memory for the buffers of some connections, and for those of a flow of cross traffic."""

_Told = TypeVar("_Told")
_ESCAPED = re.compile(r"\\([0-7]{3})")
_KERNEL = ("bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "mqueue", "proc")
_KERNELS_OWN = (*_KERNEL, "pstore", "securityfs", "selinuxfs", "sysfs", "tracefs")
"""File systems that show the kernel and its processes, or devices."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A request of somebody. spec: without programs to keep open, and tcpdump.

    fabric: the value of FABRIC. stdin: the client's standard input. wall_limit_s: the longest time on this machine's
    clock. memory_mib: the guest's memory; None for the usual. capture, samples: the files for packets and for samples;
    None for none. fresh: True for a guest of its own. traced: called with the packets of the run; None if nobody wants
    them.
    """

    spec: SandboxSpec
    fabric: str = AUTO
    stdin: bytes = b""
    wall_limit_s: float = knobs.WALL_LIMIT_S
    memory_mib: int | None = None
    capture: Path | None = None
    samples: Path | None = None
    fresh: bool = False
    traced: Callable[[PacketTrace], None] | None = None


def usable(request: RunRequest) -> tuple[str, str | None]:
    """Returns where to carry it out, GUEST or NAMESPACES, and a note about the choice; None for none.

    Raises ScenarioError and Unavailable.
    """
    if request.fabric not in (AUTO, GUEST, NAMESPACES):
        raise ScenarioError("FABRIC", request.fabric, ", ".join((AUTO, GUEST, NAMESPACES)))
    if request.fabric != AUTO:
        _check_usable(request.fabric, request.spec)
        return request.fabric, None
    try:
        _check_usable(GUEST, request.spec)
    except Unavailable as error:
        try:
            _check_usable(NAMESPACES, request.spec)
        except Unavailable:
            raise error from None
        return NAMESPACES, f"on this machine's clock and files, which programs may write; results differ: {error}"
    return GUEST, None


def _check_usable(where: str, spec: SandboxSpec) -> None:
    """Raises Unavailable if this machine cannot carry the spec out there."""
    links, own = [*spec.first_links.values()], spec.way.server.qdisc
    if where == GUEST:
        of_guests.check_machine(_MEMORY_MIB)
        of_guests.check_links(links, own, None, _MEMORY_MIB)
    else:
        of_namespaces.check_machine()
        of_namespaces.check_links(links, own, None)


@contextmanager
def room() -> Iterator[Path]:
    """Yields a folder for the files of sandboxes, which nothing leaves behind."""
    with scratch_folder("priolab-sandbox-") as folder:
        yield folder


def carry_out(request: RunRequest, where: str, room: Path, hear: Callable[[Iterable[OutputFrame]], None]) -> Outcome:
    """Carries it out, and returns the outcome. Raises LabError.

    room: a folder for the files. hear: called with what the programs have written since the last call.
    """
    spec = _completed(request, where)
    files = Files(Path(tempfile.mkdtemp(dir=room)))
    try:
        spec.write(files)
        if request.stdin:
            files.stdin.write_bytes(request.stdin)
        with ExitStack() as stack:
            capture, samples = (
                None if path is None else stack.enter_context(Target(path, _NAME))
                for path in (request.capture, request.samples)
            )
            with ExitStack() as meanwhile:
                terminal = meanwhile.enter_context(Terminal(files)) if spec.terminal else None
                outcome = _Run(request, spec, files, hear, terminal).outcome()
            captures = [(name, files.capture(name)) for name in spec.numbers]
            if capture and all(path.exists() for _, path in captures):
                capture.write(pcapng.joined(captures))
            if request.traced and files.traced.exists():
                request.traced(_trace(spec, files))
            if samples and files.samples.exists():
                samples.write(files.samples.read_bytes())
        return outcome
    finally:
        shutil.rmtree(files.path, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Steered:
    """A spec that a test carries out call by call (net.py). frames: what the programs have written so far.

    talk: with the guest, which answers first when its hosts are there. listen: hears the programs. outcome: returns the
    outcome, when the guest has ended.
    """

    spec: SandboxSpec
    files: Files
    talk: jobs.Conversation
    frames: Sequence[OutputFrame]
    listen: Callable[[], None]
    outcome: Callable[[], Outcome]

    def trace(self) -> PacketTrace | None:
        """Returns the packets; None without a capture, or if the session was interrupted."""
        return _trace(self.spec, self.files) if self.spec.traced and self.files.traced.exists() else None


@contextmanager
def steered(request: RunRequest, room: Path) -> Iterator[Steered]:
    """Yields a session in a guest, which ends with it. Raises LabError."""
    spec = _completed(request, GUEST)
    files = Files(Path(tempfile.mkdtemp(dir=room)))
    try:
        spec.write(files)
        frames: list[OutputFrame] = []
        run = _Run(request, spec, files, frames.extend, None)
        with run.conversation() as talk:
            yield Steered(spec=spec, files=files, talk=talk, frames=frames, listen=run.listen, outcome=run.ended)
    finally:
        shutil.rmtree(files.path, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Order:
    """A request among several. finished: called with the outcome, and with what the programs have written."""

    request: RunRequest
    finished: Callable[[Outcome, Sequence[OutputFrame]], None]


def carry_out_all(orders: Iterable[Order], where: str, room: Path, side_by_side: int) -> None:
    """Carries out orders, some of them side by side, and begins each in its turn. Raises LabError.

    side_by_side: how many at once. Requests have no files for packets and samples, and no terminal.
    """

    def tasks() -> Iterator[jobs.Task]:
        for order in orders:
            spec = _completed(order.request, where)
            files = Files(Path(tempfile.mkdtemp(dir=room)))
            spec.write(files)
            if order.request.stdin:
                files.stdin.write_bytes(order.request.stdin)
            frames: list[OutputFrame] = []
            run = _Run(order.request, spec, files, frames.extend, None)
            yield replace(run.task(), finished=partial(end, order, run, frames))

    def end(order: Order, run: _Run, frames: Sequence[OutputFrame], finish: jobs.Finish) -> None:
        run.finished(finish)
        outcome = run.ended()
        if order.request.traced and run.files.traced.exists():
            order.request.traced(_trace(run.spec, run.files))
        shutil.rmtree(run.files.path, ignore_errors=True)
        order.finished(outcome, frames)

    jobs.run_all(tasks(), side_by_side, lambda _name, _step: None)


def _trace(spec: SandboxSpec, files: Files) -> PacketTrace:
    at_router = {name: files.router_trace(name) for name in spec.ways}
    outcome = convert(read_json(files.traced), Outcome)
    if spec.steered:
        spec = replace(spec, schedule=tuple((each.at_ns, each.event) for each in outcome.events))
    return PacketTrace(
        spec=spec,
        outcome=outcome,
        hosts={name: files.trace(name).read_bytes() for name in spec.numbers},
        routers={name: path.read_bytes() for name, path in at_router.items() if path.exists()},
    )


def _completed(request: RunRequest, where: str) -> SandboxSpec:
    spec = request.spec
    isolated = where == GUEST
    tcpdump = find("tcpdump") if request.capture is not None else None
    if request.capture is not None and tcpdump is None:
        raise Unavailable("--capture", "tcpdump is not installed", "run `apt-get install tcpdump`")
    if isolated:
        if spec.terminal and not kernel.can_wait():
            raise Unavailable("a terminal", "this guest kernel cannot stand still", "use KERNEL=7.2, or add </dev/null")
        if spec.steered and not kernel.can_wait():
            raise Unavailable("session()", "this guest kernel cannot stand still", "use KERNEL=7.2")
        _check_folder(spec)
        _check_memory(request)
    else:
        _check_nothing_of_guests(request)
    return replace(
        spec,
        capture=request.capture is not None,
        traced=request.traced is not None,
        tcpdump=tcpdump,
        isolated=isolated,
        programs=tuple(_programs(spec)) if isolated else (),
        hidden=tuple(_views_of_the_kernel()) if isolated else (),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE) if isolated else None,
    )


def _check_nothing_of_guests(request: RunRequest) -> None:
    """Raises ScenarioError for an option that a guest alone has."""
    for option, given, what in (
        ("--scratch", request.spec.scratch, "write this machine's files"),
        ("--read", request.spec.visible is not None, "read this machine's files"),
        ("--memory", request.memory_mib is not None, "use this machine's memory"),
        ("clock", _sets_clock(request.spec), "have this machine's clock"),
    ):
        if given:
            raise ScenarioError(option, "", f"FABRIC={GUEST} alone: elsewhere programs {what}")


def _sets_clock(spec: SandboxSpec) -> bool:
    """True if the time of day jumps."""
    return any(isinstance(step.event, ClockJump) for step in spec.steps)


def _views_of_the_kernel() -> Iterator[str]:
    """Yields the folders on which this machine's kernel shows itself, as in a chroot, beside /dev, /proc and /sys."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, system = line.partition(" - ")
        place = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), mount.split()[4])
        if system.split()[0] in _KERNELS_OWN and not _is_guests(Path(place)):
            yield place


def _is_guests(path: Path) -> bool:
    """True for a path in a guest's own file systems. Of /tmp the programs may see folders of this machine."""
    return any(path.is_relative_to(each) for each in GUESTS if each != _TMP)


def _check_folder(spec: SandboxSpec) -> None:
    """Checks that a guest sees the current folder, and can lay another one over it. Raises LabError."""
    guests.check_visible(Path(spec.folder), f"the folder {spec.folder}", "change to another, or use FABRIC=netns")
    if spec.scratch and spec.folder == "/":
        raise ScenarioError("--scratch", spec.folder, "a current folder below /")
    if spec.scratch and not kernel.offers("OVERLAY_FS"):
        raise Unavailable("--scratch", "the guest kernel has no overlayfs", f"run {kernel_command()}")


def _check_memory(request: RunRequest) -> None:
    """Checks that this machine has room for a guest of the memory that somebody wants. Raises Unavailable."""
    if request.memory_mib is not None:
        if lack := too_low_for_run(request.memory_mib):
            raise Unavailable(f"--memory {request.memory_mib}m", lack, RAISE_LIMIT)
        guests.memory_folder(request.memory_mib)


def _programs(spec: SandboxSpec) -> Iterator[str]:
    """Yields the paths of the programs that are found in PATH."""
    further = (step.event.command for step in spec.steps if isinstance(step.event, Run))
    for command in filter(None, (spec.client, *spec.companions.values(), *further)):
        found = shutil.which(command[0], path=spec.environment.get("PATH"))
        if found and Path(found).is_absolute() and not Path(found).is_relative_to(spec.folder):
            yield found


@dataclass
class _Run:
    """A spec that is being carried out."""

    request: RunRequest
    spec: SandboxSpec
    files: Files
    hear: Callable[[Iterable[OutputFrame]], None]
    terminal: Terminal | None
    _finish: jobs.Finish | None = None
    _scratch: Path | None = None
    _reader: OutputReader = field(init=False)

    def __post_init__(self) -> None:
        self._reader = OutputReader(self.files.said, [*self.spec.numbers])

    def outcome(self) -> Outcome:
        jobs.run_all([self.task()], 1, self._progress, self.listen)
        return self.ended()

    def conversation(self) -> jobs.Conversation:
        """Begins the job of a session."""
        return jobs.Conversation(self.task())

    def task(self) -> jobs.Task:
        log = self.files.path / "console.log"
        return jobs.Task(name=_NAME, work=self._work(), log=log, overdue=self._overdue, finished=self.finished)

    def ended(self) -> Outcome:
        """Returns the outcome of a job that has ended."""
        self.listen()
        finish = self._finish
        assert finish is not None, "the job has ended"
        if self.files.outcome.exists():
            return convert(read_json(self.files.outcome), Outcome)
        if finish.trouble:
            return Outcome(ending=Ending.WALL_LIMIT, reason=finish.trouble)
        said = " | ".join(line for line in finish.said.split(" | ") if not line.startswith(PROGRESS))
        reason = f"its process was ended; its last output: {said or 'none'}"
        return Outcome(ending=Ending.FAILED, reason=str(StepFailed(_NAME, reason)))

    def _work(self) -> Work:
        if not self.spec.isolated:
            return Work(command=self._on_real_clock, one_cpu=False)
        guests.compile_modules("testbed/sandbox")
        settings = self._guest()
        return Work(
            command=lambda scratch: self._joined(self._in_guest(settings.command, scratch)),
            one_cpu=True,
            kind=None if self.request.fresh or self.terminal else settings.kind,
            further=partial(self._in_guest, guests.further),
            programs=frozenset(self.spec.programs),
            hears=self.spec.steered,
        )

    def _guest(self) -> Guest:
        flows = max(way.cross.flows if way.cross else 0 for way in self.spec.ways.values())
        words = guests.tcp_words(guests.more_tcp_mib(_TCP_MIB + flows * _FLOW_MIB, _MEMORY_MIB))
        return Guest(
            tasks=TASKS,
            memory_mib=self.request.memory_mib or _MEMORY_MIB,
            environment={},
            words=(*words, KERNEL_WORD) if self.terminal else words,
            own_clock=True,
            ipv6=self.spec.ipv6,
        )

    def _in_guest(self, tell: Callable[[Sequence[Path], Path], _Told], scratch: Path) -> _Told:
        self._scratch = scratch
        return tell([self.files.path], scratch)

    def _joined(self, command: list[str]) -> list[str]:
        return joined(command, self.files) if self.terminal else command

    def _on_real_clock(self, scratch: Path) -> list[str]:
        return ["env", f"TMPDIR={scratch}", *entering(), *module(TASKS), str(self.files.path)]

    def _progress(self, _: str, step: str) -> None:
        if self.terminal:
            self.terminal.hear(step, self._scratch)
        self.listen()

    def listen(self) -> None:
        """Hears what the programs have written."""
        self.hear(self._reader.read())

    def _overdue(self, wall_s: float) -> str | None:
        if wall_s <= self.request.wall_limit_s:
            return None
        limit = f"{self.request.wall_limit_s:g} s of this machine's time (--wall-limit)"
        said = f"the calls took more than {limit}" if self.spec.steered else f"the client did not end within {limit}"
        started = [command[0] for command in (self.spec.client, *self.spec.companions.values()) if command]
        busy = None if self._scratch is None else busy_program(self._scratch, started)
        return f"{said}; {busy} uses the processor all the time" if busy else said

    def finished(self, finish: jobs.Finish) -> None:
        self._finish = finish


def visible(words: Iterable[str | os.PathLike[str]]) -> tuple[str, ...] | None:
    """Returns the paths without symlinks that the programs may read; None for all. Raises ScenarioError."""
    found = []
    for given in words:
        word = os.fspath(given)
        path = Path(word).resolve()
        if path == Path("/"):
            return None
        if not word or not path.exists() or _is_guests(path) or path == Path(_TMP):
            allowed = f"a file or folder that is there, and not one of the guest's own: {', '.join(GUESTS)}"
            raise ScenarioError("--read", word, allowed)
        found.append(str(path))
    return tuple(sorted({*found})) or None


def environment_of(words: Iterable[str], usual: Mapping[str, str]) -> dict[str, str]:
    """Returns the programs' environment with the variables of words NAME=VALUE, or NAME for this process's value.

    Raises ScenarioError.
    """
    variables = dict(usual)
    for word in words:
        name, equals, value = word.partition("=")
        if not name:
            raise ScenarioError("--env", word, "NAME or NAME=VALUE")
        if not equals:
            if name not in os.environ:
                raise ScenarioError("--env", name, "the name of a variable that is set here, or NAME=VALUE")
            value = os.environ[name]
        variables[name] = value
    return variables
