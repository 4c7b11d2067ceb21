"""Runs the same arms in guests of several Linux versions. Checks that figures agree, and that repeats are identical."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import priolab
from priolab.analysis.reports.markdown import Table
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.guest_kernel import built_kernel
from priolab.experiments.commands.study import Findings
from priolab.experiments.execution.request import Arm
from priolab.experiments.results.journal_lines import JOURNALS, lines
from priolab.extras.studies.comparison import compare, markdown
from priolab.testbed import kernel, kernel_source

_REPEATS = 10
_CHANGED = "yes"


def compared(arms: Sequence[Arm], results: Path, report: Report) -> Findings:
    """Returns the comparison. It holds if all figures agree and all repeats are identical.

    Runs each arm ten times on each kernel, with the same seed. Builds missing kernels. Raises LabError.
    """
    summaries: dict[str, Mapping[str, Any]] = {}
    identical: dict[str, bool] = {}
    sources: dict[str, dict[str, str]] = {}
    knobs = {arm.name: arm.knobs for arm in arms}
    for version in kernel_source.TRIED:
        with kernel_source.wanted(version):
            record = built_kernel(report)
            name = f"Linux {record.version}"
            report.say(f"{name}: {len(arms)} arms, {_REPEATS} times each")
            # A repeat is an experiment of its own, in fresh guests: repetitions within one have different seeds.
            made = [
                priolab.run(knobs, FABRIC="virtual", SHAPER="netem", RESULTS=results, progress=report)
                for _ in range(_REPEATS)
            ]
            sources[name] = {
                "intercepts system calls by": kernel.entry(),
                **dict.fromkeys(record.changes, _CHANGED),
                **dict.fromkeys(record.lacking, "**missing**"),
            }
            summaries[name] = made[0].summary
            identical[name] = all(len({_journals(each, arm.name) for each in made}) == 1 for arm in arms)
    rows = compare(summaries, fraction=0.0)
    return Findings(
        places={
            "kernels": markdown(rows),
            "kernel-repeats": str(_REPEATS),
            "journals": ", ".join(JOURNALS),
            "identical": ", ".join(f"{name} {'yes' if same else '**no**'}" for name, same in identical.items()),
            "changes": _changes(sources),
        },
        holds=all(row.agrees for row in rows) and all(identical.values()),
    )


def _changes(sources: Mapping[str, Mapping[str, str]]) -> str:
    """Returns a Markdown table with a row for the changes of the source that the same kernels have."""
    by_kernels: dict[str, list[str]] = {}
    for name, value in dict.fromkeys(change for cells in sources.values() for change in cells.items()):
        kernels = ", ".join(kernel for kernel, cells in sources.items() if cells.get(name) == value)
        by_kernels.setdefault(kernels, []).append(name if value == _CHANGED else f"{name} {value}")
    rows = tuple((kernels, "; ".join(changes)) for kernels, changes in by_kernels.items())
    return Table(head=("kernels", "changes"), rows=rows).markdown()


def _journals(experiment: priolab.Experiment, arm: str) -> str:
    """Returns all journals of the arm's only run, as text."""
    (run,) = experiment.arms[arm].runs
    return "\n".join(json.dumps(line) for journal in JOURNALS for line in lines(run.path / journal))
