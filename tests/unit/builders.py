"""Small evidence made by hand: page loads, run.json documents, experiments."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.loads.findings import NOTHING
from analysis.loads.metrics import PageLoad, Piece, ResourceTimes
from analysis.records.runs import Evidence, Experiment, Run
from common.cost import Cost
from common.formats.events import Event, Kind
from common.formats.experiment import ExperimentRecord
from common.formats.page import Page, Resource
from common.formats.run import LoadRecord, ResourceRecord, RunRecord, Status, Verdict
from common.formats.samples import OriginRequest, ProcessSample, SocketSample
from common.formats.scenario import ScenarioRecord
from experiments.scenario.knobs import scenario_from
from experiments.scenario.pages import Parameters, page_of
from experiments.scenario.scenario import as_record

MS = 10**6

Pieces = Sequence[tuple[int, int]]
"""(milliseconds, bytes) of each piece of payload."""

PAGE_CAME: Pieces = [(45, 558)]
"""The document of the Maps case, in every load made here."""


def maps(size_bytes: int = 716_800, script_delay_ms: int = 200) -> Page:
    """The page of the Maps case."""
    return page_of("maps", Parameters(size_bytes=size_bytes, script_delay_ns=script_delay_ms * MS))


def resource(
    pieces: Pieces, of: Resource | None = None, *, requested_ms: int = 0, available_ms: int = 0, headers_ms: int = 0
) -> ResourceTimes:
    """A resource whose payload arrived like this; of: the image of the Maps case, if nothing else."""
    return ResourceTimes(
        resource=of or maps()["image"],
        requested_ns=requested_ms * MS,
        available_ns=available_ms * MS,
        headers_ns=headers_ms * MS,
        pieces=tuple(Piece(t_ns=t_ms * MS, size_bytes=size_bytes) for t_ms, size_bytes in pieces),
    )


def load_of(page: Page, payload: Mapping[str, Pieces], available_ms: Mapping[str, int]) -> PageLoad:
    """A load of a page that started at 0. payload, available_ms: of each resource by its name."""
    return PageLoad(
        number=1,
        started_ns=0,
        finished_ns=max(pieces[-1][0] for pieces in payload.values()) * MS,
        page=page,
        resources={
            each.name: resource(payload[each.name], each, available_ms=available_ms[each.name])
            for each in page.resources
        },
    )


def page_load(image: Pieces, script: Pieces, *, available_ms: int = 200) -> PageLoad:
    """A load of the Maps case that started at 0. available_ms: of the script."""
    payload = {"page": PAGE_CAME, "image": image, "script": script}
    return load_of(maps(), payload, {"page": 0, "image": 0, "script": available_ms})


def load_events(number: int, start_ms: int, image: Pieces, script: Pieces, *, finished: bool = True) -> list[Event]:
    """What the client writes down about one load; milliseconds count from its start."""

    def event(t_ms: int, kind: Kind | str, name: str | None = None, size_bytes: int | None = None) -> Event:
        return Event(t_ns=(start_ms + t_ms) * MS, kind=Kind(kind), load=number, resource=name, size_bytes=size_bytes)

    events = [event(0, "load-started"), event(0, "request-sent", "page")]
    events += [event(50, "request-sent", "image"), event(50, "request-sent", "script")]
    for name, headers_ms, pieces in (("page", 40, PAGE_CAME), ("image", 60, image), ("script", 60, script)):
        events.append(event(headers_ms, "headers", name))
        # The frame's header comes first and is no payload.
        events.append(event(pieces[0][0] - 1, "data-header", name, sum(size for _, size in pieces)))
        events += [event(t_ms, "data", name, size_bytes) for t_ms, size_bytes in pieces]
        events.append(event(pieces[-1][0], "ended", name))
    if finished:
        events.append(event(max(image[-1][0], script[-1][0]), "load-finished"))
    return sorted(events, key=lambda event: event.t_ns)


def script_request(received_ms: int, available_ms: int | None) -> OriginRequest:
    """The script, as the origin's access log tells of it."""
    available_ns = None if available_ms is None else available_ms * MS
    return OriginRequest(
        path="/script.js", received_ns=received_ms * MS, available_ns=available_ns, handed_over_ns=available_ns
    )


def evidence(
    loads: Iterable[list[Event]],
    requests: Iterable[OriginRequest],
    *,
    page: Page | None = None,
    favoured: Sequence[str] = ("script",),
) -> Evidence:
    """Evidence of a connection with these loads; of the Maps case, if of no other page.

    requests: of paths that the origin was slow to answer. It had all others when the client asked for them.
    """
    page = page or maps()
    connected = [Event(t_ns=0, kind=Kind.CONNECTED, load=0), Event(t_ns=1, kind=Kind.SECURED, load=0)]
    events = connected + [event for load in loads for event in load]
    slow = tuple(requests)
    paths = {each.name: each.path for each in page.resources}
    at_once = tuple(
        OriginRequest(path=paths[name], received_ns=event.t_ns, available_ns=event.t_ns + 1)
        for event in events
        if event.kind == "request-sent"
        and (name := event.resource)
        and paths[name] not in {request.path for request in slow}
    )
    return Evidence(events=tuple(events), requests=slow + at_once, page=page, favoured=tuple(favoured))


def socket_sample(**changes: int) -> SocketSample:
    """A sample of a socket that has sent nothing yet, but for these fields."""
    fields: dict[str, Any] = {field.name: 0 for field in dataclasses.fields(SocketSample)}
    return SocketSample(**fields | {"mss_bytes": 1448, "congestion_control": "cubic"} | changes)


def process_sample(t_ns: int, peer_port: int | None) -> ProcessSample:
    """A sample of a process of which nothing was counted."""
    fields: dict[str, Any] = dict.fromkeys(field.name for field in dataclasses.fields(ProcessSample))
    known = {"t_ns": t_ns, "pid": 1, "peer_port": peer_port, "lowat_bytes": 0, "sampler": Cost()}
    return ProcessSample(**fields | known)


def observed(**changes: Any) -> dict[str, Any]:
    """What a run observes where every knob did what it says."""
    return {
        "sndbuf_most_bytes": 4 * 2**20,
        "notsent_most_bytes": 131_072,
        "socket_lowat": [0],
        "clock_resolution_ns": None,
        "shaper": None,
        "shaper_reason": None,
        "tuner": None,
        "tuner_reason": None,
        "rate_steps": [],
    } | changes


def scenario(knobs: Mapping[str, str] | None = None, **changes: Any) -> ScenarioRecord:
    """What run.json keeps of a scenario, but for these fields."""
    return dataclasses.replace(as_record(scenario_from(knobs or {})), **changes)


def load_record(script_ms: tuple[float, float], image_ms: tuple[float, float], before: int = 0) -> LoadRecord:
    """A load of PAGE=maps as run.json keeps it; times are those of the first and the last byte."""

    def times(available_ms: float, edges_ms: tuple[float, float], size_bytes: int = 716_800) -> ResourceRecord:
        first_ms, last_ms = edges_ms
        return ResourceRecord(
            available_ms=available_ms,
            headers_ms=1.0,
            first_byte_ms=first_ms,
            last_byte_ms=last_ms,
            size_bytes=size_bytes,
            important=edges_ms is script_ms,
        )

    return LoadRecord(
        load=1,
        resources={"page": times(0.1, (0.5, 0.5), 558), "image": times(0.9, image_ms), "script": times(200, script_ms)},
        focal="script",
        available_ms=200.0,
        first_byte_ms=script_ms[0],
        important_last_byte_ms=script_ms[1],
        others_first_byte_ms=image_ms[0],
        others_last_byte_ms=image_ms[1],
        other_bytes_before=before,
        other_bytes_during=0,
    )


def run(
    arm: str = "control",
    *,
    status: Status = "ok",
    verdict: str = "kept",
    loads: Sequence[LoadRecord] = (),
    knobs: Mapping[str, str] | None = None,
    wall_s: float = 1.0,
    path: Path | None = None,
    **saw: Any,
) -> Run:
    """One arm's run.json, not in any folder; of one load, if of no others."""
    good = status == "ok"
    found = dataclasses.replace(
        NOTHING,
        verdict=Verdict(verdict),
        verdict_reason=f"{verdict}, because",
        loads=tuple(loads or [load_record((5.0, 9.0), (1.0, 4.0))]),
    )
    record = RunRecord(
        run=f"{arm}.1",
        experiment="maps-20260101-000000-abcd",
        arm=arm,
        repetition=1,
        seed=1,
        fabric="virtual",
        status=status,
        reason=None if good else f"the reason of {arm}",
        observed=observed(**saw) if good else {},
        instruments={},
        wall_s=wall_s,
        knobs=dict(knobs or {}),
        scenario=scenario(knobs),
        front={},
        **vars(found if good else NOTHING),
    )
    return Run(path=path or Path(record.run), record=record)


def experiment_record(*runs: str) -> ExperimentRecord:
    """The record of an experiment of runs with these names."""
    return ExperimentRecord(
        experiment="maps-20260101-000000-abcd",
        name="maps",
        fabric="virtual",
        started_at="2026-01-01T00:00:00+00:00",
        git_revision=None,
        fingerprint={},
        runs=runs,
    )


def experiment(*runs: Run) -> Experiment:
    """An experiment of these runs."""
    record = experiment_record(*(run.path.name for run in runs))
    return Experiment(path=Path("results/maps"), record=record, runs=runs)
