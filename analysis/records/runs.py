"""Loads runs and experiments from their folders.

Each function and method that reads a file raises FolderError if the file is missing or malformed. The error names the
file, and the line if the file has one record per line.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from pathlib import Path

from priolab.analysis.records.samples import latest
from priolab.common.formats import RUN_FORMAT
from priolab.common.formats.counters import Counters, FrontReading
from priolab.common.formats.environment import EnvironmentRecord
from priolab.common.formats.events import Arrival, Event
from priolab.common.formats.experiment import ExperimentRecord
from priolab.common.formats.page import Page
from priolab.common.formats.plan import Group, Plan, Protocol
from priolab.common.formats.reading import FolderError, read_document, read_journal
from priolab.common.formats.run import Observed, RunRecord, Status
from priolab.common.formats.samples import (
    ConnectionSample,
    CrossSample,
    OriginRequest,
    QueueSample,
    ServiceSpan,
    SocketSample,
)
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.formats.segments import Segment
from priolab.common.formats.upstream_timing import Passage


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The logs of client and origin about the loads of a page.

    groups: the streams that only have a place in the client's priority tree. focal: the name of the focal resource that
    run.json records; None if the run is not judged yet. protocol: the connection's. source: path of the events' file,
    for errors.
    """

    events: tuple[Event, ...]
    requests: tuple[OriginRequest, ...]
    page: Page
    groups: tuple[Group, ...] = ()
    focal: str | None = None
    protocol: Protocol = Protocol.HTTP2
    source: str = "events.jsonl"


@dataclass(frozen=True, kw_only=True)
class Layers:
    """Samples of the front's socket and of the link, and the client's arrivals, all with times of the same clock.

    Each tuple is in order of time, and empty if the run has no such records. queue: samples of the direction toward the
    client; queue_up: of the other. cross: samples of the cross traffic. passages, connections: responses between the
    two fronts, and samples of the second front's sockets. segments: the captured segments, the front's first
    (CAPTURE=yes). readings: those of the front's counters; second_readings: of the second front's. service: when the
    front's server was at work (SERVICE), in order of the ends.
    """

    sockets: tuple[SocketSample, ...]
    queue: tuple[QueueSample, ...]
    arrivals: tuple[Arrival, ...]
    cross: tuple[CrossSample, ...] = ()
    passages: tuple[Passage, ...] = ()
    connections: tuple[ConnectionSample, ...] = ()
    segments: tuple[Segment, ...] = ()
    readings: tuple[FrontReading, ...] = ()
    service: tuple[ServiceSpan, ...] = ()
    queue_up: tuple[QueueSample, ...] = ()
    second_readings: tuple[FrontReading, ...] = ()

    def held(self, t_ns: int) -> QueueSample | None:
        """Returns the last sample of the link's queue up to an instant; None before the first sample."""
        return latest(self.queue, t_ns)

    def cross_packets(self, from_ns: int, until_ns: int) -> float:
        """Returns how many packets of cross traffic left the link between two instants.

        The count between two samples is interpolated.
        """
        return max(0.0, self._crossed_by(until_ns) - self._crossed_by(from_ns))

    def _crossed_by(self, t_ns: int) -> float:
        index = bisect_right(self.cross, t_ns, key=lambda sample: sample.t_ns)
        if index == 0:
            return 0.0
        before = self.cross[index - 1]
        if index == len(self.cross):
            return before.packets
        after = self.cross[index]
        passed = (t_ns - before.t_ns) / (after.t_ns - before.t_ns)
        return before.packets + passed * (after.packets - before.packets)

    def arrived_bytes(self, sample: SocketSample) -> int:
        """Returns how many bytes of the TCP stream the client had received when the socket was sampled.

        Before the first arrival that the client recorded, returns how many bytes the client had acknowledged.
        """
        arrived = latest(self.arrivals, sample.t_ns)
        return arrived.tcp_bytes if arrived else sample.bytes_acked


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run: the path of its folder, and the content of its run.json."""

    path: Path
    record: RunRecord

    @property
    def arm(self) -> str:
        """The name of the run's arm."""
        return self.record.arm

    @property
    def status(self) -> Status:
        """The status of the run: ok, failed, invalid or unsupported."""
        return self.record.status

    @property
    def scenario(self) -> ScenarioRecord:
        """The run's scenario, from run.json."""
        return self.record.scenario

    @property
    def observed(self) -> Observed:
        """The settings that the run observed, which may differ from those of the scenario."""
        return self.record.seen

    def plan(self) -> Plan:
        """Reads the client's plan from the folder."""
        return load_plan(self.path)

    def evidence(self) -> Evidence:
        """Reads the logs of client and origin from the folder."""
        focal = self.record.measured.focal if self.record.loads else None
        return replace(load_evidence(self.path), focal=focal)

    def layers(self) -> Layers:
        """Reads the samples and the client's arrivals from the folder."""
        return load_layers(self.path)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment: the path of its folder, the content of its experiment.json, and its runs in order."""

    path: Path
    record: ExperimentRecord
    runs: tuple[Run, ...]

    def arms(self) -> dict[str, list[Run]]:
        """Returns the runs of each arm, by the arm's name."""
        arms: dict[str, list[Run]] = {}
        for run in self.runs:
            arms.setdefault(run.arm, []).append(run)
        return arms


def load_experiment(path: Path) -> Experiment:
    """Loads an experiment from its folder, with all its runs."""
    record = read_experiment(path)
    return Experiment(path=path, record=record, runs=tuple(load_run(path / name) for name in record.runs))


def read_experiment(path: Path) -> ExperimentRecord:
    """Reads the experiment.json of an experiment's folder."""
    return read_document(path / "experiment.json", ExperimentRecord, format_number=RUN_FORMAT)


def load_run(path: Path) -> Run:
    """Loads a run from its folder. Raises FolderError, also if the resources of a load are not the scenario's."""
    file = path / "run.json"
    record = read_document(file, RunRecord, format_number=RUN_FORMAT)
    names = {each.name for each in record.scenario.resources}
    for load in record.loads:
        if load.resources.keys() != names or load.focal not in names:
            raise FolderError(f"{file}: load {load.load}: its resources are not those of the scenario")
    return Run(path=path, record=record)


def load_environment(path: Path) -> EnvironmentRecord:
    """Reads the kernel and the versions of the programs of a run, from its folder."""
    return read_document(path / "env.json", EnvironmentRecord)


def load_plan(path: Path) -> Plan:
    """Reads the client's plan from a run's folder. The run need not be finished."""
    return read_document(path / "client" / "plan.json", Plan)


def load_evidence(path: Path) -> Evidence:
    """Reads the logs of client and origin from a run's folder. The run need not be finished."""
    plan = load_plan(path)
    events_file = path / "client" / "events.jsonl"
    return Evidence(
        source=str(events_file),
        events=tuple(read_journal(events_file, Event)),
        requests=tuple(read_journal(path / "origin" / "access.jsonl", OriginRequest)),
        page=plan.page,
        groups=plan.groups,
        protocol=plan.protocol,
    )


def load_layers(path: Path) -> Layers:
    """Reads the samples and the client's arrivals from a run's folder. The run need not be finished."""
    lines = read_journal(path / "link" / "queue.jsonl", QueueSample)
    cross, second, segments = path / "link" / "cross.jsonl", path / "second", path / "wire" / "segments.jsonl"
    service = path / "front" / "service.jsonl"
    return Layers(
        sockets=tuple(read_journal(path / "front" / "sockets.jsonl", SocketSample)),
        queue=tuple(line for line in lines if line.direction == "down"),
        arrivals=tuple(read_journal(path / "client" / "arrivals.jsonl", Arrival)),
        cross=tuple(read_journal(cross, CrossSample)) if cross.exists() else (),
        passages=tuple(read_journal(second / "passages.jsonl", Passage)) if second.exists() else (),
        connections=tuple(read_journal(second / "connections.jsonl", ConnectionSample)) if second.exists() else (),
        segments=tuple(read_journal(segments, Segment)) if segments.exists() else (),
        readings=_readings(path / "front" / "counters.json"),
        service=tuple(read_journal(service, ServiceSpan)) if service.exists() else (),
        queue_up=tuple(line for line in lines if line.direction == "up"),
        second_readings=_readings(second / "counters.json"),
    )


def _readings(file: Path) -> tuple[FrontReading, ...]:
    return read_document(file, Counters).readings if file.exists() else ()
