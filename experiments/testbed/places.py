"""The interface of a run's places, whatever they are made of."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from common.clock_route import ClockRoute
from experiments.host.origin_process import ONE_THREAD, PROGRAM, RunningOrigin
from experiments.host.processes import Process
from experiments.host.tools import Tools
from experiments.results.run_folder import PARTIAL, RunFolder
from experiments.scenario.scenario import Scenario, ShaperAt
from netem.calibration import Calibration, Tolerance
from netem.carried import Received
from netem.link import Link
from netem.shaper import Shaper
from proxy.front import Front
from proxy.tuner.tuner import TunerKind

FRONT_PORT = 443
CLIENT_PORT = 40_000
"""A fixed port: the kernel's choice would depend on earlier connections, also of other runs in one guest."""
ORIGIN_PORT = 8080


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """IPv4 addresses of the places that accept connections; nothing can bypass the link between client and front."""

    client: str
    front: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class OriginSettings:
    """The file of the page that the origin serves, the Node that runs it, and the folder for its logs."""

    program: str
    page: Path
    folder: Path

    @property
    def command(self) -> tuple[str, ...]:
        """The argument list that starts it."""
        return (self.program, *ONE_THREAD, str(PROGRAM))

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that backend/origin.mjs reads, except for the address."""
        return {
            "PAGE": str(self.page),
            "ACCESS_LOG": str(self.folder / "access.jsonl"),
        }


Look = Callable[[int], int | None]
"""Samples, and does other work that is due, at the given time; returns when to be called next, or None for never."""


@dataclass(frozen=True, kw_only=True)
class ActiveLink:
    """The link at work. shaper: its kind. commands: the commands that made it.

    pid: of the ferry; None if the kernel shapes, or the process cannot be seen from here. instead_of_netem: the reason
    why SHAPER=auto did not take netem; None if it did, or if a shaper was asked for.

    check_alive raises StepFailed if it has ended. counters returns what it carried, by direction. look samples the
    queue and applies due rate steps, unless the link does so itself; it returns when to be called next. begin tells it
    when the measured load began; rate steps count from then, and changes.jsonl lists them when the link has ended. look
    and begin raise StepFailed on failure. carried returns what has come from the front so far, shaped or not.
    """

    shaper: Shaper
    instead_of_netem: str | None
    pid: int | None
    commands: Sequence[Sequence[str]]
    check_alive: Callable[[], None]
    counters: Callable[[], Mapping[str, Any]]
    carried: Callable[[], Received]
    look: Look
    begin: Callable[[int], object]


@dataclass(frozen=True, kw_only=True)
class ActiveTuner:
    """The tuner at work: its kind, the reason for that kind, and the callback that samples."""

    kind: TunerKind
    reason: str | None
    look: Look


def no_look(now_ns: int) -> None:
    """The `Look` of a link that keeps its journal itself."""
    del now_ns


def gso_segments_in(details: str) -> int:
    """The gso_max_segs in the output of `ip -details link show` for one device."""
    words = details.split()
    return int(words[words.index("gso_max_segs") + 1])


def run_label(folder: RunFolder) -> str:
    """A name for what is made outside the run folder and may outlive its maker: a cgroup, a compose project."""
    return f"priolab-{folder.path.parent.name.removesuffix(PARTIAL)}-{folder.path.name}"


class Places(Protocol):
    """The places of one run, wired and up. Every method may raise StepFailed or Unavailable.

    python: the interpreter in the client's place. front_state: a folder in the front's place for the server's own
    files. as_root: True if the front runs as the superuser of its place.
    """

    addresses: Addresses
    python: str
    front_state: Path
    as_root: bool

    def seen(self, folder: RunFolder) -> RunFolder:
        """The run folder as programs in the places find it."""

    def describe(self) -> Mapping[str, Any]:
        """The places' own part of env.json."""

    def python_clock(self) -> Mapping[str, Any]:
        """The client's clock for env.json (common/clock_quality.py)."""

    def node_route(self, tools: Tools) -> ClockRoute:
        """The way the origin's Node reads the clock."""

    def apply_settings(self, scenario: Scenario) -> None:
        """Sets send buffer, congestion control, LOWAT and GSO of the front, where that is possible before it runs."""

    def settings(self) -> dict[str, Any]:
        """Reads the settings in the place of a running front: lowat, tcp_wmem, gso_segments."""

    def start_origin(self, origin: OriginSettings) -> AbstractContextManager[RunningOrigin]:
        """Starts the origin and waits until it answers."""

    def start_front(self, front: Front, scenario: Scenario, origin: Process) -> AbstractContextManager[Process]:
        """Starts the front, waits until it answers, sets what needs a running one.

        Stops waiting if the origin has ended.
        """

    def start_link(
        self, link: Link, shaper: Shaper | None, at: ShaperAt, *, seed: int, folder: Path, interval_ns: int | None
    ) -> AbstractContextManager[ActiveLink]:
        """Starts the link, shaped there; with no shaper named, by the kernel's netem where it exists.

        Samples its queue into the folder at that interval, with None not at all.
        """

    def calibrate(self, link: Link, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
        """Measures the link until it is within tolerance, a few times at most; returns the result and the attempts.

        pid: of the ferry; once it has ended, no more is awaited.
        """

    def sampling(self, front: Process, folder: Path, interval_ns: int | None) -> AbstractContextManager[Look]:
        """Samples the front's side of the client's connection at that interval, into the folder; with None, once."""

    def tuning(self, front: Process, scenario: Scenario, folder: Path) -> AbstractContextManager[ActiveTuner]:
        """Runs the tuner of LOWAT=auto on the front's connections, with its journal in the folder."""

    def capturing(self, program: str, folder: Path) -> AbstractContextManager[Sequence[Process]]:
        """Runs tcpdump at the client and at the front's side toward it; the folder has their files at the end.

        program: tcpdump, where it is one of this machine. Also raises InvalidRun if packets were missed.
        """

    def start_client(self, command: Sequence[str], log: Path, stdout: int) -> AbstractContextManager[Process]:
        """Starts a program in the client's place; its standard output goes to that descriptor."""
