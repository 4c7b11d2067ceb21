"""Finds what code imports of the lab beside its public face, `import priolab`."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import priolab


def private_modules(folder: Path, own: str) -> dict[str, set[str]]:
    """Return the private modules that the code of a folder imports, each with the names of the files that do.

    folder: with modules and notebooks; its folders are left out. own: the package of the folder, which it may import.
    """
    found: dict[str, set[str]] = {}
    for path in sorted(folder.iterdir()):
        for module in _private(_code(path)):
            if module != own and not module.startswith(f"{own}."):
                found.setdefault(module, set()).add(path.name)
    return found


def _code(path: Path) -> str:
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text())["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return path.read_text() if path.suffix == ".py" else ""


def _private(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module.startswith("priolab."):
                yield node.module
            if node.module == "priolab":
                yield from (f"priolab.{each.name}" for each in node.names if each.name not in priolab.__all__)
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("priolab."))
        if (
            isinstance(node, ast.Attribute)
            and ast.unparse(node.value) == "priolab"
            and node.attr not in priolab.__all__
        ):
            yield f"priolab.{node.attr}"
