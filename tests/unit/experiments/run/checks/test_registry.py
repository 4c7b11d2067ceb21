"""Tests of the table of all checks: it names every check of the code and tests that exist, and is in the documents."""

import ast
from pathlib import Path

from priolab.experiments.run.checks.registry import CHECKS, table
from tests.support.registered import functions_that_check

_ROOT = Path(__file__).resolve().parents[5]


def test_every_check_is_registered() -> None:
    """Each function that can make a run invalid is in the table, and the table has no others."""
    assert {name for check in CHECKS for name in check.by} == {*functions_that_check()}


def test_the_tests_exist() -> None:
    """Each check names a test that is in the code."""
    for check in CHECKS:
        file, name = check.test.split("::")
        defined = {
            each.name for each in ast.parse((_ROOT / file).read_text()).body if isinstance(each, ast.FunctionDef)
        }
        assert name in defined, check.name


def test_the_document_has_the_table() -> None:
    """docs/reference/checks.md has the table of all checks."""
    assert table() in (_ROOT / "docs/reference/checks.md").read_text()
