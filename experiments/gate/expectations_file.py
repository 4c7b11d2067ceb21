"""Reads a file of expectations."""

import tomllib
from pathlib import Path
from typing import get_args

import msgspec

from common.formats.files import MOST_TOML_BYTES, content, parsed, printable
from experiments.errors import ScenarioError
from experiments.gate.expectations import Check, Expectations, Late
from experiments.scenario import pages

DEFAULT = Path(__file__).parent / "rfc9218.toml"
"""The expectations that hold if the user gives none."""

_OPTION = "--expect"


def read_expectations(file: Path) -> Expectations:
    """Reads a file of expectations. Raises ScenarioError, whose one line says where in the file the fault is."""
    try:
        document = parsed(tomllib.loads, content(file, MOST_TOML_BYTES))
    except OSError as error:
        raise ScenarioError(_OPTION, str(file), f"a readable TOML file ({error.strerror})") from error
    except ValueError as error:
        raise ScenarioError(_OPTION, str(file), f"a TOML file ({printable(str(error))})") from error
    try:
        read = msgspec.convert(document, Expectations)
    except (msgspec.ValidationError, ValueError) as error:
        raise ScenarioError(_OPTION, str(file), f"expectations as docs/gate.md says ({_told(str(error))})") from error
    for check in read.check:
        if isinstance(check, Late) and not check.page.endswith(".toml") and check.page not in pages.catalogue():
            allowed = f"{', '.join(pages.catalogue())}, or a path that ends in .toml"
            raise ScenarioError(f"{_OPTION}={file}: page", check.page, allowed)
    return read


def _told(reason: str) -> str:
    """Returns msgspec's reason, with `check 2` in place of its path `$.check[1]`, and the kinds after a wrong kind."""
    text, _, where = printable(reason).partition(" - at `")
    if not where:
        return text
    path = where.rstrip("`").removeprefix("$").lstrip(".")
    if path.startswith("check[") and (end := path.find("]")) > 0 and path[6:end].isdigit():
        path = f"check {int(path[6:end]) + 1}{path[end + 1 :]}"
    if path.endswith(".kind"):
        kinds = ", ".join(str(kind.__struct_config__.tag) for kind in get_args(Check))
        text = f"{text}; the kinds are {kinds}"
    return f"{path}: {text}" if path else text
