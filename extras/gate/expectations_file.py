"""Reads a file of expectations."""

from pathlib import Path

from priolab.common.errors import ScenarioError
from priolab.experiments.scenario import pages
from priolab.experiments.toml_schema import declared, read_toml
from priolab.extras.gate.expectations import Expectations, Late

DEFAULT = Path(__file__).parent / "rfc9218.toml"
"""The expectations that hold if the user gives none."""

_OPTION = "--expect"


def read_expectations(file: Path) -> Expectations:
    """Reads a file of expectations. Raises ScenarioError, whose one line says where in the file the fault is."""
    where = f"{_OPTION}={file}"
    read = declared(where, read_toml(_OPTION, file), Expectations)
    for check in read.check:
        if isinstance(check, Late) and not _is_page(check.page):
            allowed = f"{', '.join(pages.catalogue())}, or the path of a file, from the current folder, in .toml"
            raise ScenarioError(f"{where}: page", check.page, allowed)
    return read


def _is_page(text: str) -> bool:
    return text in pages.catalogue() or (text.endswith(".toml") and Path(text).is_file())
