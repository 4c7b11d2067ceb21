"""Costs of LOWAT: the law for wake-ups, the comparison with LOWAT unset, and the document's tables and picture."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.analysis.reports.markdown import places
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import document_of
from priolab.extras.studies import cost, cost_document, processor
from priolab.extras.studies.cost_grid import (
    LOWATS,
    NETWORKS,
    SERVERS,
    Network,
    Price,
    arm,
    compared,
    law,
    law_of_whole_buffers,
)

_SLOW, _FAST = Network(rate="10mbit", round_trip_ms=5), Network(rate="1gbit", round_trip_ms=200)
_UNSET = Price(
    server="nginx",
    network=_SLOW,
    lowat=None,
    first_byte_ms=3500,
    goodput_bit_s=9_560_000,
    wakeups_per_mb=1.08,
    memory_bytes=4_000_000,
)
_SET = replace(
    _UNSET, lowat=131_072, first_byte_ms=231, goodput_bit_s=9_082_000, wakeups_per_mb=8.5, memory_bytes=280_000
)
_WINDOWS = [replace(_UNSET, network=_FAST, goodput_bit_s=166_000_000), replace(_SET, network=_FAST, wakeups_per_mb=2.5)]
_PRICES = [_UNSET, _SET, *_WINDOWS]


@pytest.mark.parametrize(
    ("lowat", "stands_for", "in_whole_buffers"),
    [
        (4096, 65_160 - 2048, 65_160),
        (32_768, 65_160 - 16_384, 65_160),
        (65_536, 2 * 65_160 - 32_768, 2 * 65_160),
        (131_072, 3 * 65_160 - 65_536, 2 * 65_160),
        (524_288, 9 * 65_160 - 262_144, 5 * 65_160),
    ],
)
def test_the_law(lowat: int, stands_for: int, in_whole_buffers: int) -> None:
    """A wake-up stands for whole packet buffers less half of LOWAT or, if whole buffers leave, for some of these."""
    assert law(lowat) == pytest.approx(10**6 / stands_for)
    assert law_of_whole_buffers(lowat) == pytest.approx(10**6 / in_whole_buffers)


def test_every_arm_can_be_run() -> None:
    """The grid has 189 arms, each with a name of its own; the queue holds what is on its way in a round trip."""
    arms = [arm(server, network, lowat) for server in SERVERS for network in NETWORKS for lowat in LOWATS]
    assert len({each.name for each in arms}) == 189
    assert all(each.scenario.whole_page.total_bytes > 2 * (each.scenario.sndbuf_bytes or 0) for each in arms)
    assert [network.knobs()["QUEUE"] for network in (_SLOW, _FAST)] == ["25", "16513"]
    assert {network.knobs()["DELAY_UP"] for network in NETWORKS} == {"2500us", "25000us", "100000us"}


def test_prices_are_compared_with_unset() -> None:
    """Gain, memory and lost goodput are parts of those with LOWAT unset; a window may keep the link from being full."""
    slow, fast = compared(_PRICES)
    assert (slow.first_byte, slow.memory, slow.lost) == pytest.approx((0.066, 0.07, 0.05))
    assert (slow.fills, fast.fills) == (True, False)


def test_the_error_of_the_law() -> None:
    """Between both forms of the law there is no error, beyond them it is a part of the nearer one."""
    (slow,) = compared(_PRICES[:2])
    found = [cost_document.error(replace(slow, lowat=65_536, price=replace(_SET, wakeups_per_mb=n))) for n in (9, 12.3)]
    assert found == pytest.approx([0, 0.2], abs=0.001)


def test_the_document() -> None:
    """The tables fill the document's places, and list each loss of goodput; the law's error is that of full links."""
    found = cost_document.places(_PRICES)
    of_processors = cost_document.processor_places("h2load is not installed")
    assert found.keys() | of_processors.keys() == places(document_of("cost")).keys()
    assert "| nginx | 128K | 7% | 5.5 (2.5 to 8.5) | 94.5% | 7% |" in found["values"]
    assert found["lost"].endswith("\n| nginx | 10 Mbit/s, 5 ms | 128K 5.0% |")
    assert "| 1 Gbit/s, 200 ms | nginx | 3500 | 231 |" in found["first-bytes"]
    assert found["law"].endswith("\n| 128K | 7.7 | 7.7 | 8.5 | 2.5 |")
    assert found["law-error"] == "10% in the median, and 10% at most"
    assert cost_document.places([_UNSET, replace(_SET, goodput_bit_s=9_560_000)])["lost"].startswith(
        "No value costs 1%"
    )
    assert of_processors["processor"] == "Not measured: h2load is not installed."


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("finished in 1.50s, 2 req/s\nrequests: 64 succeeded", 1.5), ("finished in 20.00ms, 2 succeeded", 0.02)],
)
def test_what_h2load_says(said: str, seconds: float) -> None:
    """The time that h2load says has one of several units."""
    assert processor.finished_in_s(said) == seconds


@pytest.mark.parametrize(
    ("path", "user", "reason"),
    [
        (None, 0, "h2load is not installed"),
        ("/usr/bin/h2load", 1000, "only root can read the processor time of servers behind a link here"),
    ],
)
def test_processor_time_is_left_out_with_a_reason(
    path: str | None, user: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without h2load, or for an ordinary user, there is a reason in place of the measurements."""
    monkeypatch.setattr(processor, "find", lambda _: path)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert cost.spending(tmp_path, Report(aside=True)) == reason
