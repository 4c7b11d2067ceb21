"""Gives a package names that it imports when they are used, so that a program loads only what it needs (PEP 562)."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: dict[str, Any], homes: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns the `__getattr__` and the `__dir__` of a package.

    package: the package's globals. homes: for each module, which of its names are the package's, too. modules: the
    modules that are such names themselves, by the last part of their own name.
    """
    names = {name: module for module, its in homes.items() for name in its}
    whole = {module.rpartition(".")[2]: module for module in modules}

    def find(name: str) -> Any:
        if name in whole:
            found = import_module(whole[name])
        elif name in names:
            found = getattr(import_module(names[name]), name)
        else:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        package[name] = found
        return found

    return find, lambda: sorted({*package, *names, *whole})
