"""Run folders as values. Raises FolderError, naming file and line, for anything that is not one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.records import shape
from analysis.records.samples import latest
from common.formats import RUN_FORMAT, files
from common.formats.events import Arrival, Event
from common.formats.page import Page
from common.formats.plan import Plan
from common.formats.reading import FolderError, read_document, read_journal
from common.formats.samples import OriginRequest, QueueSample, SocketSample


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
    document: Mapping[str, Any]

    @property
    def arm(self) -> str:
        """Name of the arm."""
        return str(self.document["arm"])

    @property
    def status(self) -> str:
        """ok, failed, invalid or unsupported."""
        return str(self.document["status"])

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The scenario as asked."""
        scenario: Mapping[str, Any] = self.document["scenario"]
        return scenario

    @property
    def observed(self) -> Mapping[str, Any]:
        """The settings as observed."""
        observed: Mapping[str, Any] = self.document["observed"]
        return observed

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
    document: Mapping[str, Any]
    runs: tuple[Run, ...]

    def arms(self) -> dict[str, list[Run]]:
        """Repetitions by arm."""
        arms: dict[str, list[Run]] = {}
        for run in self.runs:
            arms.setdefault(run.arm, []).append(run)
        return arms


def load_experiment(path: Path) -> Experiment:
    """The experiment in a folder. Raises FolderError."""
    file = path / "experiment.json"
    document = load_document(file, shape.EXPERIMENT)
    for name in document["runs"]:
        if Path(name).name != name:
            raise FolderError(f"{file}: runs: {name!r} is no name of a folder in it")
    return Experiment(path=path, document=document, runs=tuple(load_run(path / name) for name in document["runs"]))


def load_run(path: Path) -> Run:
    """The run in a folder. Raises FolderError."""
    return Run(path=path, document=load_document(path / "run.json", shape.RUN))


def load_environment(path: Path) -> Mapping[str, Any]:
    """Kernel, and versions of programs, of a run folder. Raises FolderError."""
    file = path / "env.json"
    document = _json(file)
    if told := shape.trouble(document, shape.ENVIRONMENT):
        raise FolderError(f"{file}: {told}")
    read: Mapping[str, Any] = document
    return read


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


def load_document(file: Path, schema: Mapping[str, Any], formats: Sequence[int] = (RUN_FORMAT,)) -> Mapping[str, Any]:
    """A JSON document that has a format and a schema (analysis.records.shape). Raises FolderError."""
    document = _json(file)
    found = document.get("format") if isinstance(document, dict) else None
    if found not in formats:
        readable = f"format{'s' if len(formats) > 1 else ''} {' and '.join(map(str, formats))}"
        raise FolderError(f"{file}: format {found}; this version reads {readable}")
    if told := shape.trouble(document, schema):
        raise FolderError(f"{file}: {told}")
    read: Mapping[str, Any] = document
    return read


def _json(file: Path) -> Any:
    try:
        return _printable(files.document(file))
    except FileNotFoundError:
        raise FolderError(f"{file}: missing; not a results folder, or an unfinished one") from None
    except (ValueError, OSError) as error:
        raise FolderError(f"{file}: {error}") from error


def _printable(value: Any) -> Any:
    """The document with every text in it as it can be shown: on terminals, in pictures and in pages."""
    if isinstance(value, str):
        return files.printable(value)
    if isinstance(value, list):
        return [_printable(each) for each in value]
    if isinstance(value, dict):
        return {files.printable(key): _printable(each) for key, each in value.items()}
    return value
