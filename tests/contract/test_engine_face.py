"""The engine's face: what priolab.testbed names is there, and nobody else imports a module of the engine."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from priolab import testbed
from priolab.common.home import ROOT

_ENGINE = "priolab.testbed"
_OTHERS = ("analysis", "client", "common", "experiments", "extras", "netem", "priolab", "proxy", "tools")


def _modules() -> Iterator[Path]:
    for name in _OTHERS:
        for path in (ROOT / name).rglob("*.py"):
            inner = path.relative_to(ROOT).parts
            linked = any(folder.is_symlink() for folder in path.parents)
            if "tests" not in inner and not linked:
                yield path


@cache
def _named() -> set[str]:
    """Return the names that type checkers see."""
    tree = ast.parse(Path(testbed.__file__).read_text())
    imported = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {each.asname for node in imported for each in node.names if each.asname}


def _beside_the_face(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports of the engine that its face does not name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module.startswith(f"{_ENGINE}."):
                yield node.module
            if node.module == _ENGINE:
                yield from (each.name for each in node.names if each.name not in _named())
            if node.module == "priolab":
                yield from (_ENGINE for each in node.names if each.name == "testbed")
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith(_ENGINE))


def test_nobody_else_imports_a_module_of_the_engine() -> None:
    """The lab, the extras and the tools import names of the face alone. Tests may look inside."""
    found = {path: list(_beside_the_face(ast.parse(path.read_text()))) for path in _modules()}
    assert len(found) > 300
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


def test_what_is_beside_the_face_is_found() -> None:
    """A room, a module, a name of a module, and the engine as a whole are all refused."""
    for text in (
        "from priolab.testbed.guest import kernel",
        "from priolab.testbed import topology",
        "from priolab.testbed import Nobody",
        "from priolab import testbed",
        "import priolab.testbed",
    ):
        assert list(_beside_the_face(ast.parse(text))), text
    assert list(_beside_the_face(ast.parse("from priolab.testbed import Sandbox, pair"))) == []


def test_what_the_face_names_is_there() -> None:
    """Type checkers see the names that programs get, and each is found."""
    typed = _named()
    assert all(getattr(testbed, name) is not None for name in typed)
    code = "from priolab import testbed; print(*testbed.__dir__())"
    fresh = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    offered = {name for name in fresh.stdout.split() if not name.startswith("_")}
    assert offered - {"TYPE_CHECKING", "lazy_names"} == typed


def test_an_unknown_name_is_refused() -> None:
    """As for any module, the error names the module and the name."""
    done = subprocess.run(
        [sys.executable, "-c", "from priolab.testbed import Nobody"], cwd=ROOT, capture_output=True, text=True
    )
    assert "cannot import name 'Nobody' from 'priolab.testbed'" in done.stderr
