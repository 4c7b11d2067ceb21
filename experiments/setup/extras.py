"""Finds the extras that are there: packages in extras/ with a file extra.toml. None is imported before its use."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from priolab.common.formats.toml_schema import declared, read_toml
from priolab.common.home import ROOT


class ExtraCommand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command of an extra. help: a line. module: the module that adds the command's options."""

    help: str
    module: str


class Extra(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a file extra.toml. Modules are named within the extra's package.

    about: a sentence that says what the extra is for. needs: the names of other extras that it imports. tests_need:
    what its tests need beside what an experiment needs, by the names of tests/support/capabilities.py. pages,
    elsewhere: documents and other files of the checkout that belong to it. executor: the class of an executor on other
    machines, as MODULE:CLASS. bench: a module whose function `main` is a part of `make bench`. site: a module that
    makes a page of the web site for one of the extra's documents (tools/site.py). commands: the commands of `priolab`,
    by name.
    """

    about: str
    needs: tuple[str, ...] = ()
    tests_need: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    executor: str | None = None
    bench: str | None = None
    site: str | None = None
    commands: Mapping[str, ExtraCommand] = {}


def extras(root: Path = ROOT) -> Mapping[str, Extra]:
    """Returns the extras below a root, by name. Raises ScenarioError."""
    files = sorted(root.glob("extras/*/extra.toml"))
    return {file.parent.name: declared(str(file), read_toml("extra", file), Extra) for file in files}


def commands() -> Iterator[tuple[str, str, str]]:
    """Yields the name, the help and the module of each command of an extra."""
    for extra, said in extras().items():
        for name, command in said.commands.items():
            yield name, command.help, _full(extra, command.module)


def parts(key: Literal["bench", "executor", "site"]) -> list[Any]:
    """Imports and returns the modules or classes that extras name under a key."""
    named = {extra: getattr(said, key) for extra, said in extras().items()}
    return [_imported(_full(extra, module)) for extra, module in named.items() if module]


def _full(extra: str, module: str) -> str:
    return f"priolab.extras.{extra}.{module}"


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    imported = import_module(module)
    return getattr(imported, attribute) if attribute else imported
