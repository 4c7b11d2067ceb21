"""The ledger on real runs: it names the right layer, adds up, and agrees with link and client."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import pytest

from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import sentence
from priolab.analysis.loads.ledger_builder import ledger
from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import Run, load_run
from priolab.common.formats.samples import QueueSample, SocketSample
from priolab.common.packets import PACKET_BYTES, framed
from tests.support.lab import Done, Lab
from tests.support.shared_runs import Runs
from tests.support.together import together
from tests.support.variations import finely_sampled, variations, variations_of_h2o, variations_of_nghttpx
from tools.campaigns.ledgers import CAPTURED, ledger_of, offs, thinned

pytestmark = pytest.mark.usefixtures("guest")

_RECORD_BYTES = 16_384
_PACKETS_OFF = 3
"""The allowed error. Socket and queue are sampled one after the other, and packets may move in between."""


def _usual(run: Runs) -> Done:
    return run("LOWAT=131072")


def _smaller(run: Runs) -> Done:
    return run("LOWAT=16384", "CONTROL=no")


def _measured(done: Done, arm: str) -> Run:
    assert done.folder is not None
    return load_run(done.folder / f"{arm}.1")


@pytest.mark.parametrize(
    ("done", "arm", "largest"),
    [
        (_usual, "control", "kernel_unsent"),
        (_usual, "lowat-131072", "front_pending"),
        (_smaller, "lowat-16384", "front_pending"),
        (finely_sampled, "lossless", "bottleneck_queue"),
        pytest.param(variations_of_h2o, "h2o-control", "kernel_unsent", marks=pytest.mark.needs("h2o")),
        (variations, "modem-control", "kernel_unsent"),
    ],
)
def test_the_layer_that_held_the_script_is_named(
    run: Runs, done: Callable[[Runs], Done], arm: str, largest: str
) -> None:
    """The ledger names the layer with the longest wait, and its layers account for at least 95 % of the wait."""
    found = done(run).arm(arm)["ledger"]
    assert found["largest"] == largest
    assert found["explained"] >= 0.95
    assert sum(found["parts_ms"].values()) == pytest.approx(found["wait_ms"])


def test_what_was_ahead_is_what_the_client_saw(run: Runs) -> None:
    """The image bytes that the script could no longer overtake are those that came before it, within a TLS record."""
    for measured in (_measured(_usual(run), "lowat-131072"), _measured(_smaller(run), "lowat-16384")):
        evidence, layers = measured.evidence(), measured.layers()
        assert layers is not None
        load = page_loads(evidence)[-1]
        moment = ledger(load, evidence, layers, measured.scenario).at_available
        ahead = moment.ahead_bytes + moment.received_bytes
        assert ahead == pytest.approx(load.other_bytes_before, abs=_RECORD_BYTES)


def test_the_link_holds_what_the_ends_say_is_on_the_way(run: Runs) -> None:
    """Bytes sent by the front and not yet at the client are those in the link by tc's count, within three packets.

    This holds if no packet is lost. After a loss packets wait in the client's kernel for the lost packet, and neither
    the link nor the client counts them.
    """
    measured = _measured(finely_sampled(run), "lossless")
    errors = [abs(found) for found in _in_flight_errors(measured)]
    assert len(errors) > 1000
    assert max(errors) <= _PACKETS_OFF * 1514


def test_the_kernel_takes_the_samples_of_a_measured_load(run: Runs) -> None:
    """During the measured load, samples are a packet's time apart to the nanosecond, because the kernel takes them."""
    measured = _measured(finely_sampled(run), "lossless")
    begins_ns = page_loads(measured.evidence())[-1].started_ns + 10**9
    packet_ns = PACKET_BYTES * 8 * 10**9 // 1_024_000
    times_ns = [each.t_ns for each in measured.layers().sockets if begins_ns < each.t_ns < begins_ns + 9 * 10**9]
    gaps_ns = {later - earlier for earlier, later in pairwise(times_ns)}
    assert len(times_ns) > 700
    assert gaps_ns == {packet_ns}


def test_every_byte_is_in_one_place(run: Runs) -> None:
    """At each sample the image's bytes by layer add up to its size, and none is negative, with losses and without."""
    for measured in (_measured(finely_sampled(run), "lossless"), _measured(_usual(run), "control")):
        evidence, layers = measured.evidence(), measured.layers()
        assert layers is not None
        found = ledger(page_loads(evidence)[-1], evidence, layers, measured.scenario)
        assert len(found.moments) > 1000
        for moment in found.moments:
            parts = [value for name, value in vars(moment).items() if name.endswith("_bytes")]
            assert sum(parts) == measured.scenario.size_bytes
            assert min(parts) >= 0


def _in_flight_errors(measured: Run) -> Iterator[float]:
    layers = measured.layers()
    assert layers is not None
    load = page_loads(measured.evidence())[-1]
    queue, arrivals = list(layers.queue), list(layers.arrivals)
    held: QueueSample | None = None
    received = 0
    for sample in layers.sockets:
        while queue and queue[0].t_ns <= sample.t_ns:
            held = queue.pop(0)
        while arrivals and arrivals[0].t_ns <= sample.t_ns:
            received = arrivals.pop(0).tcp_bytes
        if held and load.started_ns <= sample.t_ns <= load.finished_ns:
            yield _frames(sample, received) - held.bytes - held.delay_line_bytes


def _frames(sample: SocketSample, received: int) -> float:
    return framed(sample.sent_bytes - received, sample.mss_bytes)


def test_a_fast_link_needs_no_ledger(run: Runs) -> None:
    """If the script waits for less than a sampling interval, there is no ledger, and the reason says so."""
    arm = finely_sampled(run).arm("fast-control")
    assert arm["ledger"] is None
    assert "less than one sampling interval" in arm["ledger_reason"]


def test_sampling_does_not_change_the_result(lab: Lab) -> None:
    """First and last bytes of both resources differ by less than 1 % between SAMPLE=2ms and SAMPLE=none."""
    words = ("FABRIC=virtual", "LOWAT=16384", "CONTROL=no", "RELOADS=0", "SIZE=150000")
    fine = lab.run_here(*words, "SAMPLE=2ms").arm("lowat-16384")
    without = lab.run_here(*words, "SAMPLE=none").arm("lowat-16384")
    for resource in ("script", "image"):
        for edge in ("first_byte_ms", "last_byte_ms"):
            assert fine[resource][edge] == pytest.approx(without[resource][edge], rel=0.01)
    assert fine["ledger"]
    assert "sampled 1 times" in without["ledger_reason"] or "sampled 0 times" in without["ledger_reason"]


@pytest.mark.needs("h2o", "nghttpx")
def test_nobody_is_sooner_than_the_oracle(run: Runs) -> None:
    """In no experiment is the focal resource's first byte earlier than the oracle's, on any page, with any server."""
    for made in (variations, variations_of_h2o, variations_of_nghttpx):
        made(run)
    found = [arm for done in run.done if done.summary for arm in done.summary["arms"] if arm["status"] == "ok"]
    arms = [arm for arm in found if arm["scenario"]["plan"] == "loads"]  # a probe has no oracle
    assert arms
    for arm in arms:
        assert arm["oracle"]["inversion_ms"] >= 0
        bound_ms = arm["oracle"]["script_first_byte_ms" if "script" in arm else "first_byte_ms"]
        assert arm["first_byte_ms"] >= bound_ms


_LINKS = {
    "fast": ("RATE=10mbit", "DELAY=50ms", "LOWAT=16384", "SIZE=1M"),
    "modem-losses": ("RATE=128kbit", "LOWAT=none", "SIZE=100K"),
    "losses": ("RATE=5mbit", "DELAY=20ms", "LOWAT=16384", "SIZE=400K", "LOSS=5%"),
    "window": ("RATE=20mbit", "DELAY=50ms", "DELAY_UP=50ms", "WINDOW=65535", "LOWAT=none", "SIZE=600K", "QUEUE=100"),
}
"""Links on which the ledger from samples is compared with the one from captures."""


@pytest.fixture(scope="module")
def captured(guest: None, captures: None, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:  # noqa: ARG001
    """Returns captured runs, sampled every millisecond; they share a guest."""
    done = together(tmp_path_factory.mktemp("captured"), _LINKS, *CAPTURED)
    return {name: _measured(done, name) for name in _LINKS}


@pytest.mark.parametrize("name", list(_LINKS))
@pytest.mark.parametrize("every", [1, 10, 50])
def test_each_part_is_within_its_uncertainty(captured: Mapping[str, Run], name: str, every: int) -> None:
    """No part of a ledger from samples differs by more than stated from the ledger from captures."""
    layers = captured[name].layers()
    exact = ledger_of(captured[name], layers)
    for first in {0, every // 2, every - 1}:
        sampled = ledger_of(captured[name], thinned(layers, every, first))
        assert offs(exact, sampled) == []
        assert sampled.parts[Layer.PROPAGATION] >= captured[name].scenario.delay_ns
        assert sampled.explained >= 0.99


def test_captures_leave_no_doubt_behind_the_kernel(captured: Mapping[str, Run]) -> None:
    """With captures, queue, propagation and recovery are exact; losses are recovery, and the link's are found."""
    for name, run in captured.items():
        exact = ledger_of(run, run.layers())
        assert [exact.uncertainty[layer] for layer in (Layer.QUEUE, Layer.PROPAGATION, Layer.RECOVERY)] == [0] * 3, name
    assert captured["modem-losses"].record.ledger is not None
    assert captured["modem-losses"].record.ledger.parts_ms[Layer.RECOVERY] > 100


def test_a_wait_for_the_window_is_not_the_output_queue(captured: Mapping[str, Run]) -> None:
    """With a window of 65,535 bytes and a round trip of 0.1 s, the script waits for the client's flow control."""
    waits = captured["window"].record.ledger
    assert waits is not None
    assert waits.largest in (Layer.FLOW, Layer.PROPAGATION)
    assert waits.parts_ms[Layer.FLOW] > 10
    assert waits.parts_ms[Layer.COMMITTED] <= waits.parts_uncertainty_ms[Layer.COMMITTED]
    assert "for the client's flow-control window" in sentence(waits)
