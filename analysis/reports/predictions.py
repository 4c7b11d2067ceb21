"""Compares predictions with measurements: a row per arm, with the error. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Row:
    """The measured and the predicted time of the focal resource's first byte, in one arm."""

    arm: str
    measured_ms: float
    predicted_ms: float

    @property
    def error(self) -> float:
        """The prediction's error as a fraction of the measured time; positive if the prediction is too late."""
        return (self.predicted_ms - self.measured_ms) / self.measured_ms


def rows(summary: Mapping[str, Any]) -> list[Row]:
    """Returns a row for each arm of a summary (analysis.reports.summary) that is ok and has a prediction."""
    return [
        Row(
            arm=arm["name"],
            measured_ms=arm["first_byte_ms"],
            predicted_ms=arm["prediction"]["first_byte_ms"],
        )
        for arm in summary["arms"]
        if arm["status"] == "ok" and arm["prediction"] and arm["prediction"]["first_byte_ms"] is not None
    ]


def median_error(found: Iterable[Row]) -> float:
    """Returns the median of the absolute values of the rows' errors."""
    return median(abs(row.error) for row in found)


def markdown(found: Sequence[Row]) -> str:
    """Returns a Markdown table with a line for each arm: the two times in milliseconds, and the error in percent."""
    lines = ["| arm | measured | predicted | error |", "|---|---:|---:|---:|"]
    lines += [f"| {row.arm} | {row.measured_ms:.0f} | {row.predicted_ms:.0f} | {row.error:+.1%} |" for row in found]
    return "\n".join(lines) + "\n"
