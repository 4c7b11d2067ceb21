"""Tests of the predictor of the script's first byte: each term with a scenario that changes this term."""

import pytest

from priolab.analysis.loads.model import NoPrediction, Writes, first_byte_ms
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.scenario import as_record
from priolab.proxy.server import catalogue


def predicted_ms(**knobs: str) -> float:
    scenario = scenario_from(knobs)
    return first_byte_ms(as_record(scenario), scenario.page, Writes.from_document(catalogue()[scenario.server].traits))


def test_the_control_waits_for_the_whole_image() -> None:
    """With LOWAT unset the script waits two delays of 300 ms, and for the whole image and one record.

    Image and record have 733 kB of payload; payload and headers cross the link at 128 kB/s.
    """
    wire = (716_800 + 16_384) * (1 + 40 / 16_384) * 1514 / 1448
    assert predicted_ms(LOWAT="none") == pytest.approx(600 + wire / 128, rel=0.005)


@pytest.mark.parametrize(("smaller", "larger"), [("16384", "131072"), ("131072", "262144"), ("262144", "none")])
def test_a_smaller_lowat_is_sooner(smaller: str, larger: str) -> None:
    """A smaller LOWAT brings the first byte sooner, as long as LOWAT is the limit."""
    assert predicted_ms(LOWAT=smaller) < predicted_ms(LOWAT=larger)


def test_below_an_offload_packet_only_gso_helps() -> None:
    """Below 64 KiB a smaller LOWAT helps only with a smaller GSO.

    The kernel checks LOWAT when it begins a packet buffer of up to 45 segments.
    """
    assert predicted_ms(LOWAT="4096") == predicted_ms(LOWAT="65000")
    assert predicted_ms(LOWAT="4096", GSO="2") < predicted_ms(LOWAT="65000", GSO="2")


def test_a_deep_queue_takes_the_knob_away() -> None:
    """With QUEUE=1000 the whole image is sent before the script exists, so LOWAT has no effect."""
    deep = {"QUEUE": "1000", "RELOADS": "4"}
    assert predicted_ms(LOWAT="131072", **deep) == predicted_ms(LOWAT="none", **deep)


@pytest.mark.parametrize(
    ("knob", "value"), [("RATE_STEPS", "1280kbps@2s"), ("RATE_UP", "64kbit"), ("FRONT_QDISC", "fq")]
)
def test_what_is_not_covered(knob: str, value: str) -> None:
    """With such a knob there is no prediction, rather than a wrong one."""
    with pytest.raises(NoPrediction, match=f"the model does not cover {knob}"):
        predicted_ms(LOWAT="131072", **{knob: value})


def test_a_stock_buffer_is_a_limit_of_its_own() -> None:
    """With SNDBUF=stock the send buffer is a limit, too. On a fresh connection it is smaller than LOWAT."""
    assert predicted_ms(LOWAT="none", SNDBUF="stock", RELOADS="0") < predicted_ms(LOWAT="none", RELOADS="0")
    assert predicted_ms(LOWAT="none", SNDBUF="stock", RELOADS="0") == predicted_ms(SNDBUF="stock", RELOADS="0")


@pytest.mark.parametrize("priority", ["none", "swap"])
def test_a_strict_front_keeps_the_order_of_arrival(priority: str) -> None:
    """If the script is not asked for first, a strict front sends it after the whole image, as without LOWAT."""
    assert predicted_ms(LOWAT="16384", PRIORITY=priority) == predicted_ms(LOWAT="none")


def test_an_unlimited_link_is_its_delays() -> None:
    """On a link without a rate the prediction is the sum of the delays."""
    assert predicted_ms(RATE="unlimited", DELAY="50ms", DELAY_UP="10ms") == pytest.approx(2 * 60 + 200)


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"LOSS": "1%"}, "LOSS"),
        ({"JITTER": "5ms"}, "JITTER"),
        ({"WINDOW": "65535"}, "WINDOW"),
        ({"CONNECTION_WINDOW": "65535"}, "WINDOW"),
        ({"SERVER": "h2o", "NATIVE": "on"}, "NATIVE"),
        ({"SERVER": "h2o", "PRIORITY": "swap"}, "PRIORITY"),
        ({"BUFFERING": "off"}, "BUFFERING"),
        ({"DIALECT": "header"}, "DIALECT"),
        ({"FIRST": "script"}, "FIRST"),
        ({"RECORD": "1400"}, "RECORD"),
        ({"SHAPER_AT": "front"}, "SHAPER_AT"),
    ],
)
def test_what_is_not_covered_is_said(knobs: dict[str, str], told: str) -> None:
    """NoPrediction names the knob that the model does not cover."""
    with pytest.raises(NoPrediction, match=told):
        predicted_ms(**knobs)


def test_a_server_that_is_not_described_has_no_prediction() -> None:
    """There is no prediction if the catalogue does not describe how the server writes."""
    with pytest.raises(NoPrediction, match="does not describe how this server writes"):
        Writes.from_document({"record_bytes": None, "batch_bytes": None, "begun_records": None, "strict": None})


@pytest.mark.parametrize(
    ("knobs", "cause"),
    [
        ({"LOWAT": "none", "SNDBUF": "stock"}, "the congestion window may have 35 to 50 segments"),
        ({"SERVER": "h2o", "LOWAT": "none", "RATE": "100mbit", "DELAY": "50ms"}, "the congestion window may have"),
        ({"CC": "bbr", "RATE": "20mbit", "DELAY": "100ms", "RELOADS": "0"}, "the queue may drop packets"),
        ({"SERVER": "lighttpd", "LOWAT": "4096", "GSO": "2", "RATE": "500kbit", "DELAY": "2ms"}, "the server may have"),
    ],
)
def test_what_cannot_be_known_is_said(knobs: dict[str, str], cause: str) -> None:
    """There is no prediction if a number that the scenario does not determine moves the first byte too far."""
    with pytest.raises(NoPrediction, match=f"the first byte may come after .* to .* s: {cause}"):
        predicted_ms(**knobs)
