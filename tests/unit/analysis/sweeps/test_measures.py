"""Tests of the measures of a run in a sweep."""

from dataclasses import fields, replace

import pytest

from priolab.analysis.records.runs import Run
from priolab.analysis.sweeps.measures import COSTS, Measure, grains, measures, record_ms
from priolab.common.formats.conversion import convert
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import CostRecord, LedgerRecord, OtherBytes
from tests.support import builders

SIZE_BYTES = 500_000
KNOBS = {"SIZE": str(SIZE_BYTES), "RATE": "1mbit", "DELAY": "50ms"}
COUNTED = {
    "cpu_ns": 1_000_000,
    "wakeups": 10,
    "involuntary_switches": 1,
    "read_calls": 5,
    "write_calls": 100,
}


def run(script_ms: tuple[float, float], image_ms: tuple[float, float], **knobs: str) -> Run:
    return builders.run(loads=[builders.load_record(script_ms, image_ms)], knobs=KNOBS | knobs)


def goodput_over(busy_ms: float) -> float:
    return 2 * SIZE_BYTES * 8 * 1000 / busy_ms


def test_times_are_those_of_the_measured_load() -> None:
    """Times are those of the last load, which is complete when script and image are complete."""
    first, last = (builders.load_record((at, at + 1), (at, at + 5)) for at in (100.0, 300.0))
    found = measures(builders.run(loads=[first, last], knobs=KNOBS))
    assert (found[Measure.FIRST_BYTE], found[Measure.COMPLETE]) == (300.0, 305.0)


def test_the_send_queue_is_a_part_of_the_ledger() -> None:
    """The send queue is a part of the ledger, and None without a ledger."""
    one = run((1000.0, 5000.0), (400.0, 9000.0))
    assert measures(one)[Measure.SEND_QUEUE] is None
    unsent = LedgerRecord(
        focal="script",
        wait_ms=123.0,
        parts_ms={"kernel_unsent": 123.0},
        largest="kernel_unsent",
        explained=1.0,
        other_bytes_at_available=OtherBytes(**dict.fromkeys((field.name for field in fields(OtherBytes)), 0)),
    )
    with_ledger = replace(one, record=replace(one.record, ledger=unsent))
    assert measures(with_ledger)[Measure.SEND_QUEUE] == 123.0


@pytest.mark.parametrize(
    ("script_ms", "image_ms", "busy_ms"),
    [
        ((1000.0, 5000.0), (400.0, 9000.0), 8600.0),
        ((6700.0, 9000.0), (400.0, 6500.0), 8600.0),
        ((260.0, 300.0), (60.0, 100.0), 90.0),
        ((240.0, 300.0), (60.0, 245.0), 240.0),
        ((245.0, 300.0), (60.0, 100.0), 95.0),
    ],
    ids=["side-by-side", "one-after-the-other", "nothing-to-send", "script-first", "soonest"],
)
def test_goodput_is_over_the_time_with_something_to_send(
    script_ms: tuple[float, float], image_ms: tuple[float, float], busy_ms: float
) -> None:
    """Goodput counts the time in which the front has something to send.

    The origin has the script at 200 ms, so the client cannot have it before 250 ms. A gap before 250 ms does not count.
    """
    assert measures(run(script_ms, image_ms, RATE="1gbit"))[Measure.GOODPUT] == pytest.approx(goodput_over(busy_ms))


@pytest.mark.parametrize("knobs", [{}, {"RATE_STEPS": "100mbit@200ms+1mbit@210ms"}])
def test_goodput_is_no_more_than_the_link_carries(knobs: dict[str, str]) -> None:
    """If a megabyte becomes readable within 40 ms, the link at 1 Mbit/s had begun to carry it long before."""
    goodput_bit_s = measures(run((960.0, 999.0), (960.0, 1000.0), **knobs))[Measure.GOODPUT]
    assert goodput_bit_s == pytest.approx(1_000_000, rel=0.3 if knobs else 1e-6)


def test_no_time_has_no_goodput() -> None:
    """A run whose payload came at one instant raises FolderError, because its record is damaged."""
    with pytest.raises(FolderError, match="at one instant"):
        measures(run((5.0, 5.0), (5.0, 5.0)))


def test_a_time_means_nothing_finer_than_a_record() -> None:
    """The grain, the smallest difference that counts, is for times the transmission time of 13 packets.

    The 13 packets may hold a TLS record of 16 KiB. The grain of goodput follows from the grain of times.
    """
    found = grains(run((1000.0, 5000.0), (400.0, 9000.0)))
    packets_ms = 13 * 1514 * 8 / 1000
    assert found[Measure.FIRST_BYTE] == pytest.approx(packets_ms)
    assert found[Measure.GOODPUT] == pytest.approx(goodput_over(8600) * packets_ms / 8600)
    assert record_ms(run((1000.0, 5000.0), (400.0, 9000.0))) == pytest.approx(16 * 1024 * 8 / 1000)


def test_of_a_rate_that_changes_the_lowest_counts() -> None:
    """If the rate changes, the grain of times is computed from the lowest rate.

    The rate during the record's transmission is not known.
    """
    stepped = run((1000.0, 5000.0), (400.0, 9000.0), RATE_STEPS="500kbit@1s+2mbit@2s")
    assert grains(stepped)[Measure.FIRST_BYTE] == pytest.approx(13 * 1514 * 8 / 500)
    assert record_ms(stepped) == pytest.approx(16 * 1024 * 8 / 500)


def test_on_an_unlimited_link_the_clock_counts() -> None:
    """On a link without a rate the grain of times is the clock's step."""
    load = builders.load_record((10.0, 20.0), (5.0, 30.0))
    one = builders.run(loads=[load], knobs=KNOBS | {"RATE": "unlimited"}, clock_resolution_ns=4 * 10**6)
    assert grains(one)[Measure.FIRST_BYTE] == 4
    assert record_ms(one) == 0


def spent(**changes: int | None) -> CostRecord:
    return convert(COUNTED | changes, CostRecord)


def costs(*of_loads: CostRecord | None) -> dict[str, float | None]:
    """Return the costs of a run with a load for each of these."""
    loads = [replace(builders.load_record((1000.0, 5000.0), (400.0, 9000.0)), cost=cost) for cost in of_loads]
    found = measures(builders.run(loads=loads, knobs=KNOBS))
    return {cost.value: found[cost] for cost in COSTS}


def test_costs_are_per_megabyte_of_all_loads() -> None:
    """Costs are the sums of all loads, per megabyte of payload, here 2 MB."""
    assert costs(spent(), spent(**dict.fromkeys(COUNTED, 0))) == {
        "front_cpu_ms_per_mb": 0.5,
        "voluntary_switches_per_mb": 5.0,
        "involuntary_switches_per_mb": 0.5,
        "read_calls_per_mb": 2.5,
        "write_calls_per_mb": 50.0,
    }


def test_what_nobody_counted_is_not_zero() -> None:
    """A cost that was not counted in every load is None, such as processor time in the guest."""
    found = costs(spent(), spent(cpu_ns=None))
    assert [name for name, cost in found.items() if cost is None] == ["front_cpu_ms_per_mb"]


def test_older_runs_have_no_costs() -> None:
    """A run without counters has no costs."""
    assert set(costs(None).values()) == {None}
