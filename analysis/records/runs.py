"""Run folders as values. Raises FolderError, naming file and line, for anything that is not one."""

from dataclasses import dataclass
from pathlib import Path

from analysis.records.samples import latest
from common.formats import RUN_FORMAT
from common.formats.environment import EnvironmentRecord
from common.formats.events import Arrival, Event
from common.formats.experiment import ExperimentRecord
from common.formats.page import Page
from common.formats.plan import Plan
from common.formats.reading import read_document, read_journal
from common.formats.run import Observed, RunRecord, Status
from common.formats.samples import OriginRequest, QueueSample, SocketSample
from common.formats.scenario import ScenarioRecord


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What client and origin wrote down about loads of a page. favoured: names of the resources asked to come first.

    source: the file of the events, for errors.
    """

    events: tuple[Event, ...]
    requests: tuple[OriginRequest, ...]
    page: Page
    favoured: tuple[str, ...]
    source: str = "events.jsonl"


@dataclass(frozen=True, kw_only=True)
class Layers:
    """What was seen between the origin and the client, on the one clock; each in order of time.

    queue: of the direction toward the client. Each is empty where nothing was sampled.
    """

    sockets: tuple[SocketSample, ...]
    queue: tuple[QueueSample, ...]
    arrivals: tuple[Arrival, ...]

    def held(self, t_ns: int) -> QueueSample | None:
        """What the link held at an instant, None before its first line."""
        return latest(self.queue, t_ns)

    def arrived_bytes(self, sample: SocketSample) -> int:
        """How much of the TCP stream the client had when the socket was looked at."""
        arrived = latest(self.arrivals, sample.t_ns)
        return arrived.tcp_bytes if arrived else sample.bytes_acked


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run: its folder and run.json."""

    path: Path
    record: RunRecord

    @property
    def arm(self) -> str:
        """Name of the arm."""
        return self.record.arm

    @property
    def status(self) -> Status:
        """ok, failed, invalid or unsupported."""
        return self.record.status

    @property
    def scenario(self) -> ScenarioRecord:
        """The scenario as asked."""
        return self.record.scenario

    @property
    def observed(self) -> Observed:
        """The settings as observed."""
        return self.record.seen

    def plan(self) -> Plan:
        """What its client was told to ask for, read anew."""
        return load_plan(self.path)

    def evidence(self) -> Evidence:
        """Its events, read anew."""
        return load_evidence(self.path)

    def layers(self) -> Layers:
        """Its samples, read anew."""
        return load_layers(self.path)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One invocation: its arms in order, each with its repetitions."""

    path: Path
    record: ExperimentRecord
    runs: tuple[Run, ...]

    def arms(self) -> dict[str, list[Run]]:
        """Repetitions by arm."""
        arms: dict[str, list[Run]] = {}
        for run in self.runs:
            arms.setdefault(run.arm, []).append(run)
        return arms


def load_experiment(path: Path) -> Experiment:
    """The experiment in a folder. Raises FolderError."""
    record = read_experiment(path)
    return Experiment(path=path, record=record, runs=tuple(load_run(path / name) for name in record.runs))


def read_experiment(path: Path) -> ExperimentRecord:
    """The experiment.json of a folder. Raises FolderError."""
    return read_document(path / "experiment.json", ExperimentRecord, format_number=RUN_FORMAT)


def load_run(path: Path) -> Run:
    """The run in a folder. Raises FolderError."""
    return Run(path=path, record=read_document(path / "run.json", RunRecord, format_number=RUN_FORMAT))


def load_environment(path: Path) -> EnvironmentRecord:
    """Kernel, and versions of programs, of a run folder. Raises FolderError."""
    return read_document(path / "env.json", EnvironmentRecord)


def load_plan(path: Path) -> Plan:
    """The plan of a run folder, finished or not. Raises FolderError."""
    return read_document(path / "client" / "plan.json", Plan)


def load_evidence(path: Path) -> Evidence:
    """Events of a run folder, finished or not. Raises FolderError."""
    plan = load_plan(path)
    events_file = path / "client" / "events.jsonl"
    return Evidence(
        source=str(events_file),
        events=tuple(read_journal(events_file, Event)),
        requests=tuple(read_journal(path / "origin" / "access.jsonl", OriginRequest)),
        page=plan.page,
        favoured=plan.favoured,
    )


def load_layers(path: Path) -> Layers:
    """Samples of a run folder, finished or not. Raises FolderError."""
    lines = read_journal(path / "link" / "queue.jsonl", QueueSample)
    return Layers(
        sockets=tuple(read_journal(path / "front" / "sockets.jsonl", SocketSample)),
        queue=tuple(line for line in lines if line.direction == "down"),
        arrivals=tuple(read_journal(path / "client" / "arrivals.jsonl", Arrival)),
    )
