"""Run folders as values. Raises FolderError, naming file and line, for anything that is not one."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

RUN_FORMAT = 1

_RUN_KEYS = ("arm", "status", "reason", "scenario", "observed", "verdict", "verdict_reason", "loads", "wall_s")

T = TypeVar("T")


class FolderError(Exception):
    """Not a run folder, or a damaged one: the file, the line where there is one, and what is wrong."""


@dataclass(frozen=True, kw_only=True)
class ClientEvent:
    """One line of client/events.jsonl; see docs/results.md for the kinds."""

    t_ns: int
    kind: str
    load: int
    stream_id: int | None = None
    resource: str | None = None
    size_bytes: int | None = None
    detail: str | None = None


@dataclass(frozen=True, kw_only=True)
class OriginRequest:
    """One line of origin/access.jsonl; times are None if the request was given up."""

    path: str
    received_ns: int
    available_ns: int | None
    handed_over_ns: int | None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What client and origin wrote down. favoured: the resource asked to come first, None if no order was asked."""

    events: tuple[ClientEvent, ...]
    requests: tuple[OriginRequest, ...]
    favoured: str | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """One arm, once: its folder and run.json."""

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
        """What was found in place of it."""
        observed: Mapping[str, Any] = self.document["observed"]
        return observed

    def evidence(self) -> Evidence:
        """Its events, read anew."""
        return load_evidence(self.path)


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
    document = _document(path / "experiment.json", ("experiment", "fabric", "runs"))
    return Experiment(
        path=path,
        document=document,
        runs=tuple(load_run(path / name) for name in document["runs"]),
    )


def load_run(path: Path) -> Run:
    """The run in a folder. Raises FolderError."""
    return Run(path=path, document=_document(path / "run.json", _RUN_KEYS))


def load_evidence(path: Path) -> Evidence:
    """Events of a run folder, finished or not. Raises FolderError."""
    plan_file = path / "client" / "plan.json"
    try:
        resources = _json(plan_file)["resources"]
        weights = {request["name"]: request["weight"] for request in resources if request["weight"] is not None}
    except (KeyError, TypeError) as error:
        raise FolderError(f"{plan_file}: not a plan: {error!r}") from error
    heaviest = [name for name, weight in weights.items() if weight == max(weights.values())]
    return Evidence(
        events=tuple(_lines(path / "client" / "events.jsonl", ClientEvent)),
        requests=tuple(_lines(path / "origin" / "access.jsonl", _origin_request)),
        favoured=heaviest[0] if len(heaviest) == 1 and len(weights) > 1 else None,
    )


def _document(file: Path, keys: Iterable[str]) -> Mapping[str, Any]:
    document = _json(file)
    if not isinstance(document, dict) or document.get("format") != RUN_FORMAT:
        found = document.get("format") if isinstance(document, dict) else None
        raise FolderError(f"{file}: format {found}; this version reads format {RUN_FORMAT}")
    missing = [key for key in keys if key not in document]
    if missing:
        raise FolderError(f"{file}: without {', '.join(missing)}")
    return document


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text())
    except FileNotFoundError:
        raise FolderError(f"{file}: missing; not a results folder, or an unfinished one") from None
    except (ValueError, OSError) as error:
        raise FolderError(f"{file}: {error}") from error


def _origin_request(**fields: Any) -> OriginRequest:
    return OriginRequest(
        path=fields["path"],
        received_ns=fields["received_ns"],
        available_ns=fields.get("available_ns"),
        handed_over_ns=fields.get("handed_over_ns"),
    )


def _lines(file: Path, make: Callable[..., T]) -> list[T]:
    made: list[T] = []
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FolderError(f"{file}: {error.strerror}") from error
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            made.append(make(**json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            raise FolderError(f"{file}:{number}: not an event: {error}") from error
    return made
