"""The imports of tests: shared code is in modules beside them, so a test can be read and removed by itself."""

import re

import pytest

from priolab.common.home import ROOT


@pytest.mark.parametrize("folder", ["tests", "extras"])
def test_no_test_imports_another(folder: str) -> None:
    """No module imports a module of tests."""
    importing = re.compile(r"^ *(?:from|import) [\w.]*\btest_\w+", re.MULTILINE)
    assert [str(path) for path in (ROOT / folder).rglob("*.py") if importing.search(path.read_text())] == []
