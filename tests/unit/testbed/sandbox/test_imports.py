"""Imports of the sandbox: the engine, and what the engine stands on."""

import ast
from pathlib import Path

from priolab.testbed import sandbox

_ALLOWED = ("priolab.common", "priolab.netem", "priolab.testbed")


def test_a_sandbox_needs_nothing_of_the_lab() -> None:
    """No module of the sandbox imports scenarios, fronts, clients or analysis, not even in a function."""
    for file in Path(sandbox.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith("priolab") or name.startswith(_ALLOWED), (file.name, name)
