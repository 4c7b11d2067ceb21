"""The record of a run: run.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec

from priolab.common.formats import RUN_FORMAT
from priolab.common.formats.conversion import convert
from priolab.common.formats.counters import Counts
from priolab.common.formats.page import MAPS
from priolab.common.formats.scenario import LEFT_OUT, ScenarioRecord

Status = Literal["ok", "failed", "invalid", "unsupported"]


class Verdict(StrEnum):
    """The verdicts; docs/reference/glossary.md explains them."""

    KEPT = "kept"
    INVERTED = "inverted"
    NOTHING = "nothing-to-prioritize"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class ResourceRecord:
    """A resource of a load. Times are milliseconds from the load's first request.

    available_ms: when the origin had the response. headers_ms, first_byte_ms, last_byte_ms: when these arrived.
    goodput_bit_s: the payload after the first piece, divided by the time from the first to the last piece; None if all
    arrived at one instant, and in folders of earlier versions. gap_p50_ms, gap_p99_ms, gap_longest_ms: median, 99th
    percentile and longest of the times between the response's pieces; None if the response arrived in one piece.
    """

    available_ms: float
    headers_ms: float
    first_byte_ms: float
    last_byte_ms: float
    size_bytes: int
    important: bool
    goodput_bit_s: int | None = None
    gap_p50_ms: float | None = None
    gap_p99_ms: float | None = None
    gap_longest_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class CostRecord(Counts):
    """The costs of a load to the front: the counts of this load (common/formats/counters.py).

    cwnd_limited_us: the part of busy_us in which neither the client's window nor the send buffer was the limit, but the
    congestion window or the pacing. memory_bytes: the kernel's memory for the front's TCP connections at the load's
    end. memory_most_bytes: the most memory in the send buffer of the client's connection, of all samples in the load.
    reasons: why a count is None, by its name.
    """

    cwnd_limited_us: int | None = None
    memory_bytes: int | None = None
    memory_most_bytes: int | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LimitsRecord:
    """The limits of a load's transfer, from the first byte of payload at the client to the last.

    shares: the part of the time for which each was the limit, 0 to 1, by the names in analysis/loads/limits.py.
    largest: the name of the largest. goodput_bit_s: the payload after the first piece over this time. slow_start: the
    part of the time in slow start. goodput_after_bit_s: the goodput after it; that of the whole time without slow
    start. The last two are None with BBR; a goodput is None if no time is left.
    """

    shares: Mapping[str, float]
    largest: str
    goodput_bit_s: int | None
    slow_start: float | None
    goodput_after_bit_s: int | None


@dataclass(frozen=True, kw_only=True)
class LoadRecord:
    """A page load. Times are milliseconds from the load's first request.

    load: the number of the load, from 1. focal: the name of the focal resource. available_ms, first_byte_ms: times of
    the focal resource. important_*, others_*: times of the important resources, and of the others
    (common/formats/page.py); None if there are no others. other_bytes_before: bytes of the others that arrived before
    the first byte of the focal resource. other_bytes_during: bytes of the others that arrived between the first and the
    last byte of the focal resource. cost, second_cost: what the load cost the front and the second front (VIA). limits:
    what limited the transfer; None with too few samples of the front's socket. The last three are None in folders of
    earlier versions.
    """

    load: int
    resources: Annotated[Mapping[str, ResourceRecord], msgspec.Meta(min_length=1)]
    focal: str
    available_ms: float
    first_byte_ms: float
    important_last_byte_ms: float
    others_first_byte_ms: float | None
    others_last_byte_ms: float | None
    other_bytes_before: int
    other_bytes_during: int
    cost: CostRecord | None = None
    limits: LimitsRecord | None = None
    second_cost: CostRecord | None = None

    @property
    def complete_ms(self) -> float:
        """The time of the last byte of all resources, documents excluded."""
        return max(self.important_last_byte_ms, self.others_last_byte_ms or 0.0)


@dataclass(frozen=True, kw_only=True)
class OtherBytes:
    """The bytes of the group `others` at an instant: the number of bytes in each layer of the ledger."""

    pending: int
    committed: int
    unsent: int
    queue: int
    propagation: int
    recovery: int
    received: int


@dataclass(frozen=True, kw_only=True)
class LedgerRecord:
    """The ledger of the measured load: where the first byte of the focal resource waited.

    parts_ms: the wait by layer. parts_uncertainty_ms: the largest possible error of each part; empty in folders of
    earlier versions. largest: the layer with the longest wait. explained: the fraction of the wait that the
    layers account for, 0 to 1. other_bytes_at_available: where the bytes of the group `others` were when the origin had
    the focal resource.
    """

    focal: str
    wait_ms: float
    parts_ms: Mapping[str, float]
    largest: str
    explained: float
    other_bytes_at_available: OtherBytes
    parts_uncertainty_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OracleRecord:
    """The oracle. first_byte_ms: the earliest time at which the focal resource's first byte could have come.

    inversion_ms: how much later the first byte came. inversion_bytes: the needless bytes (docs/reference/glossary.md).
    """

    first_byte_ms: float
    inversion_ms: float
    inversion_bytes: int


@dataclass(frozen=True, kw_only=True)
class ProbeRecord:
    """The result of a probe. served: (resource, bytes) in the order in which the front sent the bytes.

    steps: the number of times that the connection's window was opened. Steps and bytes count only while the front had a
    choice between streams. important: the name of the important resource. important_share: the fraction of the served
    bytes that belong to the important resource, 0 to 1.
    """

    steps: int
    important: str
    important_share: float
    served: Annotated[tuple[tuple[str, int], ...], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """A rate step of a run, at_ns after the measured load began.

    rate_bit_s: the rate after the step. late_ns: how long after its due time the step was made. reason: why the step
    was not made; None if the step was made.
    """

    at_ns: int
    rate_bit_s: int | None
    late_ns: int | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The observations in a run that the analysis needs.

    sndbuf_most_bytes, notsent_most_bytes: the largest send buffer, and the most unsent bytes, of all samples of the
    front's socket. socket_lowat: the values of TCP_NOTSENT_LOWAT that the samples found. clock_resolution_ns: the
    resolution of the coarsest clock. shaper_reason: why SHAPER=auto took the ferry instead of netem, else None.
    busy_us, rwnd_limited_us: for how long the front's kernel had data to send in the measured load, and the part in
    which the client's TCP window was the limit. unacked_most_bytes: the most bytes on their way in this load. These
    three are None without enough samples. unusual: the machine's own sysctls of TCP that are not Linux's defaults, as
    NAME=VALUE.
    """

    sndbuf_most_bytes: int | None
    notsent_most_bytes: int | None
    socket_lowat: tuple[int, ...]
    clock_resolution_ns: int | None
    rate_steps: tuple[StepRecord, ...]
    shaper: str | None
    shaper_reason: str | None
    tuner: str | None
    busy_us: int | None = None
    rwnd_limited_us: int | None = None
    unacked_most_bytes: int | None = None
    unusual: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """The settings and the course of a run.

    lab: the lab's version, and the digest of its code that decides results; None in runs of earlier versions. kernel: a
    description of the guest's kernel; None without a guest. reason: why the run is not ok. observed: all
    observations; those of a run that is ok include the keys of Observed. wall_s: how long the run took, in real time.
    front: properties of the server.
    """

    format: int = RUN_FORMAT
    run: str
    experiment: str
    arm: str
    repetition: int
    seed: int
    fabric: str
    lab: Mapping[str, str] | None = None
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
    """The results that analysis computes from the logs of a run; empty if no load is complete.

    loads: in order, the measured load last.
    """

    verdict: Verdict | None = None
    verdict_reason: str | None = None
    loads: tuple[LoadRecord, ...] = ()
    ledger: LedgerRecord | None = None
    ledger_reason: str | None = None
    oracle: OracleRecord | None = None
    probe: ProbeRecord | None = None


@dataclass(frozen=True, kw_only=True)
class RunRecord(Findings, Conduct):
    """A run. Raises ValueError if a run that is ok lacks a verdict, a load, or an observation that Observed names.

    Nor can a run of version 0.2 be read whose bottleneck was at the front.
    """

    def __post_init__(self) -> None:
        if self.knobs.get("SHAPER_AT") == "front":
            raise ValueError("SHAPER_AT=front: only version 0.2 reads such a run; now the bottleneck is the link's")
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
        """The observations of a run that is ok, checked."""
        return convert(self.observed, Observed)

    @property
    def measured(self) -> LoadRecord:
        """The measured load of a run that is ok."""
        return self.loads[-1]

    def as_document(self) -> dict[str, Any]:
        """Returns the content of run.json.

        With PAGE=maps some values are there twice: also under a key with a resource's name. The scenario has the fields
        of LEFT_OUT only if they are not None, its resources `fetchpriority`, `headers_ns`, `cue` and `header_bytes`
        only if they have one. A ledger of an earlier version has no uncertainties.
        """
        document: dict[str, Any] = json.loads(json.dumps(self, default=_shallow))
        if document["lab"] is None:
            del document["lab"]
        for name in LEFT_OUT:
            if document["scenario"][name] is None:
                del document["scenario"][name]
        for resource in document["scenario"]["resources"]:
            for key in ("fetchpriority", "headers_ns", "cue"):
                if resource[key] is None:
                    del resource[key]
            if not resource["header_bytes"]:
                del resource["header_bytes"]
        if document["ledger"] and not document["ledger"]["parts_uncertainty_ms"]:
            del document["ledger"]["parts_uncertainty_ms"]
        for load in document["loads"]:
            for key in ("cost", "limits", "second_cost"):
                if load[key] is None:
                    del load[key]
            for times in load["resources"].values():
                for key in [key for key, value in times.items() if value is None]:
                    del times[key]
        return document | (_maps_keys(document) if self.scenario.page == MAPS else {})


def _shallow(record: Any) -> dict[str, Any]:
    """Returns the fields of a record. dataclasses.asdict would copy their contents, which takes three times as long."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


_EDGES = ("headers_ms", "first_byte_ms", "last_byte_ms")
_MAPS_KEYS = {
    "ledger": ("other_bytes_at_available", "image_bytes_at_available"),
    "oracle": ("first_byte_ms", "script_first_byte_ms"),
    "probe": ("important_share", "script_share"),
}
"""For each part of run.json: a key, and its second name with PAGE=maps."""


def _maps_keys(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parts of run.json to which PAGE=maps adds keys, with these keys."""
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
