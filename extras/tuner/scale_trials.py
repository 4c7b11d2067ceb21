"""Trials of many connections to nginx on this machine's clocks, each with a rate of its own.

    client (crowd/) ==== a class of HTB for each connection ==== nginx with files

Rules:
1. All connections are open before the first one loads its page. Each loads one page, in a random order with random
   intervals. A page is a file and, 0.2 s later, an urgent file.
2. The qdisc tells connections apart by the client's port, and gives each the rate of its group. There is no added
   delay: the round trips are those of the queues.
3. Each trial has a new nginx, in a new cgroup.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from priolab import StepFailed, Unavailable
from priolab.common.process import processes
from priolab.common.process.processes import Process, die_with_parent
from priolab.common.process.search_path import program_environment
from priolab.experiments.commands.console import Report
from priolab.experiments.hosts.real_fronts import ENDS, FIRST_PORT, LOWAT_SYSCTL, LOWAT_UNSET, Places, fronts, places
from priolab.testbed import cgroup


@dataclass(frozen=True, kw_only=True)
class Group:
    """Connections of one rate. file_bytes: the size of the file that each requests. queue_packets: of each."""

    name: str
    count: int
    rate: str
    file_bytes: int
    queue_packets: int


UNSET, TUNER = "unset", "tuner"
"""Two arms: no LOWAT, and the tuner. Other arms are a LOWAT in bytes."""

_TO_CLIENT = ENDS.wire("client").device
_URGENT = "urgent"
_URGENT_BYTES = 30_000
FIRST_CLIENT_PORT = 20_000
_OPEN_PER_S = 1000
_DELAY_S = 0.2
_PAGE_LIMIT_S = 60
_TO_CLASS = "3,40 0 0 36,68 0 0 65536,22 0 0 0"
"""Classic BPF: the destination's port, 36 bytes from the begin of the frame, is the number of the class 1:N."""
_STEP = "many connections"
_TUNER_STARTS_S, _LOOK_S = 30.0, 0.05
_MEMORY_EVERY_S = 0.5
_STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class Page:
    """A loaded page. first_byte_s: of the urgent file, since its request. goodput_bit_s: of the file."""

    group: str
    first_byte_s: float
    goodput_bit_s: float


@dataclass(frozen=True, kw_only=True)
class Work:
    """The work of the tuner's program in the kernel. ran_ns, runs: the time that it took, and how often it ran.

    tuned: connections that it has given a value. decisions: those that it counted. unlogged: those of them that did not
    fit into the log.
    """

    ran_ns: int
    runs: int
    tuned: int
    decisions: int
    unlogged: int


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial of an arm. cpu_s: nginx's, during the loads. memory_bytes: of TCP, at most, beyond that at the begin.

    tuner: what it did; None without it.
    """

    pages: Sequence[Page]
    cpu_s: float
    memory_bytes: int
    tuner: "Work | None" = None

    def first_byte_s(self, group: str) -> float:
        """Returns the median of the group's urgent first bytes."""
        return median(page.first_byte_s for page in self.pages if page.group == group)

    def late_first_byte_s(self, group: str) -> float:
        """Returns the 95th percentile of the group's urgent first bytes."""
        return quantiles((page.first_byte_s for page in self.pages if page.group == group), n=20)[-1]

    def goodput_bit_s(self, group: str) -> float:
        """Returns the mean of the group's goodputs."""
        found = [page.goodput_bit_s for page in self.pages if page.group == group]
        return sum(found) / len(found)


@dataclass(frozen=True, kw_only=True)
class Programs:
    """crowd: the client. tuner: priority-tuner."""

    crowd: Path
    tuner: Path


def measure(
    groups: Sequence[Group], loads_per_s: float, order: Sequence[str], programs: Programs, folder: Path, report: Report
) -> Mapping[str, Sequence[Trial]]:
    """Makes a trial of each arm of the order, and returns them by arm. Raises LabError, Unavailable without root.

    loads_per_s: connections that begin to load in a second, in the mean.
    """
    for program, target in ((programs.crowd, "make tuner-scale"), (programs.tuner, "make tuner")):
        if not program.exists():
            raise Unavailable(_STEP, f"there is no {program}", f"`{target}` builds it")
    if os.geteuid() != 0:
        raise Unavailable(_STEP, "only root can start the tuner in the kernel", "run as root")
    trials: dict[str, list[Trial]] = {arm: [] for arm in order}
    total = sum(group.count for group in groups)
    with places() as made, _counted_runs():
        shape(made, groups)
        for number, arm in enumerate(order, start=1):
            report.say(f"{total:,} connections: trial {number} of {len(order)}, {arm}")
            own = folder / str(number)
            own.mkdir(parents=True)
            trials[arm].append(
                _Trying(groups=groups, loads_per_s=loads_per_s, programs=programs, made=made, folder=own).trial(arm)
            )
    return trials


@contextmanager
def _counted_runs() -> Iterator[None]:
    """Has the kernel count the runs of BPF programs, which costs each run some ten nanoseconds."""
    before = _STATISTICS.read_text()
    _STATISTICS.write_text("1")
    try:
        yield
    finally:
        _STATISTICS.write_text(before)


def shape(made: Places, groups: Sequence[Group]) -> None:
    """Gives each connection a class of its own, whose number is the client's port. Raises StepFailed."""
    lines = [
        f"qdisc add dev {_TO_CLIENT} root handle 1: htb",
        f'filter add dev {_TO_CLIENT} parent 1: protocol ip bpf bytecode "{_TO_CLASS}"',
    ]
    port = FIRST_CLIENT_PORT
    for group in groups:
        for _ in range(group.count):
            lines.append(f"class add dev {_TO_CLIENT} parent 1: classid 1:{port:x} htb rate {group.rate} quantum 1514")
            lines.append(f"qdisc add dev {_TO_CLIENT} parent 1:{port:x} pfifo limit {group.queue_packets}")
            port += 1
    made.link.run(["tc", "-batch", "-"], "".join(f"{line}\n" for line in lines))


@dataclass(frozen=True, kw_only=True)
class _Trying:
    """The surroundings of all arms. folder: for the trial's files."""

    groups: Sequence[Group]
    loads_per_s: float
    programs: Programs
    made: Places
    folder: Path

    def trial(self, arm: str) -> Trial:
        self.made.front.write_sysctl(LOWAT_SYSCTL, LOWAT_UNSET if arm in (UNSET, TUNER) else arm)
        files = {str(group.file_bytes): group.file_bytes for group in self.groups} | {_URGENT: _URGENT_BYTES}
        with ExitStack() as stack:
            group = stack.enter_context(cgroup.own_group(f"priolab-scale-{os.getpid()}"))
            counters = stack.enter_context(fronts(["nginx"], self.folder, self.made.front, files, group))["nginx"]
            tuner = stack.enter_context(self._tuner(group)) if arm == TUNER else None
            client = stack.enter_context(self._client())
            before = counters.read(1).counts.cpu_ns
            lines, memory_bytes = _loaded(client)
            after = counters.read(2).counts.cpu_ns
            work = self._work(tuner.pid) if tuner else None
        if before is None or after is None:
            raise StepFailed(_STEP, "a process of nginx ended meanwhile")
        return Trial(
            pages=[_page(line) for line in lines],
            cpu_s=(after - before) / 10**9,
            memory_bytes=memory_bytes,
            tuner=work,
        )

    @contextmanager
    def _tuner(self, group: Path) -> Iterator[Process]:
        command = [str(self.programs.tuner), "run", "--quiet", "--cgroup", str(group)]
        log = self.folder / "tuner.log"
        with Process("the tuner", command, log) as tuner:
            end = time.monotonic() + _TUNER_STARTS_S
            while not log.read_text():  # its first line says that it tunes
                tuner.check_alive()
                if time.monotonic() > end:
                    raise StepFailed(_STEP, "the tuner does not start")
                time.sleep(_LOOK_S)
            yield tuner

    def _work(self, pid: int) -> Work:
        """Asks the kernel what the tuner of a process did. Raises StepFailed."""
        (state,) = json.loads(processes.run([str(self.programs.tuner), "status", "--json"], step=_STEP))
        ran_ns, runs = _runs_of(pid)
        return Work(
            ran_ns=ran_ns,
            runs=runs,
            tuned=state["connections_tuned"],
            decisions=sum(state["decisions"].values()),
            unlogged=state["unlogged"],
        )

    @contextmanager
    def _client(self) -> Iterator[subprocess.Popen[str]]:
        """Starts the client, and yields it when all connections are open. Ends it. Raises StepFailed."""
        port, classes = FIRST_CLIENT_PORT, []
        for group in self.groups:
            classes.append(f"{group.name}:{port}:{group.count}:{group.file_bytes}")
            port += group.count
        options = {
            "server": f"{ENDS.wire('front').address}:{FIRST_PORT}",
            "local": ENDS.wire("client").address,
            "classes": ",".join(classes),
            "opening": str(_OPEN_PER_S),
            "rate": str(self.loads_per_s),
            "delay": f"{_DELAY_S}s",
            "limit": f"{_PAGE_LIMIT_S}s",
        }
        command = [str(self.programs.crowd), *(f"-{name}={value}" for name, value in options.items())]
        pipe = subprocess.PIPE
        with self.made.client.entered():
            client = subprocess.Popen(
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                text=True,
                env=program_environment(),
                preexec_fn=die_with_parent,
            )
        try:
            assert client.stderr is not None
            said = client.stderr.readline().strip()
            if said != "open":
                raise StepFailed(_STEP, said or "the client ended at once")
            yield client
        finally:
            client.kill()
            client.communicate()


def _loaded(client: subprocess.Popen[str]) -> tuple[Sequence[str], int]:
    """Has the client load all pages. Returns its lines, and the most memory of TCP meanwhile. Raises StepFailed."""
    at_first = most = _tcp_bytes()
    words: str | None = "\n"
    while True:
        try:
            out, error = client.communicate(words, timeout=_MEMORY_EVERY_S)
        except subprocess.TimeoutExpired:
            words = None
            most = max(most, _tcp_bytes())
        else:
            if client.returncode != 0:
                raise StepFailed(_STEP, error.strip())
            return out.splitlines(), most - at_first


def _tcp_bytes() -> int:
    """Returns the memory of all TCP sockets of this machine, in bytes."""
    for line in Path("/proc/net/sockstat").read_text().splitlines():
        if line.startswith("TCP:"):
            return int(line.split()[-1]) * _PAGE_BYTES
    return 0


def _page(line: str) -> Page:
    """Reads a line of the client. Raises StepFailed if the page was not loaded."""
    found = json.loads(line)
    if error := found.get("error"):
        raise StepFailed(_STEP, f"the connection from port {found['port']}: {error}")
    size_bytes = found["bytes"] - _URGENT_BYTES
    return Page(
        group=found["class"],
        first_byte_s=found["urgent_first_s"],
        goodput_bit_s=size_bytes * 8 / found["file_last_s"],
    )


def _runs_of(pid: int) -> tuple[int, int]:
    """Returns the time and the number of runs of the BPF programs that a process holds."""
    total_ns = runs = 0
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(line.split(":\t", 1) for line in file.read_text().splitlines() if ":\t" in line)
        total_ns += int(fields.get("run_time_ns", 0))
        runs += int(fields.get("run_cnt", 0))
    return total_ns, runs
