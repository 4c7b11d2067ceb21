"""Finds the extras that are there: packages in extras/, each with a file extra.toml. None is imported before its use.

A file extra.toml has these keys:

    about              what the extra is for, in a sentence
    needs              names of other extras that it imports; none by default
    pages, elsewhere   documents and other files of the checkout that belong to it
    executor           the class of an executor on other machines, as MODULE:CLASS
    bench              a module whose function `main` is a part of `make bench`
    [commands.NAME]    a command of `priolab`: `help`, in a line, and `module`

The modules are named within the extra's package.
"""

import tomllib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from priolab.experiments.host.home import ROOT


def extras(root: Path = ROOT) -> Mapping[str, Mapping[str, Any]]:
    """Returns the contents of all files extra.toml below a root, by the extra's name."""
    return {file.parent.name: tomllib.loads(file.read_text()) for file in sorted(root.glob("extras/*/extra.toml"))}


def commands() -> Iterator[tuple[str, str, str]]:
    """Yields the name, the help and the module of each command of an extra."""
    for extra, said in extras().items():
        for name, command in said.get("commands", {}).items():
            yield name, command["help"], _full(extra, command["module"])


def parts(key: str) -> list[Any]:
    """Imports and returns the modules or classes that extras name under a key, such as `bench` or `executor`."""
    return [_imported(_full(extra, said[key])) for extra, said in extras().items() if key in said]


def _full(extra: str, module: str) -> str:
    return f"priolab.extras.{extra}.{module}"


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    imported = import_module(module)
    return getattr(imported, attribute) if attribute else imported
