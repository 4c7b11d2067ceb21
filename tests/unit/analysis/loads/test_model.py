"""The predictor: its terms one by one, on the scenarios that move them."""

import pytest

from analysis.loads.model import NoPrediction, Writes, first_byte_ms
from experiments.scenario.knobs import scenario_from
from experiments.scenario.scenario import as_record
from proxy.server import catalogue


def predicted_ms(**knobs: str) -> float:
    scenario = scenario_from(knobs)
    return first_byte_ms(as_record(scenario), scenario.page, Writes.from_document(catalogue()[scenario.server].traits))


def test_the_control_waits_for_the_whole_image() -> None:
    """717 KB and a record at 128 kB/s, headers included, after the page and the image's own delay."""
    wire = (716_800 + 16_384) * (1 + 40 / 16_384) * 1514 / 1448
    assert predicted_ms(LOWAT="none") == pytest.approx(600 + wire / 128, rel=0.005)


@pytest.mark.parametrize(("smaller", "larger"), [("16384", "131072"), ("131072", "262144"), ("262144", "none")])
def test_a_smaller_lowat_is_sooner(smaller: str, larger: str) -> None:
    """As long as it binds."""
    assert predicted_ms(LOWAT=smaller) < predicted_ms(LOWAT=larger)


def test_below_an_offload_packet_only_gso_helps() -> None:
    """The kernel looks at the limit when it begins a packet of up to 45 segments."""
    assert predicted_ms(LOWAT="4096") == predicted_ms(LOWAT="65000")
    assert predicted_ms(LOWAT="4096", GSO="2") < predicted_ms(LOWAT="65000", GSO="2")


def test_a_deep_queue_takes_the_knob_away() -> None:
    """The whole image is sent before the script exists."""
    deep = {"QUEUE": "1000", "RELOADS": "4"}
    assert predicted_ms(LOWAT="131072", **deep) == predicted_ms(LOWAT="none", **deep)


def test_a_rate_that_changes_is_not_covered() -> None:
    """Better no number than a wrong one."""
    with pytest.raises(NoPrediction, match="RATE_STEPS is not covered"):
        predicted_ms(LOWAT="131072", RATE_STEPS="1280kbps@2s")


def test_a_stock_buffer_is_a_limit_of_its_own() -> None:
    """On a fresh connection it is smaller than what LOWAT allows."""
    assert predicted_ms(LOWAT="none", SNDBUF="stock") < predicted_ms(LOWAT="none")
    assert predicted_ms(LOWAT="none", SNDBUF="stock", RELOADS="0") == predicted_ms(SNDBUF="stock", RELOADS="0")


@pytest.mark.parametrize("priority", ["none", "swap"])
def test_a_strict_front_keeps_the_order_of_arrival(priority: str) -> None:
    """Nobody asked for the script first."""
    assert predicted_ms(LOWAT="16384", PRIORITY=priority) == predicted_ms(LOWAT="none")


def test_an_unlimited_link_is_its_delays() -> None:
    """Nothing is transmitted, so nothing is in the way."""
    assert predicted_ms(RATE="unlimited", DELAY="50ms", DELAY_UP="10ms") == pytest.approx(2 * 60 + 200)


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"LOSS": "1%"}, "LOSS"),
        ({"JITTER": "5ms"}, "JITTER"),
        ({"WINDOW": "65535"}, "WINDOW"),
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
    """No number where the model knows nothing."""
    with pytest.raises(NoPrediction, match=told):
        predicted_ms(**knobs)


def test_a_server_that_is_not_described_has_no_prediction() -> None:
    """Its entry says nothing of how it writes."""
    with pytest.raises(NoPrediction, match="does not describe how this server writes"):
        Writes.from_document({"record_bytes": None, "batch_bytes": None, "strict": None})
