"""What a run needs of its places, whatever they are made of."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from common.clock_route import Finding
from experiments.host.origin_process import ONE_THREAD, PROGRAM, RunningOrigin
from experiments.host.processes import Process
from experiments.host.tools import Tools
from experiments.results.run_folder import RunFolder
from experiments.scenario.scenario import Scenario, ShaperAt
from netem.calibration import Calibration, Tolerance
from netem.carried import Received
from netem.link import Link
from netem.shaper import Shaper
from proxy.front import Front
from proxy.tuner.tuner import TunerKind

FRONT_PORT = 443
CLIENT_PORT = 40_000
"""The kernel's choice would depend on the connections before it, also on those of other runs in one guest."""
ORIGIN_PORT = 8080


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """IPv4 addresses of the places that are spoken to; nothing can bypass the link between client and front."""

    client: str
    front: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class OriginSettings:
    """What the origin serves, the node that runs it, and the folder that its logs go to."""

    program: str
    size_bytes: int
    script_delay_ns: int
    folder: Path

    @property
    def command(self) -> tuple[str, ...]:
        """The argument list that starts it."""
        return (self.program, *ONE_THREAD, str(PROGRAM))

    @property
    def environment(self) -> Mapping[str, str]:
        """What backend/origin.mjs reads, but for the address."""
        return {
            "SIZE": str(self.size_bytes),
            "JS_DELAY_MS": str(self.script_delay_ns // 10**6),
            "ACCESS_LOG": str(self.folder / "access.jsonl"),
        }


Look = Callable[[int], int | None]
"""An instrument: given the time, does what is due; when there is something to do again, None for never."""


@dataclass(frozen=True, kw_only=True)
class ActiveLink:
    """The link at work. shaper is what it is made of; commands is what made it; pid, of who shapes it, if it is not the
    kernel and can be seen from here.

    instead_of_netem: why SHAPER=auto did not take netem; None if it did, or if a shaper was asked for.

    check_alive raises StepFailed if it has ended; counters gives what went over it, by direction. look does what is due
    and nobody else does: notes down its queue, makes its rate steps; when it is the next time. begin tells it when the
    measured load began, from when these count; what was made is in changes.jsonl when the link has ended. Both raise
    StepFailed if it cannot. carried is what has come from the front so far, shaped or not.
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
    """The tuner at work: what it is made of, why that and nothing better, and what it has to do now and then."""

    kind: TunerKind
    reason: str | None
    look: Look


def no_look(now_ns: int) -> None:
    """The `Look` of a link that keeps its journal itself."""
    del now_ns


def gso_segments(details: str) -> int:
    """gso_max_segs in what `ip -details link show` prints of one device."""
    words = details.split()
    return int(words[words.index("gso_max_segs") + 1])


class Places(Protocol):
    """The places of one run, wired and up. Every method may raise StepFailed or Unavailable.

    python: the interpreter in the client's place. front_state: a folder in the front's place for the server's own
    files; as_root: whether the front runs as the superuser of its place.
    """

    addresses: Addresses
    python: str
    front_state: Path
    as_root: bool

    def seen(self, folder: RunFolder) -> RunFolder:
        """The run folder as programs in the places find it."""

    def describe(self) -> Mapping[str, Any]:
        """What env.json should say about them."""

    def python_clock(self) -> Mapping[str, Any]:
        """What env.json should say about the clock that the client reads (common/clock_quality.py)."""

    def node_route(self, tools: Tools) -> Finding:
        """Which way the origin's Node reads the clock."""

    def tune(self, scenario: Scenario) -> None:
        """Set send buffer, congestion control, LOWAT and GSO of the front, where it can be done before it runs."""

    def settings(self) -> dict[str, Any]:
        """What is set in the place of a running front: lowat, tcp_wmem, gso_segments."""

    def start_origin(self, origin: OriginSettings) -> AbstractContextManager[RunningOrigin]:
        """The origin, answering."""

    def start_front(self, front: Front, scenario: Scenario, origin: Process) -> AbstractContextManager[Process]:
        """The front, answering, with what can only be set on a running one. An origin that has ended is not awaited."""

    def start_link(
        self, link: Link, shaper: Shaper | None, at: ShaperAt, *, seed: int, folder: Path, interval_ns: int | None
    ) -> AbstractContextManager[ActiveLink]:
        """The link, shaped there; with no shaper named, by the kernel's netem where it exists.

        Its queue is noted down in the folder every so often, with None not at all.
        """

    def calibrate(self, link: Link, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
        """Measure the link until it is within tolerance, a few times at most: the result, and the attempts.

        pid: of who shapes it; when that has ended, nobody waits for more.
        """

    def sampling(self, front: Process, folder: Path, interval_ns: int | None) -> AbstractContextManager[Look]:
        """Look at the front's side of the client's connection every so often, into the folder; with None, once."""

    def tuning(self, front: Process, scenario: Scenario, folder: Path) -> AbstractContextManager[ActiveTuner]:
        """With LOWAT=auto: what sets the option of the front's connections, its journal in the folder."""

    def capturing(self, program: str, folder: Path) -> AbstractContextManager[Sequence[Process]]:
        """Tcpdump at the client and at the front's side toward it, listening; the folder has their files at the end.

        program: tcpdump, where it is one of this machine. Raises InvalidRun, too, if packets were missed.
        """

    def start_client(self, command: Sequence[str], log: Path, stdout: int) -> AbstractContextManager[Process]:
        """A program in the client's place; its standard output goes to that descriptor."""
