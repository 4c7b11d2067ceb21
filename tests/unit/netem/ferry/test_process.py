"""Tests of the ferry's order, its lateness, and its priority."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.trace import Trace
from priolab.netem.ferry.process import Lateness, Order, come_before_others
from priolab.netem.link import Link, RateStep

ORDER = Order(
    link=Link(
        rate_bit_s=1_024_000,
        delay_ns=300_000_000,
        loss=0.01,
        rate_steps=(RateStep(at_ns=2 * 10**9, rate_bit_s=10_240_000),),
    ),
    seed=7,
    journal=Path("/run/queue.jsonl"),
    interval_ns=10**7,
    socket=Path("/run/ferry"),
)


def test_an_order_survives_json() -> None:
    """An order that is written is read back the same."""
    assert Order.from_json(ORDER.to_json()) == ORDER
    trace = Trace(name="t", times_ms=(3, 3, 8))
    traced = replace(
        ORDER, link=replace(ORDER.link, rate_steps=(), rate_bit_s=trace.mean_bit_s, trace=trace, trace_up=trace)
    )
    assert Order.from_json(traced.to_json()) == traced


@pytest.mark.parametrize("missing", ["link", "seed", "journal", "interval_ns", "socket"])
def test_an_order_without_a_part_is_refused(missing: str) -> None:
    """The error names the missing part."""
    document = json.loads(ORDER.to_json())
    del document[missing]
    with pytest.raises(ValueError, match=f"the order has no '{missing}'"):
        Order.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting"),
        ("[]", "not an order"),
        ('{"link": {"rate_bit_s": 1, "delay_ns": 0}}', "rate: allowed are"),
        ('{"link": {"rate": 1}}', "unexpected keyword"),
    ],
)
def test_what_is_no_order_is_refused(text: str, reason: str) -> None:
    """The error gives the reason."""
    with pytest.raises(ValueError, match=reason):
        Order.from_json(text)


def test_lateness_before_the_first_packet() -> None:
    """Without a packet there is no lateness."""
    assert Lateness().percentile_ns(99) == -1


def test_lateness() -> None:
    """A percentile exceeds the true value by less than a microsecond. The longest lateness is exact."""
    lateness = Lateness()
    for microseconds in range(1, 101):
        lateness.add(microseconds * 1000)
    assert lateness.percentile_ns(50) == 50_999
    assert lateness.percentile_ns(99) == 99_999
    assert lateness.percentile_ns(100) == 100_000


def test_lateness_beyond_the_scale() -> None:
    """A percentile above 20 ms is given as the longest lateness."""
    lateness = Lateness()
    for late_ns in (1000, 30_000_000, 50_000_000):
        lateness.add(late_ns)
    assert lateness.percentile_ns(33) == 1999
    assert lateness.percentile_ns(50) == 50_000_000


def _refuse(*_: object) -> None:
    raise PermissionError


@pytest.mark.parametrize("refused", [(), ("sched_setscheduler",), ("sched_setscheduler", "setpriority")])
def test_it_comes_before_others_as_it_may(refused: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The ferry takes real-time priority, else niceness; without permission it stays an ordinary process."""
    got: list[tuple[object, ...]] = []
    for name in ("sched_setscheduler", "setpriority"):
        monkeypatch.setattr(os, name, _refuse if name in refused else lambda *words: got.append(words))
    come_before_others()
    assert [words[1] for words in got] == [[os.SCHED_FIFO], [0], []][len(refused)]
