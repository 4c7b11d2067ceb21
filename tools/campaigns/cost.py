"""Compares what the tests cost: `python -m tools.campaigns.cost CHECKOUT`.

`make bench AGAINST=CHECKOUT` does so, too. CHECKOUT is a checkout of the lab with its own .venv, for example of an
earlier commit. In both checkouts the same test functions are carried out: those that need no real clock, and have the
same name in the same file in both. So the ratio of the costs does not depend on tests that only one checkout has.
"""

import ast
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from priolab.common.process.processes import die_with_parent
from priolab.experiments.execution.pace import used_s
from tools.benches.cost import Line, comparable, print_ratios

_ROOT = Path(__file__).resolve().parents[2]
_MOST = 0.4
"""The largest ratio allowed of the processor times."""

_TIMELESS = ("-m", "not punctual")
_EXPECTING = {"raises", "warns"}
"""The functions of pytest that are assertions."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A run of the functions by pytest: the numbers of cases, and the processor time of all its processes."""

    passed: int
    skipped: int
    failed: int
    processor_s: float


def functions_in(collected: str) -> set[str]:
    """Returns the test functions in the output of `pytest --collect-only --quiet`, as FILE::FUNCTION."""
    return {line.partition("[")[0] for line in collected.splitlines() if "::" in line}


def assertions_in(code: str) -> int:
    """Returns the number of assertions in the code: assert statements, and calls of pytest.raises and pytest.warns."""
    return sum(_asserts(node) for node in ast.walk(ast.parse(code)))


def outcome_of(report: Path, processor_s: float) -> Outcome:
    """Returns what a report of pytest in JUnit's format says. Raises OSError if there is none."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    skipped = sum(case.find("skipped") is not None for case in cases)
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    passed = len(cases) - skipped - failed
    return Outcome(passed=passed, skipped=skipped, failed=failed, processor_s=processor_s)


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EXPECTING


def _pytest(root: Path, *words: str) -> list[str]:
    return [str(root / ".venv/bin/python"), "-m", "pytest", "-p", "no:cacheprovider", *words]


def _collected(root: Path) -> set[str]:
    command = _pytest(root, "--collect-only", "--quiet", *_TIMELESS)
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, preexec_fn=die_with_parent)
    return functions_in(done.stdout)


def _carried_out(root: Path, functions: Iterable[str]) -> Outcome:
    """Carries out the test functions in a checkout, and shows pytest's progress."""
    with tempfile.TemporaryDirectory(prefix="priolab-bench-") as scratch:
        report, named = Path(scratch) / "report.xml", Path(scratch) / "functions.txt"
        named.write_text("\n".join(sorted(functions)))
        workers = ("--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder")
        command = _pytest(root, "--quiet", f"--junitxml={report}", *_TIMELESS, *workers, f"@{named}")
        before_s = used_s(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=root, check=False, preexec_fn=die_with_parent)
        return outcome_of(report, used_s(resource.RUSAGE_CHILDREN) - before_s)


def _written(root: Path) -> int:
    """Returns the number of assertions in the tests' code of a checkout."""
    return sum(assertions_in(file.read_text()) for file in (root / "tests").rglob("*.py"))


def main(checkout: str) -> None:
    """Prints what the tests cost in both checkouts, and the ratio."""
    other = comparable(checkout)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise each process would compile the lab's modules again
    roots = {"this checkout": _ROOT, "the other": other}
    functions = {name: _collected(root) for name, root in roots.items()}
    common = set.intersection(*functions.values())
    table = Table("tests", "functions", "in both", "passed", "skipped", "failed", "processor s", "assertions written")
    used: dict[str, float] = {}
    for name, root in roots.items():
        print(f"tests of {name}: {len(common):,} functions, some ten minutes", flush=True)
        done = _carried_out(root, common)
        used[name] = done.processor_s
        counts = (len(functions[name]), len(common), done.passed, done.skipped, done.failed)
        table.add_row(name, *(f"{count:,}" for count in counts), f"{done.processor_s:.0f}", f"{_written(root):,}")
    Console(width=max(110, Console().width)).print(table)
    one_s, other_s = used.values()
    name = "processor time of the same tests: this checkout against the other"
    print_ratios([Line(name=name, one_s=one_s, other_s=other_s, limit=_MOST)])


if __name__ == "__main__":
    main(*sys.argv[1:])
