"""Tests of an experiment's results on a terminal: what stands above the table, and what is repeated below it."""

import sys
from io import StringIO
from typing import Any, Literal

import pytest

from priolab.analysis.reports.summary import summarize
from priolab.experiments.commands.console import Report
from tests.support.builders import experiment, load_record, run

HEADLINE = "the script came 3.7 s sooner in new than in control: first byte at 2.96 s, not 6.68 s (kept, not inverted)"
LOADS = {"control": load_record((6680, 9e4), (1.0, 4.0)), "new": load_record((2960, 9e4), (1.0, 4.0))}


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def _summary(*, status: Literal["ok", "failed", "invalid"] = "ok", reason: str | None = None) -> dict[str, Any]:
    control = run("control", verdict="inverted", loads=[LOADS["control"]], knobs={"LOWAT": "none"})
    if status == "ok":
        return summarize(experiment(control, run("new", loads=[LOADS["new"]], knobs={"LOWAT": "131072"})))
    summary = summarize(experiment(control, run("new", status=status, knobs={"LOWAT": "131072"})))
    summary["arms"][1]["reason"] = reason
    return summary


def _shown(
    monkeypatch: pytest.MonkeyPatch, summary: dict[str, Any], *, file: StringIO, lines: int = 100, columns: int = 200
) -> list[str]:
    """Return the lines that a terminal of this size, or a file, gets."""
    monkeypatch.setattr(sys, "stdout", file)
    for name, value in {"LINES": lines, "COLUMNS": columns, "TERM": "dumb"}.items():
        monkeypatch.setenv(name, str(value))
    report = Report()
    report.summary(summary)
    report.say("results: here", whole=True)
    report.summary_ends()
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_headline_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line is the headline, if the terminal has no more lines than the results; otherwise it stands once."""
    whole = _shown(monkeypatch, _summary(), file=_Terminal())
    assert [number for number, line in enumerate(whole) if line == HEADLINE] == [0]
    assert whole[-1] == "results: here"
    assert _shown(monkeypatch, _summary(), file=_Terminal(), lines=len(whole) + 1) == whole
    assert _shown(monkeypatch, _summary(), file=_Terminal(), lines=len(whole)) == [*whole, HEADLINE]


@pytest.mark.parametrize("status", ["failed", "invalid"])
def test_a_reason_stands_above_the_table(monkeypatch: pytest.MonkeyPatch, status: Literal["failed", "invalid"]) -> None:
    """The reason of an arm that is not ok stands above the table, and is repeated with the headline."""
    summary, reason = _summary(status=status, reason="nginx ended"), f"new: {status} - nginx ended"
    shown = _shown(monkeypatch, summary, file=_Terminal())
    assert shown.index(reason) < next(number for number, line in enumerate(shown) if line.startswith("arm "))
    assert shown.count(reason) == 1
    assert _shown(monkeypatch, summary, file=_Terminal(), lines=5)[-1] == reason


def test_what_a_queue_became(monkeypatch: pytest.MonkeyPatch) -> None:
    """A QUEUE in another notation than packets is told in bytes, for each arm if the arms differ."""

    def told(*queues: str) -> list[str]:
        arms = [
            run(f"queue-{queue}", loads=[LOADS["control"]], knobs={"QUEUE": queue, "RATE_UP": "16kbps"})
            for queue in queues
        ]
        lines = _shown(monkeypatch, summarize(experiment(*arms)), file=StringIO())
        return [line for line in lines if "bottleneck queue of" in line]

    assert told("25") == []
    assert told("30kb") == ["bottleneck queue of 30,720 bytes"]
    assert told("25", "1bdp") == ["queue-1bdp: bottleneck queue of 38,400 bytes, 4,800 bytes toward the front"]
