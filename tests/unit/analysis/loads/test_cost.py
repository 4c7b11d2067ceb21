"""Tests of what a load costs the front: differences of counters, the fallback to samples, and the words."""

from dataclasses import asdict, replace

import pytest

from priolab.analysis.loads.cost import costs, sentence
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.runs import Layers
from priolab.common.formats.counters import Counts, FrontReading
from priolab.common.formats.events import Arrival
from priolab.common.formats.page import Page
from priolab.common.formats.run import CostRecord
from priolab.common.formats.samples import SocketSample
from tests.support.builders import socket_sample

_PROCESS = {"wakeups": 10, "involuntary_switches": 1, "read_calls": 20, "write_calls": 30, "cpu_ns": 40}
_CONNECTION = {
    "handed_bytes": 1000,
    "retransmitted_bytes": 50,
    "busy_us": 60,
    "rwnd_limited_us": 7,
    "sndbuf_limited_us": 8,
}


def _load(number: int, started_ns: int) -> PageLoad:
    page = Page(name="maps", title="", resources=())
    return PageLoad(number=number, started_ns=started_ns, finished_ns=started_ns, page=page, resources={})


def _reading(load: int, times: int, **changes: int | None) -> FrontReading:
    counts: dict[str, int | None] = {name: count * times for name, count in (_PROCESS | _CONNECTION).items()}
    return FrontReading(load=load, counts=Counts(**counts | changes), memory_bytes=times)


def _layers(*readings: FrontReading, sockets: tuple[SocketSample, ...] = ()) -> Layers:
    return Layers(sockets=sockets, queue=(), arrivals=(), readings=readings)


def test_a_load_costs_what_was_counted_from_its_begin_to_its_end() -> None:
    """Each load has the differences of two readings. The congestion window limits when neither end does."""
    found = costs([_load(1, 100), _load(2, 200)], _layers(_reading(1, 1), _reading(2, 3), _reading(3, 4)))
    for number, times, memory_bytes in ((1, 2, 3), (2, 1, 4)):
        counts = {name: count * times for name, count in (_PROCESS | _CONNECTION).items()}
        cost = asdict(found[number])
        assert {name: cost[name] for name in counts} == counts
        assert (cost["cwnd_limited_us"], cost["memory_bytes"]) == (times * (60 - 7 - 8), memory_bytes)


def test_what_one_end_lacks_is_unknown() -> None:
    """A count that a reading lacks is None, with the readings' reasons; a load without a reading has no cost."""
    lacking = FrontReading(load=2, counts=Counts(wakeups=30), reasons={"cpu_ns": "because"})
    (cost,) = costs([_load(1, 100), _load(2, 200)], _layers(_reading(1, 1), lacking)).values()
    assert cost == CostRecord(wakeups=20, reasons={"cpu_ns": "because"})


def test_samples_stand_in_for_the_connection() -> None:
    """Without the connection's counts in a reading, those of the last samples before begin and end are taken."""
    sockets = tuple(
        socket_sample(
            t_ns=t_ns,
            bytes_sent=1010 * at,
            bytes_retrans=10 * at,
            busy_us=100 * at,
            wmem_queued_bytes=at,
        )
        for at, t_ns in enumerate((90, 110, 190, 210))
    )
    nothing = dict.fromkeys(_CONNECTION)
    readings = [_reading(load, load, **nothing) for load in (1, 2)]
    cost = costs([_load(1, 100), _load(2, 200)], _layers(*readings, sockets=sockets))[1]
    assert (cost.handed_bytes, cost.retransmitted_bytes, cost.busy_us, cost.cwnd_limited_us) == (2000, 20, 200, 200)
    assert cost.memory_most_bytes == 2, "of the samples in the load"
    assert cost.wakeups == _PROCESS["wakeups"]


@pytest.mark.parametrize("number", [1, 2])
def test_a_reading_that_came_late(number: int) -> None:
    """If the front had handed over much of a load before the first reading, only the load's bytes are known.

    Until the load began the front had handed over what has arrived, or what opens a connection.
    """
    arrivals = (Arrival(t_ns=90, tcp_bytes=3000), Arrival(t_ns=110, tcp_bytes=9000))[2 - number :]
    early, end = _reading(number, 1, handed_bytes=19_000), _reading(number + 1, 3, handed_bytes=403_000)
    layers = replace(_layers(early, end), arrivals=arrivals)
    assert costs([_load(number, 100)], layers)[number].wakeups == 2 * _PROCESS["wakeups"]
    late = replace(early, counts=replace(early.counts, handed_bytes=143_360), reasons={"cpu_ns": "because"})
    cost = costs([_load(number, 100)], replace(layers, readings=(late, end)))[number]
    assert cost.handed_bytes == (400_000 if number == 2 else 403_000)
    assert {getattr(cost, name) for name in (*_PROCESS, *_CONNECTION) if name != "handed_bytes"} == {None}
    assert set(cost.reasons) == {*_PROCESS, *_CONNECTION} - {"handed_bytes"}
    assert cost.reasons["cpu_ns"] == "because"
    if number == 2:
        first = _reading(1, 0)
        both = costs([_load(1, 50), _load(2, 100)], replace(layers, readings=(first, late, end)))
        assert (both[1].handed_bytes, both[1].wakeups) == (3000, None), "the load before ends with the late reading"
    assert f"handed over {137 if number == 2 else 140} KiB of the load when" in cost.reasons["wakeups"]


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (
            CostRecord(handed_bytes=2_000_000, wakeups=20, read_calls=100, write_calls=3000, cpu_ns=5_000_000),
            "per MB the front had 10 wake-ups, 50 reads, 1,500 writes, 2.5 ms of processor time",
        ),
        (
            CostRecord(handed_bytes=1_000_000, wakeups=20, memory_most_bytes=2048, reasons={"read_calls": "no right"}),
            "per MB the front had 20 wake-ups, at most 2 KiB in its send buffer; calls are not counted: no right",
        ),
        (
            CostRecord(reasons={"read_calls": "far away"}),
            "in the measured load the front had unknown costs; calls are not counted: far away",
        ),
        (CostRecord(wakeups=1, write_calls=30), "in the measured load the front had 1 wake-up, 30 writes"),
    ],
)
def test_costs_in_words(cost: CostRecord, said: str) -> None:
    """The words name each known count, per MB if the bytes are known, and say why calls are unknown."""
    assert sentence(cost) == said
