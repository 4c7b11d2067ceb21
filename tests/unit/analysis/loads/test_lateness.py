"""Tests of lateness: the delay that a machine with a real clock adds to first bytes, and when it invalidates a run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.loads.lateness import FIRST, IMPORTANT, Late, lateness
from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import Evidence, Layers, load_evidence, load_layers
from priolab.client.journal import Journal
from priolab.common.errors import InvalidRun
from priolab.common.formats.samples import QueueSample
from priolab.experiments.execution.conclusion import Ending
from priolab.experiments.execution.lateness import check_lateness, observed_lateness
from priolab.experiments.execution.local import Local
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.sweep.sweep import SweepProgress, run_sweep
from priolab.netem.calibration import REAL
from tests.support.sweeping import DEAF, CopyingFabric, sweep_of

MS = 10**6
MADE = Path(__file__).parents[3] / "golden" / "format-3" / "control.1"
"""A run in the guest, where programs take no time."""

SCENARIO = scenario_from({})


def found(evidence: Evidence, layers: Layers, **changes: Any) -> dict[str, Late]:
    """Returns the lateness of the resources in the measured load."""
    return lateness(measured_load(evidence), evidence, layers, replace(SCENARIO, **changes))


def asked_sooner(evidence: Evidence, sooner_ns: int) -> Evidence:
    """Returns the evidence with an earlier request of the page, as if all other events were later by sooner_ns."""
    events = tuple(
        replace(event, t_ns=event.t_ns - sooner_ns) if event.kind == "load-started" else event
        for event in evidence.events
    )
    return replace(evidence, events=events)


@pytest.fixture(scope="module")
def made() -> tuple[Evidence, Layers]:
    """Returns the logs of a run in the guest."""
    return load_evidence(MADE), load_layers(MADE)


def test_nothing_is_late_in_the_guest(made: tuple[Evidence, Layers]) -> None:
    """In the guest the link explains all delays: lateness is below 1 ms. It may be negative, down to -10 ms."""
    late = found(*made)
    assert set(late) == {FIRST, IMPORTANT}
    assert all(-10 * MS < each.late_ns < MS for each in late.values())


@pytest.mark.parametrize(("size_bytes", "measured"), [(7_000, {FIRST, IMPORTANT}), (9_000, set())])
def test_a_first_load_in_slow_start(made: tuple[Evidence, Layers], size_bytes: int, measured: set[str]) -> None:
    """In the first load a page beyond half the initial window may need more round trips: nothing is measured."""
    evidence, layers = made
    number = measured_load(evidence).number
    events = tuple(replace(event, load=1) for event in evidence.events if event.load == number)
    root, *others = evidence.page.resources
    page = replace(evidence.page, resources=(replace(root, size_bytes=size_bytes), *others))
    assert set(found(replace(evidence, events=events, page=page), layers)) == measured


@pytest.mark.parametrize(("again_bytes", "measured"), [(0, {FIRST, IMPORTANT}), (1448, set())])
def test_a_page_whose_packet_was_dropped(made: tuple[Evidence, Layers], again_bytes: int, measured: set[str]) -> None:
    """If the front sent bytes of a large page again, its recovery took the time, and nothing is measured."""
    evidence, layers = made
    requested_ns = measured_load(evidence).focal.requested_ns
    events = tuple(replace(event, load=2) for event in evidence.events)
    root, *others = evidence.page.resources
    page = replace(evidence.page, resources=(replace(root, size_bytes=20_000), *others))
    sockets = tuple(
        replace(each, bytes_retrans=each.bytes_retrans + again_bytes) if each.t_ns >= requested_ns else each
        for each in layers.sockets
    )
    assert set(found(replace(evidence, events=events, page=page), replace(layers, sockets=sockets))) == measured


def test_whoever_was_late_it_is_seen(made: tuple[Evidence, Layers]) -> None:
    """If all events after the page's request come 90 ms later, the lateness grows by 90 ms."""
    evidence, layers = made
    late, here = found(asked_sooner(evidence, 90 * MS), layers), found(evidence, layers)
    assert {name: late[name].late_ns - here[name].late_ns for name in here} == {FIRST: 90 * MS, IMPORTANT: 90 * MS}


def test_what_the_link_does_is_not_lateness(made: tuple[Evidence, Layers]) -> None:
    """Delays by the link are no lateness: jitter, and packets queued before the page.

    With LOSS lateness is not measured, because a loss may delay the page by seconds.
    """
    evidence, layers = made
    assert found(evidence, layers, loss=0.01) == {}
    here, jittery = found(evidence, layers), found(evidence, layers, jitter_ns=20 * MS)
    assert here[IMPORTANT].late_ns - jittery[IMPORTANT].late_ns == 2 * 20 * MS
    assert here[FIRST].late_ns - jittery[FIRST].late_ns == 4 * 20 * MS
    left = QueueSample(
        t_ns=measured_load(evidence).started_ns + MS,
        direction="down",
        packets=1,
        bytes=1280,
        delay_line_packets=0,
        dropped=0,
    )
    behind = found(evidence, replace(layers, queue=(left,)))
    assert here[IMPORTANT].late_ns - behind[IMPORTANT].late_ns == 10 * MS


@pytest.mark.parametrize(
    ("first_ms", "late_ms", "waited_ms", "line"),
    [
        (760, 30, 0.3, None),
        (50, 19, 0.3, None),
        (1080, 80, 0.3, r"^lateness of the first packet .* at most 50\.0 ms, observed 80\.0 ms; use a machine"),
        (50, 41, None, r"^lateness of the first packet .* at most 40\.0 ms, observed 41\.0 ms; use a machine"),
        (760, 0, 20.1, r"^median time that packets waited .* at most 20\.0 ms, observed 20\.1 ms; use a machine"),
    ],
)
def test_what_is_too_late(first_ms: int, late_ms: int, waited_ms: float | None, line: str | None) -> None:
    """A run is invalid if a first byte is too late, or if packets waited too long until the client read them.

    A first byte may be late by the tolerance of two round trips, or by that of the rate, whichever is more.
    """
    waited_ns = None if waited_ms is None else round(waited_ms * MS)
    seen = {
        FIRST: {"late_ns": late_ms * MS, "first_byte_ns": first_ms * MS},
        "waited_p50_ns": waited_ns,
        "waited_p90_ns": waited_ns and 2 * waited_ns,
    }
    if line is None:
        check_lateness(seen, REAL)
    else:
        with pytest.raises(InvalidRun, match=line):
            check_lateness(seen, REAL)


def test_a_browser_and_a_probe_take_their_own_time(made: tuple[Evidence, Layers]) -> None:
    """Lateness is not measured with a browser as the client or in a probe."""
    for knobs in ({"CLIENT": "chromium"}, {"PLAN": "probe", "RELOADS": "0", "SIZE": "2M"}):
        assert observed_lateness(RunFolder(MADE), *made, scenario_from(knobs)) is None
    assert set(observed_lateness(RunFolder(MADE), *made, scenario_from({})) or ()) == {
        FIRST,
        IMPORTANT,
        "script",
        "waited_p50_ns",
        "waited_p90_ns",
    }


@pytest.mark.parametrize("virtual", [False, True])
def test_a_run_on_a_starved_machine_is_invalid(tmp_path: Path, *, virtual: bool) -> None:
    """A run with late first bytes is invalid, has a reason and no verdict; the sweep's other runs stay ok.

    In the guest the reason is a step backwards in the times of the client's events.
    """
    fabric = CopyingFabric(virtual_clock=virtual)
    started = r"s/\"t_ns\": [0-9]*, \"kind\": \"load-started\"/\"t_ns\": 5534710016, \"kind\": \"load-started\"/"
    fabric.troubles = {"lowat-4096": f'{fabric.copying()} && sed -i "{started}" client/events.jsonl'}
    sweep = sweep_of({"LOWAT": ("none", "4096")}, results=tmp_path, fabric=fabric)
    heard: dict[str, Ending] = {}
    progress = SweepProgress(
        step=lambda _: None, opened=lambda _: None, ended=lambda run, ending, _: heard.update({run.name: ending})
    )
    folder = run_sweep(sweep, Local(sweep.run_settings, 1), progress)
    document = json.loads((folder / "lowat-4096.1" / "run.json").read_text())
    assert heard.pop("lowat-4096.1").status == document["status"] == "invalid"
    assert {ending.status for ending in heard.values()} == {"ok"}
    assert ("lateness" in document["observed"]) is not virtual
    assert document["verdict"] is None
    if virtual:
        assert document["reason"].startswith("times of the client's events: asked for no step backwards")
    else:
        assert document["reason"].startswith("lateness of the first packet of a resource: asked for at most ")
        assert document["reason"].endswith("; use a machine that is less busy, or FABRIC=virtual")


def test_reads_are_those_of_the_last_load(tmp_path: Path) -> None:
    """socket.json says how long packets of the last load waited to be read.

    Reads without a time stamp do not count.
    """
    with Journal.writing(tmp_path) as journal:
        for waited_ns in ([9 * MS] * 5, [400, None, 100, 300 * MS]):
            journal.begin_load()
            for each in waited_ns:
                journal.waited(each)
        journal.conclude(tmp_path)
    said = json.loads((tmp_path / "socket.json").read_text())
    assert [said[key] for key in ("reads", "waited_p50_ns", "waited_p90_ns", "waited_longest_ns")] == [
        3,
        400,
        300 * MS,
        300 * MS,
    ]


def test_a_client_that_sleeps_again_and_again() -> None:
    """A run is invalid if one packet in ten waited longer than two round trips' tolerance, though most did not."""
    seen = {"waited_p50_ns": 10**5, "waited_p90_ns": 2 * REAL.round_trip_ns}
    check_lateness(seen, REAL)
    with pytest.raises(InvalidRun, match=r"^time that one packet in ten waited .* at most 40\.0 ms, observed 40\.1 ms"):
        check_lateness({**seen, "waited_p90_ns": 2 * REAL.round_trip_ns + 10**5}, REAL)


@pytest.mark.parametrize(("lacked_ms", "remedy"), [(300, True), (100, False), (None, False)])
def test_what_a_client_without_a_processor_explains(tmp_path: Path, lacked_ms: int | None, *, remedy: bool) -> None:
    """If the client lacked a processor for 0.2 s, the reason of a contradiction names a quieter machine as remedy."""
    fabric = CopyingFabric(virtual_clock=False)
    account = "null" if lacked_ms is None else str(lacked_ms * MS)
    fabric.troubles = {
        "lowat-4096": f"{fabric.copying()} && sed -i '$d' client/arrivals.jsonl"
        f" && sed -i 's/^{{/{{\"run_delay_ns\": {account}, /' client/socket.json"
    }
    sweep = sweep_of({"LOWAT": ("none", "4096")}, results=tmp_path, fabric=fabric)
    folder = run_sweep(sweep, Local(sweep.run_settings, 1), DEAF)
    reason = json.loads((folder / "lowat-4096.1" / "run.json").read_text())["reason"]
    assert reason.startswith("bytes that the client had received ")
    assert reason.endswith("; use a machine that is less busy, or FABRIC=virtual") is remedy


def test_the_client_tells_how_long_it_lacked_a_processor(tmp_path: Path) -> None:
    """socket.json has the time for which this process was ready to run and did not."""
    with Journal.writing(tmp_path) as journal:
        before_ns = int(Path("/proc/self/schedstat").read_text().split()[1])
        journal.conclude(tmp_path)
    assert json.loads((tmp_path / "socket.json").read_text())["run_delay_ns"] >= before_ns
