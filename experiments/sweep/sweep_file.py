"""A sweep as a file: `title`, a table `grid` of lists, and the tables `knobs` and `run` of single values.

The named sweeps are such files, in the folder `catalogue` of this package.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from msgspec import Meta, Struct

from priolab.common.errors import GridError, ScenarioError
from priolab.common.formats.toml_schema import Word, declared, read_toml
from priolab.experiments.execution.cli_request import unknown_knob
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.setup.setup_request import RUN_WORDS

_CATALOGUE = Path(__file__).parent / "catalogue"
_List = Annotated[tuple[Word, ...], Meta(description="a list of values; a single value must be under [knobs]")]
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


class _File(Struct, kw_only=True, forbid_unknown_fields=True):
    title: str | None = None
    grid: Annotated[Mapping[str, _List], Meta(description="a table, [grid]")] = {}
    knobs: Annotated[Mapping[str, Word], Meta(description="a table, [knobs]")] = {}
    run: Annotated[Mapping[str, Word], Meta(description="a table, [run]")] = {}


def read(path: Path) -> SweepFile:
    """Reads the file. Checks keys and types, but not yet values. Raises ScenarioError."""
    document = read_toml("SWEEP", path)
    for key in _TABLES:
        _check_names(path, document, key)
    found = declared(f"SWEEP={path}", document, _File)
    if both := sorted({*found.grid} & {*found.knobs}):
        raise GridError(f"{path}: {', '.join(both)} is both under [grid] and under [knobs]; keep one entry")
    return SweepFile(
        name=path.stem,
        title=found.title or path.stem,
        values={name: tuple(map(_text, values)) for name, values in found.grid.items()}
        | {name: (_text(value),) for name, value in found.knobs.items()},
        run={name: _text(value) for name, value in found.run.items()},
    )


def _check_names(path: Path, document: Mapping[str, Any], key: str) -> None:
    """Raises GridError for a name that a table may not have."""
    table = document.get(key)
    for name in table if isinstance(table, dict) else ():
        if name not in _TABLES[key]:
            places = [f"[{other}]" for other, names in _TABLES.items() if name in names]
            if not places:
                raise GridError(f"{path}: {unknown_knob(name, [*KNOBS, *RUN_WORDS])}")
            raise GridError(f"{path}: {name} must be under {' or '.join(places)}, not under [{key}]")


def _text(value: str | float) -> str:
    return str(value).strip()
