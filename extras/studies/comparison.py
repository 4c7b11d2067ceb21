"""Checks if the same arms have the same results with several fabrics and shapers, or several kernels. Pure.

An arm has three figures: the times of the script's first byte, the script's last byte and the image's last byte.
A *way* of running the arms is a fabric with a shaper, such as `virtual, netem`, or a version of the guest's kernel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.records.rate import Rate
from priolab.analysis.reports.markdown import Table
from priolab.common.amounts import UNKNOWN
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import RECORD_BYTES

FRACTION = 0.03
"""The largest difference that counts as agreement, as a fraction of the largest of the compared times.

At least one TLS record's transmission time at the link's lowest rate is allowed, because a repetition may receive one
record earlier or later than another repetition."""

_FIGURES = (("script", "first_byte_ms"), ("script", "last_byte_ms"), ("image", "last_byte_ms"))


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure of an arm, such as the time of the script's first byte, measured in several ways.

    by_way: the time in milliseconds for each way of running the arm, such as `virtual, netem`; None if a repetition is
    not ok. difference_ms: the largest of these times less the smallest; None if one of them is missing. allowed_ms: the
    largest difference that counts as agreement.
    """

    arm: str
    figure: str
    by_way: Mapping[str, float | None]
    difference_ms: float | None
    allowed_ms: float

    @property
    def agrees(self) -> bool:
        """True if no time is missing, and the times differ by at most `allowed_ms`."""
        return self.difference_ms is not None and self.difference_ms <= self.allowed_ms


def compare(summaries: Mapping[str, Mapping[str, Any]], *, fraction: float = FRACTION) -> list[Row]:
    """Returns a row for each arm and each of its figures.

    summaries: for each way of running the experiment, the experiment's summary (priolab.analysis.reports.summary).
    fraction: the largest difference that counts as agreement, as a fraction of the largest of the compared times.
    """
    by_arm: dict[str, dict[str, Mapping[str, Any]]] = {}
    for way, summary in summaries.items():
        for arm in summary["arms"]:
            by_arm.setdefault(arm["name"], {})[way] = arm
    return [
        _row(name, resource, edge, arms, list(summaries), fraction)
        for name, arms in by_arm.items()
        for resource, edge in _FIGURES
    ]


def _row(
    name: str,
    resource: str,
    edge: str,
    arms: Mapping[str, Mapping[str, Any]],
    ways: Sequence[str],
    fraction: float,
) -> Row:
    good = {way: arm for way, arm in arms.items() if arm["status"] == "ok"}
    by_way = {way: good[way][resource][edge] if way in good else None for way in ways}
    known = [value for value in by_way.values() if value is not None]
    rate = Rate.of(ScenarioRecord.read(next(iter(arms.values()))["scenario"]))
    record_ms = RECORD_BYTES * 8 * 1000 / rate.slowest_bit_s if rate else 0.0
    return Row(
        arm=name,
        figure=f"{resource} {edge.removesuffix('_ms').replace('_', ' ')}",
        by_way=by_way,
        difference_ms=max(known) - min(known) if len(known) == len(ways) else None,
        allowed_ms=max(fraction * max(known, default=0.0), record_ms),
    )


def markdown(rows: Sequence[Row]) -> str:
    """Returns a Markdown table with a line for each row: the times, the largest and the allowed difference, in ms.

    A time that is the same in every way is said once.
    """
    ways = list(rows[0].by_way)
    head = ("arm", "figure", f"{'; '.join(ways)}:", "largest difference, of allowed:")
    return Table(head=head, rows=tuple(_cells(row, ways) for row in rows)).markdown()


def _cells(row: Row, ways: Sequence[str]) -> tuple[str, ...]:
    times = [_ms(row.by_way[way]) for way in ways]
    told = times[0] if len(set(times)) == 1 else "; ".join(times)
    apart = f"{_ms(row.difference_ms)} of {_ms(row.allowed_ms)}{'' if row.agrees else ': **differ**'}"
    return (row.arm, row.figure, told, apart)


def _ms(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"
