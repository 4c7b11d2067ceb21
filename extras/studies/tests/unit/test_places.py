"""Tests of the studies whose tables follow from the arms of a summary: they fill the places of their documents."""

from typing import Any

import pytest

from priolab.analysis.loads.layer import Layer
from priolab.analysis.reports.markdown import places
from priolab.experiments.commands.study import document_of
from priolab.experiments.scenario.knobs import scenario_from
from priolab.extras.studies import link, service, two_hops

_ARM: dict[str, Any] = {
    "verdict": "kept",
    "first_byte_ms": 2960.0,
    "oracle": {"first_byte_ms": 810.0},
    "ledger": {
        "largest": Layer.PENDING,
        "parts_ms": {Layer.PENDING: 1330.0, Layer.UNSENT: 600.0, Layer.QUEUE: 20.0, Layer.CROSS: 5.0},
        "explained": 0.999,
    },
}


def test_link() -> None:
    """Each discipline has rows alone and beside a bulk flow, one for equal results; beside it the wait is divided."""
    found = link.findings([(arm, _ARM) for arm in link.arms()]).places
    assert found.keys() == places(document_of("link")).keys()
    assert [found[name].count("\n| `QDISC") for name in ("alone", "shared")] == [6, 5]
    end = "in the front, still reorderable, 1.33 |"
    assert found["unexplained"] == "0.1% in the median, and 0.1% at most"
    assert f"| `QDISC=fq_codel QUEUE=1000 ECN=on` | unset; 131072 | kept | 2.96 | 0.81 | {end}" in found["alone"]
    assert f"| `QDISC=fifo QUEUE=100` | unset; 131072 | kept | 2.96 | 0.81 | 0.02 | 0.01 | {end}" in found["shared"]


def test_two_hops() -> None:
    """Each case has its command, and a row for arms with equal results, with the wait at each hop."""
    assert {*two_hops.CASES} == places(document_of("two-hops")).keys()
    command, table = two_hops.place("client", [_ARM, _ARM | {"verdict": "lost"}] * 2).split("\n\n")
    assert command == "    make experiment VIA=nginx LOWAT=none,131072 VIA_LOWAT=none,131072"
    cells = "2.96 | 0.81 | 0.00 | 0.00 | 1.93 | 0.02 | in the front, still reorderable, 1.33 |"
    assert table.splitlines()[2:] == [
        f"| unset and unset; 131072 and unset | kept | {cells}",
        f"| unset and 131072; 131072 and 131072 | lost | {cells}",
    ]


@pytest.mark.parametrize(
    ("knobs", "goodput_mbit_s", "wakeups_per_mb"),
    [
        ({"SERVICE": "none", "LOWAT": "4096"}, 95.64, 15.84),
        ({"SERVICE": "10ms", "LOWAT": "4096"}, 41.69, 12.56),
        ({"SERVICE": "10ms", "LOWAT": "4096", "QUEUE": "1000"}, 95.64, 5.48),
        ({"SERVICE": "10ms", "LOWAT": "262144"}, 95.64, 3.18),
    ],
)
def test_what_a_servers_work_costs(knobs: dict[str, str], goodput_mbit_s: float, wakeups_per_mb: float) -> None:
    """Throughput is lost only if the link runs empty: not with a large LOWAT, nor with a deep queue."""
    found = service.Figures.predicted(scenario_from({"RATE": "100mbit", "QUEUE": "20", **knobs}))
    assert found.goodput_bit_s / 10**6 == pytest.approx(goodput_mbit_s, abs=0.01)
    assert found.wakeups_per_mb == pytest.approx(wakeups_per_mb, abs=0.01)


def test_service() -> None:
    """Each server has a row for each LOWAT, with and without SERVICE; the errors are those with SERVICE."""
    asked = service.arms()
    assert len(asked) == 24

    def figures(part: float) -> service.Figures:
        return service.Figures(goodput_bit_s=part * 10**8, wakeups_per_mb=10 * part)

    rows = [
        service.Row(
            server=arm.knobs["SERVER"],
            service=arm.knobs["SERVICE"],
            lowat=arm.knobs["LOWAT"],
            predicted=figures(0.5 if arm.knobs["SERVICE"] == "none" else 1.0 + 0.1 * (arm.knobs["LOWAT"] == "4096")),
            measured=figures(1.0),
        )
        for arm in asked
    ]
    found = service.findings(rows).places
    assert found.keys() == places(document_of("service")).keys()
    assert found["goodput"] == found["wakeups-nginx"] == "median 0%, largest 10%"
    cells = "| h2o | `10ms+1us/KB` | 4096 | 110.0 | 100.0 | +10% | 11.0 | 10.0 | +10% |"
    assert cells in found["table"]
