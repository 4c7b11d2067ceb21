"""The record of a run: run.json."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec

from common.formats import RUN_FORMAT
from common.formats.page import MAPS
from common.formats.scenario import ScenarioRecord

Status = Literal["ok", "failed", "invalid", "unsupported"]


class Verdict(StrEnum):
    """The closed set of verdicts."""

    KEPT = "kept"
    INVERTED = "inverted"
    NOTHING = "nothing-to-prioritize"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class ResourceRecord:
    """A resource of a load, in milliseconds from the load's first request, and bytes.

    gap_*_ms: median, 99th percentile and longest of the times between its pieces; None if it came in one piece.
    """

    available_ms: float
    headers_ms: float
    first_byte_ms: float
    last_byte_ms: float
    size_bytes: int
    important: bool
    gap_p50_ms: float | None = None
    gap_p99_ms: float | None = None
    gap_longest_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class LoadRecord:
    """A page load; load counts from 1. available_ms, first_byte_ms: of the focal resource.

    other_bytes_before, other_bytes_during: of the others, that came before the focal resource's first byte, and from
    then to its last.
    """

    load: int
    resources: Annotated[Mapping[str, ResourceRecord], msgspec.Meta(min_length=2)]
    focal: str
    available_ms: float
    first_byte_ms: float
    important_last_byte_ms: float
    others_first_byte_ms: float
    others_last_byte_ms: float
    other_bytes_before: int
    other_bytes_during: int


@dataclass(frozen=True, kw_only=True)
class OtherBytes:
    """The places of the others' bytes at an instant."""

    pending: int
    committed: int
    unsent: int
    queue: int
    propagation: int
    recovery: int
    received: int


@dataclass(frozen=True, kw_only=True)
class LedgerRecord:
    """The ledger of the measured load. parts_ms: the wait by layer. explained: the part of it with a name, 0 to 1."""

    focal: str
    wait_ms: float
    parts_ms: Mapping[str, float]
    largest: str
    explained: float
    other_bytes_at_available: OtherBytes


@dataclass(frozen=True, kw_only=True)
class OracleRecord:
    """The earliest possible first byte of the focal resource, and what the measured load lost against it."""

    first_byte_ms: float
    inversion_ms: float
    inversion_bytes: int


@dataclass(frozen=True, kw_only=True)
class PredictionRecord:
    """The first byte that the model predicts, or the reason why it does not."""

    first_byte_ms: float | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class ProbeRecord:
    """A probe. important: that resource's name; important_share: its part, 0 to 1. served: (resource, bytes)."""

    steps: int
    important: str
    important_share: float
    served: Annotated[tuple[tuple[str, int], ...], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """A change of the rate, at_ns after the measured load began. reason: why it was not made."""

    at_ns: int
    rate_bit_s: int | None
    late_ns: int | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What analysis relies on of what a run observed."""

    sndbuf_most_bytes: int | None
    notsent_most_bytes: int | None
    socket_lowat: tuple[int, ...]
    clock_resolution_ns: int | None
    rate_steps: tuple[StepRecord, ...]
    shaper: str | None
    shaper_reason: str | None
    tuner: str | None
    tuner_reason: str | None


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """How a run was asked for and carried out. reason: why it is not ok. wall_s: the time it took.

    kernel: the guest's. observed: whatever was found; a run that is ok has the keys of Observed. front: traits of the
    server.
    """

    format: int = RUN_FORMAT
    run: str
    experiment: str
    arm: str
    repetition: int
    seed: int
    fabric: str
    kernel: Mapping[str, Any] | None = None
    status: Status
    reason: str | None
    observed: Mapping[str, Any]
    instruments: Mapping[str, Any]
    wall_s: float
    knobs: Mapping[str, str]
    scenario: ScenarioRecord
    front: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What the logs of a run amount to; without a complete load, nothing. loads: the measured one last."""

    verdict: Verdict | None
    verdict_reason: str | None
    loads: tuple[LoadRecord, ...]
    ledger: LedgerRecord | None
    ledger_reason: str | None
    oracle: OracleRecord | None
    prediction: PredictionRecord | None
    probe: ProbeRecord | None


@dataclass(frozen=True, kw_only=True)
class RunRecord(Findings, Conduct):
    """A run. Raises ValueError for one that is ok without a verdict, a load, or what it must have observed."""

    def __post_init__(self) -> None:
        if self.status != "ok":
            return
        if self.verdict is None or not self.loads:
            raise ValueError("a run that is ok has a verdict and at least one load")
        try:
            _ = self.seen
        except msgspec.ValidationError as error:
            raise ValueError(f"observed: {error}") from error

    @cached_property
    def seen(self) -> Observed:
        """The part of `observed` that analysis relies on, of a run that is ok."""
        return msgspec.convert(self.observed, Observed)

    @property
    def measured(self) -> LoadRecord:
        """The measured load of a run that is ok."""
        return self.loads[-1]

    def as_document(self) -> dict[str, Any]:
        """Returns the content of run.json. With PAGE=maps it has some figures also by the names of its resources."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        for load in document["loads"]:
            for times in load["resources"].values():
                for key in [key for key, value in times.items() if value is None]:
                    del times[key]
        return document | (_maps_keys(document) if self.scenario.page == MAPS else {})


_EDGES = ("headers_ms", "first_byte_ms", "last_byte_ms")
_MAPS_KEYS = {
    "ledger": ("other_bytes_at_available", "image_bytes_at_available"),
    "oracle": ("first_byte_ms", "script_first_byte_ms"),
    "prediction": ("first_byte_ms", "script_first_byte_ms"),
    "probe": ("important_share", "script_share"),
}
"""Of each part the key, and what it is called besides with PAGE=maps."""


def _maps_keys(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns loads and findings with the keys of PAGE=maps."""
    named = {
        part: {**document[part], own: document[part][key]} for part, (key, own) in _MAPS_KEYS.items() if document[part]
    }
    return {**named, "loads": [{**load, **_maps_keys_of_load(load)} for load in document["loads"]]}


def _maps_keys_of_load(load: Mapping[str, Any]) -> dict[str, Any]:
    edges = {name: {edge: times[edge] for edge in _EDGES} for name, times in load["resources"].items()}
    return {
        "script_available_ms": load["available_ms"],
        **{name: edges[name] for name in ("script", "image") if name in edges},
        "image_bytes_before_script": load["other_bytes_before"],
        "image_bytes_during_script": load["other_bytes_during"],
    }
