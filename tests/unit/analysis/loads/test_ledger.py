"""Tests of the ledger, on a connection where the times and positions of all bytes are known."""

from dataclasses import replace
from typing import Literal

import pytest

from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import Ledger, sentence
from priolab.analysis.loads.ledger_builder import NoLedger, ledger
from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import Layers
from priolab.common.formats.events import Arrival
from priolab.common.formats.samples import QueueSample, ServiceSpan
from priolab.common.formats.scenario import ClientKind
from priolab.common.formats.segments import Segment
from tests.support.builders import MS
from tests.unit.analysis.loads.known_load import (
    AVAILABLE_MS,
    DELAY_MS,
    FIRST_MS,
    HANDED_MS,
    IMAGE,
    PACKET_MS,
    RECORD_MS,
    SCENARIO,
    SENT_MS,
    evidence,
    layers,
    sampled,
)


def made(wanted: Layers | None = None) -> Ledger:
    known = evidence()
    return ledger(page_loads(known)[0], known, wanted or layers(), SCENARIO)


def test_the_wait_by_layer() -> None:
    """Each layer has its part of the wait. A change between two samples counts at the middle of the interval."""
    parts = {layer: round(wait_ns / MS) for layer, wait_ns in made().parts.items()}
    assert parts == {
        Layer.PENDING: HANDED_MS - AVAILABLE_MS,
        Layer.COMMITTED: 0,
        Layer.UNSENT: SENT_MS - HANDED_MS,
        Layer.QUEUE: 19 * PACKET_MS,
        Layer.PROPAGATION: DELAY_MS + PACKET_MS,
        Layer.RECOVERY: 0,
        Layer.RECORD: FIRST_MS - RECORD_MS,
        Layer.UNEXPLAINED: 0,
    }


def test_the_time_at_work_is_a_layer_of_its_own() -> None:
    """What the byte waited in the front while the server was at work is no longer in the front's other layers."""
    spans = [(AVAILABLE_MS - 50, AVAILABLE_MS + 40), (300, 310), (HANDED_MS + 50, HANDED_MS + 90)]
    service = tuple(ServiceSpan(t_ns=from_ms * MS, until_ns=until_ms * MS) for from_ms, until_ms in spans)
    without, found = made().parts, made(replace(layers(), service=service)).parts
    assert found[Layer.SERVICE] == 50 * MS
    assert found[Layer.PENDING] == without[Layer.PENDING] - 50 * MS
    assert Layer.SERVICE not in without
    assert sum(found.values()) == sum(without.values())


def test_what_comes_of_samples_says_how_uncertain_it_is() -> None:
    """An instant between two samples is uncertain by half a sampling interval, and a wait by that of both its ends.

    The record has 200 bytes, and nothing tells how many bytes its first packet has. So the packet's transmission time
    is uncertain, too.
    """
    uncertain = {layer: wait_ns / MS for layer, wait_ns in made().uncertainty.items()}
    half_ms, packet_ms = 5, PACKET_MS * (1 - (200 + 66) / 1514)
    assert uncertain[Layer.UNSENT] == 2 * half_ms
    assert uncertain[Layer.PROPAGATION] == pytest.approx(packet_ms, abs=0.01)
    assert uncertain[Layer.QUEUE] == pytest.approx(half_ms + packet_ms, abs=0.01)
    assert uncertain[Layer.RECORD] == uncertain[Layer.RECOVERY] == 0
    assert half_ms <= uncertain[Layer.UNEXPLAINED] <= half_ms + 3 * PACKET_MS


def test_the_parts_add_up() -> None:
    """The parts add up to the wait, to the nanosecond, whatever is in the queue."""
    for queue_packets in (0, 18, 19, 47, 500):
        found = made(layers(queue_packets))
        assert sum(found.parts.values()) == found.wait_ns == (FIRST_MS - AVAILABLE_MS) * MS


def test_what_is_left_over_is_not_hidden() -> None:
    """If the link reports next to no bytes, the time beyond the uncertainty of the samples is `unexplained`."""
    found = made(layers(queue_packets=0))
    off_ns = found.uncertainty[Layer.UNEXPLAINED]
    assert off_ns <= (5 + 3 * PACKET_MS + 10) * MS
    assert found.parts[Layer.UNEXPLAINED] >= 190 * MS - 2 * off_ns > 0
    assert found.explained == pytest.approx(1 - found.parts[Layer.UNEXPLAINED] / found.wait_ns)


def test_a_resent_packet_is_its_name() -> None:
    """Time that the link does not explain is `recovery` if packets were retransmitted meanwhile.

    Recovery is uncertain, because the byte's own packet may have been sent again.
    """
    quiet = layers(queue_packets=0)
    sockets = tuple(
        sampled(sample.t_ns // MS, resent=1448) if sample.t_ns > 800 * MS else sample for sample in quiet.sockets
    )
    parts = made(replace(quiet, sockets=sockets)).parts
    assert parts[Layer.RECOVERY] == pytest.approx((RECORD_MS - SENT_MS - 310) * MS, abs=PACKET_MS * MS)
    assert abs(parts[Layer.UNEXPLAINED]) < MS


@pytest.mark.parametrize("until_ms", [890, 720])
def test_holes_that_are_filled_one_by_one(until_ms: int) -> None:
    """While other holes are filled nothing pauses; a byte recovers if packets were sent again shortly before it came.

    Otherwise the time is unexplained. until_ms: when packets were last sent again.
    """
    quiet = layers(queue_packets=0)
    sockets = tuple(sampled(t_ms, resent=10 * max(0, min(t_ms, until_ms) - SENT_MS)) for t_ms in range(0, 2001, 10))
    filled = (Arrival(t_ns=t_ms * MS, tcp_bytes=t_ms - 100) for t_ms in range(SENT_MS, RECORD_MS, 2 * PACKET_MS))
    arrivals = (*quiet.arrivals[:2], *filled, quiet.arrivals[-1])
    parts = made(replace(quiet, sockets=sockets, arrivals=arrivals)).parts
    left, recovered = parts[Layer.UNEXPLAINED], parts[Layer.RECOVERY]
    assert recovered > 150 * MS > left if until_ms == 890 else left > 80 * MS


def test_image_bytes_at_the_instant_the_script_exists() -> None:
    """Each image byte is in one layer when the script becomes available; `ahead_bytes` are those before the script."""
    moment = made().at_available
    assert moment.t_ns == AVAILABLE_MS * MS
    assert (moment.received_bytes, moment.unsent_bytes) == (0, 100)
    assert (moment.recovery_bytes, moment.in_flight_bytes) == (500, 500)  # the link held nothing then
    assert (moment.committed_bytes, moment.pending_bytes) == (400, 0)
    assert moment.ahead_bytes == IMAGE


def test_every_moment_holds_the_whole_image() -> None:
    """At each moment the layers' bytes add up to the image's size, and no layer has a negative number of bytes."""
    for moment in made().moments:
        parts = [
            moment.pending_bytes,
            moment.committed_bytes,
            moment.unsent_bytes,
            moment.queue_bytes,
            moment.propagation_bytes,
            moment.recovery_bytes,
            moment.received_bytes,
        ]
        assert sum(parts) == IMAGE
        assert min(parts) >= 0
    assert made().moments[-1].received_bytes == IMAGE


def test_committed_bytes_behind_others() -> None:
    """If the kernel accepts further image bytes while the script waits, the rest of the wait is `front_committed`."""
    sockets = tuple(
        replace(sample, notsent_bytes=sample.notsent_bytes + 100)
        if 300 * MS <= sample.t_ns < HANDED_MS * MS
        else sample
        for sample in layers().sockets
    )
    parts = made(replace(layers(), sockets=sockets)).parts
    assert parts[Layer.PENDING] == (295 - AVAILABLE_MS) * MS
    assert parts[Layer.COMMITTED] == (HANDED_MS - 295) * MS


@pytest.mark.parametrize(
    ("client", "first_ns", "words"),
    [
        ("chromium", AVAILABLE_MS * MS - 700_000, "waited less than a millisecond, less than one sampling interval"),
        ("chromium", (AVAILABLE_MS - 2) * MS, "waited -2.0 ms"),
        ("chromium", AVAILABLE_MS * MS + 700_000, "waited 0.7 ms"),
        ("h2", AVAILABLE_MS * MS - 700_000, "waited -0.7 ms"),
    ],
)
def test_a_browser_cuts_off_its_times(client: Literal["h2", "chromium"], first_ns: int, words: str) -> None:
    """A wait shorter than the sampling interval raises NoLedger with the wait in the message.

    A browser rounds its times down to milliseconds, so with CLIENT=chromium the message calls a wait of -0.7 ms less
    than a millisecond.
    """
    (load,) = page_loads(evidence())
    (piece,) = load.resources["script"].pieces
    script = replace(load.resources["script"], pieces=(replace(piece, t_ns=first_ns),))
    soon = replace(load, resources={**load.resources, "script": script})
    with pytest.raises(NoLedger, match=words):
        ledger(soon, evidence(), layers(), replace(SCENARIO, client=ClientKind(client)))


def test_in_words() -> None:
    """`sentence` returns the parts of run.json's record in order, without short parts."""
    record = made().as_record()
    assert record.largest == "propagation"
    assert sentence(record) == (
        "the script waited 1.02 s = 0.30 in the front, still reorderable + 0.20 ± 0.01 unsent in the kernel"
        " + 0.19 ± 0.01 in the bottleneck queue + 0.31 in propagation + 0.02 for its TLS record to be complete"
    )


def test_too_few_looks_are_no_ledger() -> None:
    """With a single sample, as with SAMPLE=none, there is no ledger."""
    with pytest.raises(NoLedger, match="sampled 1 times"):
        made(replace(layers(), sockets=layers().sockets[:1]))


def test_the_samples_of_the_queue_explain_the_time_on_the_link() -> None:
    """Packets ahead in the queue explain it. Without such packets that time is unexplained."""
    known = evidence()
    found = ledger(page_loads(known)[0], known, layers(), SCENARIO)
    assert sum(found.parts.values()) == found.wait_ns
    assert round(found.parts[Layer.QUEUE] / MS) == 19 * PACKET_MS
    assert found.parts[Layer.UNEXPLAINED] == 0
    late = ledger(page_loads(known)[0], known, layers(queue_packets=0), SCENARIO)
    assert late.parts[Layer.UNEXPLAINED] > 100 * MS


def test_later_bytes_are_in_the_delay_line() -> None:
    """Of the bytes on the link the later ones are in the delay line, the others in the bottleneck queue."""
    held = QueueSample(
        t_ns=0, direction="down", packets=1, bytes=209, delay_line_packets=1, dropped=0, delay_line_bytes=314
    )
    known = evidence()
    moment = ledger(page_loads(known)[0], known, replace(layers(), queue=(held,)), SCENARIO).at_available
    assert moment.in_flight_bytes == 500
    assert (moment.propagation_bytes, moment.queue_bytes) == (300, 200)


@pytest.mark.parametrize("every", [1, 2, 5, 10, 20])
def test_no_packet_is_sooner_than_the_link(every: int) -> None:
    """However far apart the samples are, propagation is the delay and a packet, and the truth is within the bounds."""
    known, given = evidence(), layers()
    coarse = replace(given, sockets=given.sockets[::every])
    found = ledger(page_loads(known)[0], known, coarse, SCENARIO)
    true_ms = {
        Layer.PENDING: HANDED_MS - AVAILABLE_MS,
        Layer.COMMITTED: 0,
        Layer.UNSENT: SENT_MS - HANDED_MS,
        Layer.QUEUE: 19 * PACKET_MS,
        Layer.PROPAGATION: DELAY_MS + PACKET_MS,
        Layer.UNEXPLAINED: 0,
    }
    assert found.parts[Layer.PROPAGATION] >= (DELAY_MS + PACKET_MS) * MS - found.uncertainty[Layer.PROPAGATION]
    assert found.parts[Layer.PROPAGATION] >= DELAY_MS * MS
    for layer, wait_ms in true_ms.items():
        assert abs(found.parts[layer] - wait_ms * MS) <= found.uncertainty[layer], layer
    assert found.explained == 1


def test_a_byte_that_is_sooner_than_the_link() -> None:
    """If a byte arrives before it can have crossed the link, the difference is unexplained, below 0."""
    known, given = evidence(), layers()
    found = ledger(page_loads(known)[0], known, given, replace(SCENARIO, delay_ns=1000 * MS))
    assert found.parts[Layer.PROPAGATION] >= 1000 * MS
    assert found.parts[Layer.UNEXPLAINED] < -100 * MS
    assert sum(found.parts.values()) == found.wait_ns


LATE_MS = 630


@pytest.mark.parametrize("resent", [0, 200])
def test_a_lost_end_of_the_record_is_recovery(resent: int) -> None:
    """A record whose last packet is lost, and sent again 0.63 s later, waits for recovery; for itself only briefly.

    If nothing was sent again, the wait is for the record.
    """
    known, given = evidence(), layers()
    late_ns = LATE_MS * MS
    events = tuple(
        replace(each, t_ns=each.t_ns + late_ns) if each.t_ns >= FIRST_MS * MS else each for each in known.events
    )
    first = Arrival(t_ns=RECORD_MS * MS, tcp_bytes=1200)
    last = Arrival(t_ns=FIRST_MS * MS + late_ns, tcp_bytes=1300)
    sockets = tuple(sampled(t_ms, resent=resent * (t_ms > SENT_MS + LATE_MS)) for t_ms in range(0, 2701, 10))
    logs = replace(known, events=events)
    lost = replace(given, sockets=sockets, arrivals=(*given.arrivals[:2], first, last))
    found = ledger(page_loads(logs)[0], logs, lost, SCENARIO)
    assert sum(found.parts.values()) == found.wait_ns
    waits = found.parts[Layer.RECOVERY], found.parts[Layer.RECORD]
    if resent:
        assert waits[0] == pytest.approx(late_ns, abs=30 * MS)
        assert waits[1] <= 30 * MS
        assert found.uncertainty[Layer.RECOVERY] <= 50 * MS
    else:
        assert waits == (0, (FIRST_MS - RECORD_MS) * MS + late_ns)


def test_captures_make_the_way_exact() -> None:
    """With captures of both ends, sent, sent again and arrived are known, and their parts have no uncertainty."""
    known, given = evidence(), layers()
    sent_ms, again_ms = SENT_MS + 3, SENT_MS + 103
    ways = [("server", 5, 0, 1100), ("client", 5, 0, 1100)]
    ways += [("server", sent_ms, 1100, 200), ("server", again_ms, 1100, 200), ("client", RECORD_MS, 1100, 200)]
    segments = tuple(
        Segment(end=end, t_ns=t_ms * MS, position_bytes=position, size_bytes=size)  # type: ignore[arg-type]
        for end, t_ms, position, size in ways
    )
    found = ledger(page_loads(known)[0], known, replace(given, segments=segments), SCENARIO)
    packet_ns = round(PACKET_MS * MS * (200 + 66) / 1514)
    assert found.parts[Layer.RECOVERY] == 100 * MS
    assert found.parts[Layer.PROPAGATION] == pytest.approx(DELAY_MS * MS + packet_ns, abs=1000)
    assert found.parts[Layer.QUEUE] == pytest.approx((RECORD_MS - again_ms - DELAY_MS) * MS - packet_ns, abs=1000)
    assert found.uncertainty[Layer.QUEUE] == found.uncertainty[Layer.RECOVERY] == 0
    assert found.uncertainty[Layer.UNSENT] == 5 * MS  # when the front handed the byte over is still from samples
    assert sum(found.parts.values()) == found.wait_ns
