"""A sandbox for Python programs: two programs on the lab's link, and what they did as values.

from priolab.sandbox import Sandbox

with Sandbox(RATE="10mbit", DELAY="20ms", server="python3 -m http.server 80") as sandbox:
    assert sandbox.run("curl -s http://server/").seconds < 0.1
"""

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Self

from priolab.common.errors import LabError, ScenarioError, StepFailed, Unfit
from priolab.netem.link_profiles import layered
from priolab.testbed.process.command_process import keep_guests
from priolab.testbed.sandbox import knobs, session
from priolab.testbed.sandbox.faults import Faults
from priolab.testbed.sandbox.link_table import with_tables
from priolab.testbed.sandbox.net import Session
from priolab.testbed.sandbox.outcome import Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.packet_trace import PacketTrace
from priolab.testbed.sandbox.repetition import Repetition
from priolab.testbed.sandbox.result import ClientFailed, Result
from priolab.testbed.sandbox.schedule import knobs_of
from priolab.testbed.sandbox.seed_search import SeedSearch, TrialRun, check_seeds, jobs_of
from priolab.testbed.sandbox.session import RunRequest, Steered
from priolab.testbed.sandbox.spec import (
    CLIENT,
    ENVIRONMENT,
    FAIR,
    LISTENS,
    PORTS,
    SCHEDULERS,
    SERVER,
    Command,
    SandboxSpec,
    check_host,
    check_sysctl,
    is_wait,
    split,
)


class Host:
    """A host beside the client: the command that runs there, and the knobs of its link to the others.

    Host("iperf3 -s", RATE="1mbit", DELAY="80ms")
    """

    def __init__(self, command: Command = "", **link: str | int) -> None:
        """command: an empty one for a host on which nothing runs. The knobs are those of a link."""
        self.command = split(command, "Host")
        self.link = {name: str(value) for name, value in link.items()}


_NS = 10**9
_SCHEDULE = "schedule"
"""The parameter that has events, for errors."""


@dataclass(frozen=True, kw_only=True)
class FailingSeed:
    """A run that fails, of those that a search has tried. schedule: the times and events that are left of its faults.

    result: of the run, with the command that repeats it.
    """

    seed: int
    schedule: Sequence[tuple[str, str]]
    result: Result

    def __repr__(self) -> str:
        events = "; ".join(f"{at} {event}" for at, event in self.schedule) or "no event"
        return f"FailingSeed: seed {self.seed} with {events}\nto repeat it: {self.result.command}"


class Sandbox:
    """Hosts, `client`, `server` and further ones, joined by links. A context manager, which keeps a guest meanwhile.

    Every run begins anew: nothing that a program did in a run has an effect on the next one, but for what it wrote into
    the current folder. In a kept guest TCP's time stamps and the identifications of IP packets differ from those in a
    new one. With fresh=True each run has a new guest, and its captures repeat to the byte.
    """

    def __init__(
        self,
        *,
        server: Command | Host | None = None,
        hosts: Mapping[str, Command | Host] = MappingProxyType({}),
        ipv6: bool = False,
        seed: int | None = None,
        fabric: str | None = None,
        env: Mapping[str, str] | None = None,
        sysctls: Iterable[tuple[str, str, str]] = (),
        wait: str | int | Mapping[str, str | int] = LISTENS,
        folder: Path | None = None,
        scratch: bool = False,
        read: Iterable[str | os.PathLike[str]] = (),
        scheduler: str = "fifo",
        fresh: bool = False,
        capture: bool = False,
        memory: str | None = None,
        schedule: Iterable[tuple[str, str]] = (),
        limit_s: float = knobs.LIMIT_S,
        wall_limit_s: float = knobs.WALL_LIMIT_S,
        **link: str | int,
    ) -> None:
        """Makes a sandbox; the knobs of the client's link are further parameters, such as RATE="10mbit".

        The parameters are the options of `priolab sandbox`. hosts: the further hosts by their names (`--host`).
        sysctls: host, name and value of each. wait: the port at which the server must listen before the client starts,
        `any` or `none`; or such values by the names of hosts. folder: the programs' current folder; None for that of
        this process. scheduler: `fifo`, or `default` for that of the kernel. capture: True to capture the packets of
        every run (`Result.packets`). schedule: times and events of each run (`--at`), such as
        ("5s", "phone.LOSS=100%"). Raises ScenarioError.
        """
        _check_names("Sandbox", link)
        if not isinstance(capture, bool):
            raise Unfit("Sandbox(capture=...): True or False; a file is the parameter capture of run()")
        given = {name: str(value) for name, value in link.items()}
        given |= {knobs.SEED: str(seed)} if seed is not None else {}
        given |= {knobs.FABRIC: fabric} if fabric is not None else {}
        knobs.check(given)
        self._given = given
        further = {name: each if isinstance(each, Host) else Host(each) for name, each in hosts.items()}
        for number, name in enumerate(further):
            check_host("hosts", name, [*further][:number])
        waits = {name: str(port) for name, port in (wait if isinstance(wait, Mapping) else {SERVER: wait}).items()}
        for name, port in waits.items():
            if name not in (CLIENT, SERVER, *further):
                raise ScenarioError("host", name, ", ".join((CLIENT, SERVER, *further)))
            if not is_wait(port):
                raise ScenarioError("wait", port, PORTS)
        sysctls = tuple((host, sysctl, f"{value}") for host, sysctl, value in sysctls)
        for host, sysctl, value in sysctls:
            check_sysctl("sysctls", f"{host}.{sysctl}={value}", host, sysctl, further)
        if scheduler not in SCHEDULERS:
            raise ScenarioError("scheduler", scheduler, ", ".join(SCHEDULERS))
        folder = Path.cwd() if folder is None else Path(folder).resolve()
        if not folder.is_dir():
            raise ScenarioError("folder", f"{folder}", "a folder that is there")
        _check_within("limit_s", limit_s, 0.001, 1_000_000)
        _check_within("wall_limit_s", wall_limit_s, 1, inf)
        self._further = further
        self._memory = memory
        self._last: Result | None = None
        self._spec = SandboxSpec(
            knobs=knobs.of_way(given),
            seed=knobs.seed(given),
            client=(),
            server=None,
            hosts={name: each.command for name, each in further.items()},
            links=_links(further),
            ipv6=ipv6,
            waits=waits,
            environment={**ENVIRONMENT, **_variables(env or {})},
            folder=str(folder),
            limit_ns=round(limit_s * _NS),
            sysctls=sysctls,
            wait=waits.pop(SERVER, LISTENS),
            scratch=scratch,
            visible=session.visible(read),
            fair=scheduler == FAIR,
        )
        self._wall_limit_s = wall_limit_s
        self._fresh = fresh
        self._capture = capture
        self._memory_mib = None if memory is None else knobs.memory_mib(f"{memory}")
        self._room: Path | None = None
        self._schedule = tuple(schedule)
        self.start(server)

    def __enter__(self) -> Self:
        if self._room is not None:
            raise Unfit("Sandbox: one `with` at a time; another Sandbox(...) may be there beside it")
        with ExitStack() as stack:
            stack.enter_context(keep_guests())
            self._room = stack.enter_context(session.room())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._room = None
        self._stack.close()

    @property
    def last(self) -> Result | None:
        """The result of the last run, also of one that raised an error; None before the first."""
        return self._last

    def start(self, server: Command | Host | None) -> Self:
        """Makes each later run start this server before its client; None for no server. Raises ScenarioError."""
        host = server if isinstance(server, Host) else Host(server or "")
        links = {name: each for name, each in self._spec.links.items() if name != SERVER} | _links({SERVER: host})
        self._spec = replace(self._spec, server=host.command or None, links=links)
        self._server = host
        return self

    def at(self, time: str, event: str) -> Self:
        """Makes an event happen at a time in each later run (`--at`), such as "5s", "phone.LOSS=100%"."""
        self._schedule = (*self._schedule, (time, event))
        return self

    def session(self, *, changes: Iterable[str] = (), capture: bool | None = None, **link: str | int) -> Session:
        """Returns hosts that the caller steers, after `with` or `async with`. Afterwards `last` is the result.

        changes: knobs that will change, such as `phone.RATE`, where a link needs a part for it from the beginning.
        capture, link: as for `run`. Raises LabError.
        """
        self._entered("session")
        if self._schedule:
            allowed = "a Sandbox without a schedule, and without faults of a mark"
            raise Unfit(f"session(): {allowed}; in a session net.happen(EVENT) makes an event happen")
        _check_names("session", link)
        given = layered(self._given, {name: str(value) for name, value in link.items()})
        knobs.check(given)
        fabric = given.get(knobs.FABRIC, session.AUTO)
        if fabric == session.NAMESPACES:
            raise ScenarioError(knobs.FABRIC, fabric, f"{session.GUEST} with session(): on a real clock time goes on")
        changing = knobs_of(changes, self._spec.numbers, "changes")
        bare = {name: knobs.of_way({}) for name in changing if name not in (CLIENT, *self._spec.links)}
        spec = replace(
            self._spec,
            knobs=knobs.of_way(given),
            seed=knobs.seed(given),
            links={**self._spec.links, **bare},
            client=(),
            steered=True,
            changing=changing,
        )
        is_captured = self._capture if capture is None else capture
        request = RunRequest(
            spec=spec,
            fabric=session.GUEST if fabric == session.AUTO else fabric,
            wall_limit_s=self._wall_limit_s,
            memory_mib=self._memory_mib,
            fresh=self._fresh,
            traced=(lambda _: None) if is_captured else None,
        )
        session.usable(request)
        return Session(self._steered(request), self._ended)

    @contextmanager
    def _steered(self, request: RunRequest) -> Iterator[Steered]:
        """Yields a session, which may begin some time after it was made. Raises LabError."""
        with session.steered(request, self._entered("session")) as run:
            yield run

    def _ended(self, outcome: Outcome, frames: Sequence[OutputFrame], trace: PacketTrace | None) -> Result:
        """Makes the result of a session."""
        self._last = Result(outcome=outcome, frames=frames, trace=trace)
        return self._last

    def faults(self, words: str) -> Faults:
        """Returns the faults that words such as "partition, LOSS<=30%" describe (`--faults`). Raises ScenarioError."""
        own = with_tables(self._schedule, _SCHEDULE)
        return Faults.parse(words, self._spec.scheduled(own, knobs.of_way({}), _SCHEDULE), "faults")

    def run(
        self,
        client: Command,
        *,
        stdin: bytes = b"",
        capture: Path | bool | None = None,
        samples: Path | None = None,
        interval_s: float = 0.01,
        schedule: Iterable[tuple[str, str]] = (),
        **link: str | int,
    ) -> Result:
        """Runs the server and then the client, until the client ends; returns what they did. Raises LabError.

        stdin: the client's standard input. capture: a file to write packets to; True for the result's packets alone;
        None for what the sandbox was made with. samples: a file to write samples to. interval_s: between samples.
        schedule: times and events of this run, beside those of all. link: knobs that differ in this run from those of
        the sandbox.
        """
        __tracebackhide__ = True  # pytest shows the test's line and the error alone
        if not isinstance(capture, Path | bool | None):
            raise ScenarioError("capture", f"{capture}", "a Path, True, False or None")
        _check_within("interval_s", interval_s, 1e-6, 3600)
        room = self._entered("run")
        request, repetition = self._asked("run", client, stdin, schedule, link)
        traces: list[PacketTrace] = []
        request = replace(
            request,
            spec=replace(request.spec, interval_ns=None if samples is None else round(interval_s * _NS)),
            capture=capture if isinstance(capture, Path) else None,
            samples=samples,
            traced=traces.append if capture or (capture is None and self._capture) else None,
        )
        where, _ = session.usable(request)
        frames: list[OutputFrame] = []
        outcome = session.carry_out(request, where, room, frames.extend)
        trace = traces[0] if traces else None
        self._last = Result(outcome=outcome, frames=frames, trace=trace, command=repetition.command)
        if outcome.ending is not Ending.ENDED:
            raise StepFailed("sandbox", "; ".join([outcome.reason or outcome.ending, *outcome.hints]))
        return self._last

    def search(
        self,
        client: Command,
        *,
        seeds: Sequence[int],
        faults: str | None = None,
        fails: Callable[[Result], object] = lambda result: result.code != 0,
        jobs: int = 1,
        stdin: bytes = b"",
        capture: bool | None = None,
        schedule: Iterable[tuple[str, str]] = (),
        **link: str | int,
    ) -> FailingSeed | None:
        """Runs with one seed after the other until a run fails; returns it, None if none fails. Raises LabError.

        seeds: such as range(1, 1001). faults: events that each seed draws (`--faults`); those of the run that is
        returned are fewer and shorter ones with which it still fails in the same way. fails: returns a true value, or
        raises AssertionError, for the result of a run that fails. A run whose client does not end fails anyway. jobs:
        how many runs at once; of more than four, some start a guest each. The others are those of run().
        """
        __tracebackhide__ = True  # pytest shows the test's line and the error alone
        room = self._entered("search")
        check_seeds("seeds", seeds)
        if knobs.SEED in link:
            raise Unfit(f"search({knobs.SEED}=...): the parameter is seeds, such as seeds=range(1, 1001)")
        request, repetition = self._asked("search", client, stdin, schedule, link)
        if request.fabric == session.NAMESPACES:
            raise ScenarioError("fabric", request.fabric, f"{session.GUEST} with search(): elsewhere no run repeats")
        request = replace(request, fabric=session.GUEST)
        session.usable(request)

        def result_of(run: TrialRun) -> Result:
            command = replace(repetition, spec=run.spec).command
            return Result(outcome=run.outcome, frames=run.frames, trace=run.trace, command=command)

        def way_to_fail(run: TrialRun) -> Hashable | None:
            if run.outcome.ending is not Ending.ENDED:
                return run.outcome.ending
            try:
                return "fails" if fails(result_of(run)) else None
            except AssertionError:
                return "fails"

        found = SeedSearch(
            request=request,
            room=room,
            judge=way_to_fail,
            faults=None if faults is None else Faults.parse(faults, request.spec, "faults"),
            traced=self._capture if capture is None else capture,
            jobs=jobs_of("jobs", f"{jobs}"),
        ).find(seeds)
        if found is None:
            return None
        self._last = result_of(found.run)
        return FailingSeed(seed=found.run.trial.seed, schedule=found.run.trial.schedule, result=self._last)

    def _entered(self, name: str) -> Path:
        """Returns the folder for the files of runs. Raises StepFailed outside of `with`."""
        if self._room is None:
            raise StepFailed("sandbox", f"{name}() needs `with`: with Sandbox(...) as sandbox: sandbox.{name}(...)")
        return self._room

    def _asked(
        self,
        name: str,
        client: Command,
        stdin: bytes,
        schedule: Iterable[tuple[str, str]],
        link: Mapping[str, str | int],
    ) -> tuple[RunRequest, Repetition]:
        """Returns what a call of this name asks for, and how a command asks for it. Raises ScenarioError."""
        _check_names(name, link)
        if not isinstance(stdin, bytes):
            raise ScenarioError("stdin", f"{stdin}", "bytes")
        given = layered(self._given, {knob: str(value) for knob, value in link.items()})
        knobs.check(given)
        words = split(client, CLIENT)
        if not words:
            raise ScenarioError(CLIENT, "", "a command, such as 'curl http://server/'")
        spec = replace(self._spec, knobs=knobs.of_way(given), seed=knobs.seed(given), client=words).scheduled(
            with_tables((*self._schedule, *schedule), _SCHEDULE), knobs.of_way({}), _SCHEDULE
        )
        request = RunRequest(
            spec=spec,
            fabric=given.get(knobs.FABRIC, knobs.default(knobs.FABRIC)),
            stdin=stdin,
            wall_limit_s=self._wall_limit_s,
            memory_mib=self._memory_mib,
            fresh=self._fresh,
        )
        repetition = Repetition(
            spec=spec,
            given=given,
            links={host: each.link for host, each in {SERVER: self._server, **self._further}.items()},
            memory=self._memory,
            stdin=stdin,
        )
        return request, repetition


def _check_names(called: str, given: Iterable[str]) -> None:
    """Checks that what should be knobs are not parameters: of another name, or of the other call. Raises Unfit."""
    calls: dict[str, Callable[..., object]] = {"Sandbox": Sandbox, "run": Sandbox.run, "search": Sandbox.search}
    parameters = {name: signature(call).parameters for name, call in calls.items()}
    for name in given:
        for call, allowed in parameters.items():
            for meant in (name, f"{name}_s"):
                if meant in allowed:
                    hint = ", in seconds" if meant.endswith("_s") else ""
                    raise Unfit(f"{called}({name}=...): the parameter is {meant} of {call}(){hint}")


def _check_within(name: str, given: float, least: float, most: float) -> None:
    """Checks a parameter that is a number. Raises ScenarioError."""
    if not isinstance(given, int | float) or not least <= given <= most:
        raise ScenarioError(name, f"{given}", f"{least:g} to {most:g} seconds")


def _variables(env: Mapping[str, str]) -> Mapping[str, str]:
    """Returns variables of an environment, after a check. Raises ScenarioError."""
    for name, value in env.items():
        if not all(isinstance(each, str) for each in (name, value)) or not name or "=" in name or "\0" in name + value:
            raise ScenarioError("env", f"{name}={value}", "a text by a name without =, and no zero byte")
    return env


def _links(hosts: Mapping[str, Host]) -> dict[str, dict[str, str]]:
    """Returns the knobs of the hosts' links. Raises ScenarioError."""
    for name, host in hosts.items():
        knobs.check_link(name, host.link, hosts)
    return {name: knobs.of_way(host.link) for name, host in hosts.items() if host.link}


__all__ = ["ClientFailed", "Command", "FailingSeed", "Host", "LabError", "Result", "Sandbox"]
