"""The same arms on guests of several Linux versions: do their figures agree, and does each repeat byte for byte?"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.agreement import compare, markdown
from analysis.load import load_experiment
from analysis.summary import summarize
from experiments.experiment import run_experiment
from experiments.fabrics.fabric import FABRICS
from experiments.guest import kernel, source
from experiments.report import Report
from experiments.request import Arm, Manner, Request
from experiments.studies.journals import JOURNALS, lines
from netem.shaper import Shaper
from netem.words import SAMPLE_DEFAULT, parse_sample_ns

TITLE = "## Kernels"
_REPEATS = 10


def section(arms: Sequence[Arm], results: Path, report: Report) -> tuple[str, bool]:
    """Markdown of the comparison, and true if all figures agree and all repeats are identical. Raises LabError.

    arms: each is run with the same seed ten times on each kernel. Kernels that are not there are built.
    """
    summaries: dict[str, Mapping[str, Any]] = {}
    identical: dict[str, bool] = {}
    made: list[str] = []
    for version in source.TRIED:
        with source.wanted(version):
            if not kernel.is_built():
                with report.kernel_progress() as tell:
                    kernel.build(tell)
            record = kernel.record()
            assert record is not None
            name = f"Linux {record.version}"
            report.say(f"{name}: {len(arms)} arms, {_REPEATS} times each")
            request = _request(f"linux-{source.words(version)}", arms, results)
            with report.progress(request) as progress:
                folder = run_experiment(request, progress)
            lacking = f"; lacking: {', '.join(record.lacking)}" if record.lacking else ""
            made.append(f"- {name}, by {kernel.entry()}: {'; '.join(record.changes)}{lacking}")
            summary = summarize(load_experiment(folder))
            kept = [arm for arm in summary["arms"] if arm["name"] in {each.name for each in arms}]
            summaries[name] = {**summary, "arms": kept}
            identical[name] = all(len(set(_journals(folder, arm.name))) == 1 for arm in arms)
    rows = compare(summaries, fraction=0.0)
    repeats = ", ".join(f"{name} {'yes' if same else '**no**'}" for name, same in identical.items())
    told = [
        TITLE,
        "",
        "The same arms in guests of several kernels, with netem and SEED=1. Figures agree within the time of one TLS",
        "record. Below stand the changes of each kernel's source that are in force; a version that lacks one of them",
        "does the like by itself.",
        "",
        markdown(rows),
        f"{_REPEATS} repeats with the same seed are identical byte for byte, with times counted from the beginning of",
        f"the run ({', '.join(JOURNALS)}): {repeats}.",
        "",
        *made,
    ]
    return "\n".join(told) + "\n", all(row.agrees for row in rows) and all(identical.values())


def _again(name: str, number: int) -> str:
    return name if number == 1 else f"{name}, again {number}"


def _request(name: str, arms: Sequence[Arm], results: Path) -> Request:
    """All repeats as arms of their own: repetitions of an arm would have seeds of their own."""
    return Request(
        name=name,
        arms=tuple(
            Arm(name=_again(arm.name, number), knobs=arm.knobs) for arm in arms for number in range(1, _REPEATS + 1)
        ),
        repeat=1,
        manner=Manner(
            fabric=FABRICS["virtual"],
            fabric_reason="it is about guests",
            shaper=Shaper.NETEM,
            sample_ns=parse_sample_ns(SAMPLE_DEFAULT),
        ),
        results=results,
    )


def _journals(folder: Path, arm: str) -> Iterator[str]:
    """All that was noted down in each repeat."""
    names = {_again(arm, number) for number in range(1, _REPEATS + 1)}
    for run in load_experiment(folder).runs:
        if run.document["arm"] in names:
            yield "\n".join(json.dumps(line) for journal in JOURNALS for line in lines(run.path / journal))
