"""Finds the functions that can make a run invalid: those that make an InvalidRun or a Contradiction.

Some do so by a helper of their module that gets the check's name; then the callers count, and the helper does not.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("analysis/loads", "experiments/run", "experiments/execution", "experiments/hosts", "testbed")
_MAKERS = {"InvalidRun", "Contradiction"}
_HELPERS = {"_agree", "_at_most", "_backwards", "_check_sysctls"}
_PASSES_ON = "priolab.experiments.execution.conclusion._none_of"
"""It raises InvalidRun for a Contradiction that another function found."""


def functions_that_check() -> Iterator[str]:
    """Yield the full name of each such function."""
    for package in _PACKAGES:
        for file in sorted((_ROOT / package).rglob("*.py")):
            module = ".".join(("priolab", *file.relative_to(_ROOT).with_suffix("").parts))
            for function in ast.parse(file.read_text()).body:
                if isinstance(function, ast.FunctionDef) and _checks(function):
                    name = f"{module}.{function.name}"
                    if name != _PASSES_ON and function.name not in _HELPERS:
                        yield name


def _checks(function: ast.FunctionDef) -> bool:
    return bool(_called(function) & (_MAKERS | _HELPERS))


def _called(function: ast.FunctionDef) -> set[str]:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {called.id for called in calls if isinstance(called, ast.Name)}
