"""Tests of the bottleneck's queueing disciplines: their commands, and what is read back."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from priolab.netem import disciplines, qdisc_verification, shaper
from priolab.netem.calibration import unmeasured
from priolab.netem.link import Link, Qdisc
from priolab.netem.shaper_kind import Shaper

LINK = Link(rate_bit_s=1_024_000, delay_ns=300_000_000, queue_packets=1000)


@pytest.mark.parametrize(
    ("qdisc", "ecn", "options"),
    [
        (Qdisc.FQ_CODEL, False, ("fq_codel", "limit", "999", "noecn")),
        (Qdisc.FQ_CODEL, True, ("fq_codel", "limit", "999", "ecn")),
        (Qdisc.FQ, False, ("fq", "limit", "999", "flow_limit", "999")),
        (Qdisc.PIE, False, ("pie", "limit", "999")),
        (Qdisc.PIE, True, ("pie", "limit", "999", "ecn")),
        (Qdisc.DUALPI2, True, ("dualpi2", "limit", "999")),
    ],
)
def test_the_queue_is_inside_the_gate(qdisc: Qdisc, ecn: bool, options: tuple[str, ...]) -> None:  # noqa: FBT001
    """The discipline sees only packets behind the delay line, and a tbf sets the rate at which it may send them."""
    made = shaper.commands(Shaper.NETEM, replace(LINK, qdisc=qdisc, ecn=ecn), "to-client", "to-front")
    start = ("tc", "qdisc", "add", "dev", "rate-down", "parent")
    gate = ("tbf", "rate", "1024000bit", "burst", "1514", "limit", "999")
    assert [command[9:] for command in made if command[:6] == start][1:] == [gate, options]


def test_cake_is_gate_and_queue() -> None:
    """cake has the rate itself, counts bytes as the other qdiscs do, and has QUEUE as its limit of memory."""
    made = shaper.commands(Shaper.NETEM, replace(LINK, qdisc=Qdisc.CAKE), "to-client", "to-front")
    (cake,) = (command for command in made if "cake" in command)
    assert cake[9:] == ("cake", "bandwidth", "1024000bit", "raw", "memlimit", str(999 * 2304))
    assert not [command for command in made if "4:" in command]


def _read_back(link: Link) -> dict[str, Any]:
    """Returns the qdiscs of a link as tc lists them."""

    def seen(handle: str, device: str, kind: str, **options: Any) -> dict[str, Any]:
        return {"handle": handle, "dev": device, "kind": kind, "options": options}

    managed: Sequence[dict[str, Any]] = [
        seen("3:", "rate-down", "tbf", rate=128_000),
        seen("4:", "rate-down", "fq_codel", limit=999, ecn=link.ecn),
    ]
    if link.qdisc is Qdisc.CAKE:
        managed = [seen("3:", "rate-down", "cake", bandwidth=128_000, memlimit=999 * 2304)]
    delay = seen("2:", "rate-down", "netem", delay={"delay": 0.3, "jitter": 0})
    sender = seen("1:", "to-client", "netem", rate={"rate": 128_000})
    return {"down": [delay, *managed, sender], "up": []}


@pytest.mark.parametrize("qdisc", [Qdisc.FQ_CODEL, Qdisc.CAKE])
def test_what_is_read_back_is_what_was_asked_for(qdisc: Qdisc) -> None:
    """A link whose qdiscs have the options that follow from it has no differences."""
    link = replace(LINK, qdisc=qdisc, ecn=True)
    assert list(qdisc_verification.differences(link, _read_back(link))) == []


@pytest.mark.parametrize(
    ("asked", "made", "difference"),
    [
        ({"ecn": True}, {}, ("ECN of the queue", True, False)),
        ({"qdisc": Qdisc.PIE}, {}, ("qdisc of the queue", "pie", "fq_codel")),
        ({"queue_packets": 500}, {}, ("queue in packets", 499, 999)),
        ({"rate_bit_s": 2_048_000}, {}, ("rate in bit/s", 2_048_000, 1_024_000)),
        ({"delay_ns": 10**9}, {}, ("delay down in ns", 10**9, 3 * 10**8)),
        ({"qdisc": Qdisc.CAKE}, {}, ("qdisc that sets the rate", "cake", "tbf")),
        ({}, {"qdisc": Qdisc.CAKE}, ("qdisc that sets the rate", "tbf", "cake")),
        (
            {"qdisc": Qdisc.CAKE, "queue_packets": 500},
            {"qdisc": Qdisc.CAKE},
            ("memory of cake's queue in bytes", 499 * 2304, 999 * 2304),
        ),
    ],
)
def test_another_link_than_asked_for_is_found(
    asked: dict[str, Any], made: dict[str, Any], difference: tuple[str, object, object]
) -> None:
    """Each option that differs is named, with the value asked for and the value found."""
    usual = replace(LINK, qdisc=Qdisc.FQ_CODEL)
    assert difference in qdisc_verification.differences(replace(usual, **asked), _read_back(replace(usual, **made)))


def test_marks_are_counted_wherever_tc_writes_them() -> None:
    """fq_codel and pie have one count, cake has one for each tin; marks toward the front do not count."""
    counters = {
        "down": [
            {"kind": "fq_codel", "ecn_mark": 3},
            {"kind": "cake", "tins": [{"ecn_mark": 4, "drops": 9}, {"ecn_mark": 5}]},
        ],
        "up": [{"kind": "pie", "ecn_mark": 7}],
    }
    assert disciplines.ce_marks(counters) == 12


def test_what_calibration_cannot_measure_has_a_reason() -> None:
    """A discipline that drops early hides the queue's size, and packets that overtake hide the link's order."""
    assert unmeasured(LINK) == {}
    assert unmeasured(replace(LINK, qdisc=Qdisc.PIE)) == {"queue_packets": "pie drops packets before its queue is full"}
    assert set(unmeasured(replace(LINK, reorder=0.01))) == {"queue_packets", "reordered_packets"}
    assert unmeasured(Link(rate_bit_s=None, delay_ns=0, loss=0.1)) == {}
