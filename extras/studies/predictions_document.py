"""Compares predictions with measurements: a row per arm, with the error. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from priolab.analysis.loads.model import LARGEST_ERROR
from priolab.analysis.reports.markdown import head

_NEAR = 0.1


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


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The comparison for an experiment. reasons: why arms without a prediction have none, one for each of them."""

    rows: Sequence[Row]
    reasons: Sequence[str]

    @property
    def words(self) -> str:
        """The number of predictions, and the errors in sum."""
        errors = [abs(row.error) for row in self.rows]
        near, within = (sum(error <= part for error in errors) for part in (_NEAR, LARGEST_ERROR))
        return (
            f"**{len(self.rows)} of {len(self.rows) + len(self.reasons)} have a prediction. The median error is "
            f"{median(errors):.1%}, the largest {max(errors):.1%}.** {near} of the errors are at most {_NEAR:.0%}, "
            f"{within} at most {LARGEST_ERROR:.0%}."
        )

    @property
    def table(self) -> str:
        """A Markdown table of the rows."""
        return markdown(self.rows).rstrip()

    @property
    def declined(self) -> str:
        """A Markdown list of the causes for which there is no prediction, each with the number of arms."""
        causes = Counter(reason.partition(": ")[2].partition(" may ")[0] or reason for reason in self.reasons)
        return "\n".join(f"- {cause}: {count}" for cause, count in causes.most_common())


def compared(summary: Mapping[str, Any]) -> Compared:
    """Compares the arms of a summary (priolab.analysis.reports.summary) that are ok."""
    reasons = [arm["prediction"]["reason"] for arm in summary["arms"] if arm["status"] == "ok" and arm["prediction"]]
    return Compared(rows=rows(summary), reasons=[reason for reason in reasons if reason is not None])


def rows(summary: Mapping[str, Any]) -> list[Row]:
    """Returns a row for each arm of a summary (priolab.analysis.reports.summary) that is ok and has a prediction."""
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
    lines = head("arm", "measured:", "predicted:", "error:")
    lines += [f"| {row.arm} | {row.measured_ms:.0f} | {row.predicted_ms:.0f} | {row.error:+.1%} |" for row in found]
    return "\n".join(lines) + "\n"
