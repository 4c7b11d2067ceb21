"""A sweep as a file: `title`, a table `grid` of lists, and the tables `knobs` and `run` of single values.

The named sweeps are such files, in the folder `catalogue` of this package.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from priolab.common.formats.files import MOST_TOML_BYTES, content, parsed
from priolab.experiments.errors import GridError, ScenarioError
from priolab.experiments.execution.invocation import unknown_knob
from priolab.experiments.host.setup_request import RUN_WORDS
from priolab.experiments.scenario.knobs import KNOBS

_CATALOGUE = Path(__file__).parent / "catalogue"
_TABLES: Mapping[str, tuple[str, ...]] = {"grid": tuple(KNOBS), "knobs": tuple(KNOBS), "run": RUN_WORDS}


@dataclass(frozen=True, kw_only=True)
class SweepFile:
    """The content of a sweep's file. values: the values of each knob. run: the value of each execution option."""

    name: str
    title: str
    values: Mapping[str, tuple[str, ...]]
    run: Mapping[str, str]


@cache
def catalogue() -> Mapping[str, SweepFile]:
    """Returns the named sweeps, by name."""
    return MappingProxyType({path.stem: read(path) for path in sorted(_CATALOGUE.glob("*.toml"))})


def named(text: str) -> SweepFile:
    """Returns the named sweep, or the sweep in a file. text: a name, or a path. Raises ScenarioError."""
    if text.endswith(".toml"):
        return read(Path(text))
    if text not in catalogue():
        raise ScenarioError("SWEEP", text, f"{', '.join(catalogue())}, or a path that ends in .toml")
    return catalogue()[text]


def read(path: Path) -> SweepFile:
    """Reads the file. Checks keys and types, but not yet values. Raises ScenarioError."""
    try:
        document = parsed(tomllib.loads, content(path, MOST_TOML_BYTES))
    except (OSError, ValueError) as error:
        raise ScenarioError("SWEEP", str(path), f"a readable TOML file ({error})") from error
    if unknown := set(document) - {"title", *_TABLES}:
        raise ScenarioError(f"SWEEP={path}", ", ".join(sorted(unknown)), f"the keys title, {', '.join(_TABLES)}")
    lists = {name: _words(f"{path}: {name}", value) for name, value in _table(path, document, "grid")}
    single = {name: (_word(f"{path}: {name}", value),) for name, value in _table(path, document, "knobs")}
    if both := sorted(set(lists) & set(single)):
        raise GridError(f"{path}: {', '.join(both)} is both under [grid] and under [knobs]; keep one entry")
    return SweepFile(
        name=path.stem,
        title=str(document.get("title", path.stem)),
        values=lists | single,
        run={name: _word(f"{path}: {name}", value) for name, value in _table(path, document, "run")},
    )


def _table(path: Path, document: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    """Yields the entries of a table of the document. Raises ScenarioError for a name that the table may not have."""
    table = document.get(key, {})
    if not isinstance(table, dict):
        raise ScenarioError(f"{path}: {key}", repr(table), f"a table, [{key}]")
    for name, value in table.items():
        if name not in _TABLES[key]:
            places = [f"[{other}]" for other, names in _TABLES.items() if name in names]
            if not places:
                raise GridError(f"{path}: {unknown_knob(name, [*KNOBS, *RUN_WORDS])}")
            raise GridError(f"{path}: {name} must be under {' or '.join(places)}, not under [{key}]")
        yield name, value


def _words(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ScenarioError(where, repr(value), "a list of values; a single value must be under [knobs]")
    return tuple(_word(where, each) for each in value)


def _word(where: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ScenarioError(where, repr(value), "text or a number")
    return str(value).strip()
