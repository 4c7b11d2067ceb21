"""A link whose rate changes during the load, with both shapers: what arrives, and what is recorded."""

import json
from itertools import pairwise

import pytest

from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import Run, load_run
from priolab.common.packets import framed
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest")

# The queue is never empty and never full; packets that wait in it when the rate changes have the new rate.
_WORDS = ("RATE=64kbps", "DELAY=10ms", "QUEUE=400", "RELOADS=0", "SIZE=250000", "CONTROL=no")
_STEPS = "RATE_STEPS=640kbps@1500ms+64kbps@2s+640kbps@60s"
_MSS_BYTES = 1448
_FULL_NS = 1514 * 10**9 // 64_000
_COMPLETE_MS = 5.0


def _stepped(run: Runs, shaper: str) -> Run:
    done = run(f"SHAPER={shaper}", _STEPS, *_WORDS)
    assert done.code == 0, done.trouble
    assert done.folder is not None
    return load_run(done.folder / "lowat-131072.1")


def _bytes_s(run: Run, from_s: float, until_s: float) -> float:
    """Returns the bytes of whole frames per second that arrived in a part of the load."""
    layers = run.layers()
    assert layers is not None
    start_ns = measured_load(run.evidence()).started_ns
    between = [each for each in layers.arrivals if from_s <= (each.t_ns - start_ns) / 10**9 <= until_s]
    first, last = between[0], between[-1]
    return framed(last.tcp_bytes - first.tcp_bytes, _MSS_BYTES) * 10**9 / (last.t_ns - first.t_ns)


@pytest.mark.parametrize("shaper", ["netem", "ferry"])
def test_the_rate_is_the_one_that_holds_then(run: Runs, shaper: str) -> None:
    """Each rate holds within 2 % from one packet after its step; between the steps it is ten times as high."""
    stepped = _stepped(run, shaper)
    assert _bytes_s(stepped, 0.9, 1.5) == pytest.approx(64_000, rel=0.02)
    packet_s = _FULL_NS / 10**9
    assert _bytes_s(stepped, 1.5 + packet_s, 2.0) == pytest.approx(640_000, rel=0.02)
    assert _bytes_s(stepped, 2.0 + packet_s, 3.0) == pytest.approx(64_000, rel=0.02)


@pytest.mark.parametrize("shaper", ["netem", "ferry"])
def test_what_was_done_is_recorded(run: Runs, shaper: str) -> None:
    """Each step is made within 0.1 ms of its time and recorded; a step after the load's end is no fault."""
    stepped = _stepped(run, shaper)
    made, back, never = stepped.observed.rate_steps
    assert (made.at_ns, made.rate_bit_s) == (1_500_000_000, 5_120_000)
    assert (back.at_ns, back.rate_bit_s) == (2_000_000_000, 512_000)
    for step in (made, back):
        assert step.late_ns is not None
        assert 0 <= step.late_ns < 10**5
    assert (never.late_ns, never.reason) == (None, "the load had ended before this step")
    load = measured_load(stepped.evidence())
    lines = [json.loads(line) for line in (stepped.path / "link" / "changes.jsonl").read_text().splitlines()]
    assert [line["asked_ns"] - load.started_ns for line in lines] == [1_500_000_000, 2_000_000_000]
    layers = stepped.layers()
    assert layers is not None
    held = [layers.held(load.started_ns + at_ns) for at_ns in range(900_000_000, 2_500_000_000, 10**7)]
    assert all(each is not None and 0 < each.packets < 400 for each in held)
    assert stepped.record.ledger is not None
    assert stepped.record.ledger.explained >= 0.95


def test_both_shapers_are_the_same_link(run: Runs) -> None:
    """With both shapers the load is complete at the same time within 5 ms, and the gaps around a step are equal."""
    netem, ferry = _stepped(run, "netem"), _stepped(run, "ferry")
    assert _complete_ms(netem) == pytest.approx(_complete_ms(ferry), abs=_COMPLETE_MS)
    assert _gaps_ms(netem) == pytest.approx(_gaps_ms(ferry), abs=0.05)


def _complete_ms(run: Run) -> float:
    load = measured_load(run.evidence())
    return load.ms(max(load.important.last_byte_ns, load.others.last_byte_ns))


def _gaps_ms(run: Run) -> list[float]:
    layers = run.layers()
    assert layers is not None
    start_ns = measured_load(run.evidence()).started_ns
    times = [(each.t_ns - start_ns) / 10**6 for each in layers.arrivals]
    return [later - earlier for earlier, later in pairwise(times) if 1450 < earlier < 1550]
