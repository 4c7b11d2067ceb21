"""Costs of LOWAT for the front: a law for wake-ups, the same counts on a real clock, and costs of the shortest load."""

from collections.abc import Mapping
from math import ceil
from typing import Any

import pytest

from priolab.common.packets import SEGMENT_BYTES
from tests.support.lab import Done, Lab
from tests.support.shared_runs import Runs

_LINK = ("RATE=20mbit", "DELAY=10ms", "QUEUE=300", "SIZE=2MiB", "RELOADS=0", "LOWAT=65536,16384")
_ARMS = {"lowat-65536": 65_536, "lowat-16384": 16_384}
_BUFFER_BYTES = 45 * SEGMENT_BYTES
"""The largest packet buffer: whole segments, up to 64 KiB."""
_MOST_OFF = {"wakeups": 0.3, "write_calls": 0.15, "handed_bytes": 0.01}
"""The largest difference between guest and real clock, as a fraction; a busy machine may wake the front less often."""
_MOST_MORE_READS = 0.15
"""The most read calls on a real clock beyond the guest's, as a fraction. A front that comes late to its origin's bytes
reads more of them at once: on a busy machine half of the calls do, so there is no such bound from below."""


def _cost(arm: Mapping[str, Any]) -> dict[str, Any]:
    cost: dict[str, Any] = arm["loads"][-1]["cost"]
    return cost


@pytest.mark.usefixtures("guest")
def test_wakeups_follow_a_law(run: Runs) -> None:
    """LOWAT adds a wake-up whenever the unsent bytes have fallen from whole packet buffers to half of LOWAT."""
    done = run(*_LINK)
    without = _cost(done.arm("control"))["wakeups"]
    for name, lowat_bytes in _ARMS.items():
        cost = _cost(done.arm(name))
        refilled_bytes = ceil(lowat_bytes / _BUFFER_BYTES) * _BUFFER_BYTES - lowat_bytes / 2
        assert cost["wakeups"] - without == pytest.approx(cost["handed_bytes"] / refilled_bytes, rel=0.2)
        assert cost["cpu_ns"] is None
        assert cost["reasons"] == {"cpu_ns": "in the guest work takes no time"}


@pytest.mark.punctual
@pytest.mark.usefixtures("guest", "netns", "bpf")
def test_a_real_clock_counts_the_same(run: Runs, lab: Lab) -> None:
    """On a real clock the counts of one of a few runs are about those of the guest, and processor time is known."""
    guests = run(*_LINK)

    def differing(real: Done) -> list[tuple[str, str, float, float]]:
        return [
            (name, count, found, expected)
            for name in _ARMS
            for count, off in _MOST_OFF.items()
            if (found := _cost(real.arm(name))[count])
            != pytest.approx(expected := _cost(guests.arm(name))[count], rel=off)
        ]

    # On a busy machine the counters of a run may be read late; then it has the bytes alone.
    real = lab.run_on_time("FABRIC=netns", *_LINK, or_if=lambda real: real.code == 0 and bool(differing(real)))
    assert real.code == 0, real.trouble
    assert not differing(real)
    for name in _ARMS:
        expected, cost = _cost(guests.arm(name)), _cost(real.arm(name))
        assert 0 < cost["read_calls"] <= (1 + _MOST_MORE_READS) * expected["read_calls"], name
        assert cost["cpu_ns"] > 0
        assert cost["reasons"] == {}


@pytest.mark.usefixtures("guest")
def test_the_shortest_load_has_its_costs(run: Runs) -> None:
    """The costs of loads that last some milliseconds are known, of each load for itself."""
    done = run("RATE=100mbit", "DELAY=1ms", "JS_DELAY=0ms", "SIZE=102400", "RELOADS=1", "LOWAT=16384", "CONTROL=no")
    loads = done.arm("lowat-16384")["loads"]
    assert len(loads) == 2
    for load in loads:
        assert load["important_last_byte_ms"] < 100
        assert load["cost"]["handed_bytes"] == pytest.approx(2 * 102_400, rel=0.05)
        assert all(load["cost"][count] > 0 for count in ("wakeups", "read_calls", "write_calls"))
