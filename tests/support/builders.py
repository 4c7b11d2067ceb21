"""Small evidence for tests: page loads, run.json documents, experiments."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from priolab.analysis.loads.metrics import PageLoad, Piece, ResourceTimes
from priolab.analysis.loads.requested_order import AskedOrder
from priolab.analysis.records.runs import Evidence, Experiment, Run
from priolab.common.cost import Cost
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.experiment import ExperimentRecord
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.run import LoadRecord, ResourceRecord, RunRecord, Status, Verdict
from priolab.common.formats.samples import OriginRequest, ProcessSample, SocketSample
from priolab.common.formats.scenario import ScenarioRecord
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.pages import Parameters, page_of

MS = 10**6

Pieces = Sequence[tuple[int, int]]
"""(milliseconds, bytes) of each piece of payload."""

PAGE_CAME: Pieces = [(45, 558)]
"""The pieces of the document of the Maps case, in every load of this module."""


def maps(size_bytes: int = 716_800, script_delay_ms: int = 200) -> Page:
    """Return the page of the Maps case."""
    return page_of("maps", Parameters(size_bytes=size_bytes, script_delay_ns=script_delay_ms * MS))


def resource(
    pieces: Pieces, of: Resource | None = None, *, requested_ms: int = 0, available_ms: int = 0, headers_ms: int = 0
) -> ResourceTimes:
    """Return a resource whose payload arrived in these pieces.
    of: the resource; by default the image of the Maps case.
    """
    return ResourceTimes(
        resource=of or maps()["image"],
        requested_ns=requested_ms * MS,
        available_ns=available_ms * MS,
        headers_ns=headers_ms * MS,
        pieces=tuple(Piece(t_ns=t_ms * MS, size_bytes=size_bytes) for t_ms, size_bytes in pieces),
    )


def load_of(page: Page, payload: Mapping[str, Pieces], available_ms: Mapping[str, int]) -> PageLoad:
    """Return a load of the page that started at 0. payload, available_ms: values by the resource's name."""
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
    """Return a load of the Maps case that started at 0. available_ms: the time at which the script was ready."""
    payload = {"page": PAGE_CAME, "image": image, "script": script}
    return load_of(maps(), payload, {"page": 0, "image": 0, "script": available_ms})


def load_events(number: int, start_ms: int, image: Pieces, script: Pieces, *, finished: bool = True) -> list[Event]:
    """Return the events that the client logs for one load. Times in milliseconds count from the load's start."""

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
    """Return the access log's record of a request for the script."""
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
    """Return evidence of a connection with these loads, by default of the Maps case.

    requests: requests that the origin answered late. It answered all others at once. favoured: names of the resources
    whose requests have the larger weight; empty for requests without signals.
    """
    page = page or maps()
    connected = [Event(t_ns=0, kind=Kind.CONNECTED, load=0), Event(t_ns=1, kind=Kind.SECURED, load=0)]
    events = connected + asking(favoured, (event for load in loads for event in load))
    slow = tuple(requests)
    paths = {each.name: each.path for each in page.resources}
    at_once = tuple(
        OriginRequest(path=paths[name], received_ns=event.t_ns, available_ns=event.t_ns + 1)
        for event in events
        if event.kind == "request-sent"
        and (name := event.resource)
        and paths[name] not in {request.path for request in slow}
    )
    return Evidence(events=tuple(events), requests=slow + at_once, page=page)


def asking(favoured: Sequence[str], events: Iterable[Event]) -> list[Event]:
    """Return the events, with streams and signals for the requests that ask for the favoured resources first."""
    streams: dict[tuple[int, str | None], int] = {}

    def asked(event: Event) -> Event:
        if event.kind != Kind.REQUEST_SENT:
            return event
        stream_id = streams.setdefault((event.load, event.resource), 2 * len(streams) + 1)
        weight = "weight=183" if event.resource in favoured else "weight=147"
        return dataclasses.replace(event, stream_id=stream_id, detail=weight if favoured else None)

    return [asked(event) for event in events]


def asked_first(page: Page, favoured: Sequence[str]) -> AskedOrder:
    """Return the order that asks for the favoured resources of a page first; without names, no order."""
    requests = [Event(t_ns=0, kind=Kind.REQUEST_SENT, load=1, resource=each.name) for each in page.resources]
    return AskedOrder.of(asking(favoured, requests), 1)


def socket_sample(**changes: int) -> SocketSample:
    """Return a sample of a socket that has sent nothing yet. changes: fields with other values."""
    fields: dict[str, Any] = {field.name: 0 for field in dataclasses.fields(SocketSample)}
    return SocketSample(**fields | {"mss_bytes": 1448, "congestion_control": "cubic"} | changes)


def process_sample(t_ns: int, peer_port: int | None) -> ProcessSample:
    """Return a sample of a process without any counts."""
    fields: dict[str, Any] = dict.fromkeys(field.name for field in dataclasses.fields(ProcessSample))
    known = {"t_ns": t_ns, "pid": 1, "peer_port": peer_port, "lowat_bytes": 0, "sampler": Cost()}
    return ProcessSample(**fields | known)


def observed(**changes: Any) -> dict[str, Any]:
    """Return a run's observed settings, which agree with the requested ones. changes: fields with other values."""
    return {
        "sndbuf_most_bytes": 4 * 2**20,
        "notsent_most_bytes": 131_072,
        "socket_lowat": [0],
        "clock_resolution_ns": None,
        "shaper": None,
        "shaper_reason": None,
        "tuner": None,
        "rate_steps": [],
    } | changes


def scenario(knobs: Mapping[str, str] | None = None, **changes: Any) -> ScenarioRecord:
    """Return the scenario as run.json records it. changes: fields with other values."""
    return dataclasses.replace(scenario_from(knobs or {}), **changes)


def load_record(script_ms: tuple[float, float], image_ms: tuple[float, float], before: int = 0) -> LoadRecord:
    """Return a load of PAGE=maps as run.json records it. script_ms, image_ms: times of the first and the last byte."""

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
    """Return one run's record that is in no folder; by default with one load. saw: observed settings."""
    good = status == "ok"
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
        verdict=Verdict(verdict) if good else None,
        verdict_reason=f"{verdict}, because" if good else None,
        loads=tuple(loads or [load_record((5.0, 9.0), (1.0, 4.0))]) if good else (),
    )
    return Run(path=path or Path(record.run), record=record)


def experiment_record(*runs: str) -> ExperimentRecord:
    """Return the record of an experiment with these runs."""
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
    """Return an experiment with these runs."""
    record = experiment_record(*(run.path.name for run in runs))
    return Experiment(path=Path("results/maps"), record=record, runs=runs)
