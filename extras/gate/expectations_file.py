"""Reads a file of expectations."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from priolab.common.formats.files import MOST_TOML_BYTES, content, parsed, printable
from priolab.experiments.errors import ScenarioError
from priolab.experiments.scenario import pages
from priolab.extras.gate.expectations import Check, Expectations, Late

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
        raise ScenarioError(
            _OPTION, str(file), f"expectations as docs/guide/gate.md says ({_told(str(error), document)})"
        ) from error
    for check in read.check:
        if isinstance(check, Late) and not _is_page(check.page):
            allowed = f"{', '.join(pages.catalogue())}, or the path of a file, from the current folder, in .toml"
            raise ScenarioError(f"{_OPTION}={file}: page", check.page, allowed)
    return read


def _is_page(text: str) -> bool:
    return text in pages.catalogue() or (text.endswith(".toml") and Path(text).is_file())


def _told(reason: str, document: Mapping[str, Any]) -> str:
    """Returns msgspec's reason, with `check 2` in place of its path `$.check[1]`.

    After a wrong kind follow the kinds, after an unknown key the keys, and after an unknown word the words allowed.
    """
    text, _, where = printable(reason).partition(" - at `")
    key = path = where.rstrip("`").removeprefix("$").lstrip(".")
    kinds = {str(kind.__struct_config__.tag): kind for kind in get_args(Check)}
    table: Any = Expectations
    if path.startswith("check[") and (end := path.find("]")) > 0 and path[6:end].isdigit():
        number, key = int(path[6:end]), path[end + 1 :].lstrip(".")
        path = f"check {number + 1}{path[end + 1 :]}"
        table = kinds.get(str(document["check"][number].get("kind")))
    if key == "kind":
        text = f"{text}; the kinds are {', '.join(kinds)}"
    elif "unknown field" in text and table:
        own = () if table is Expectations else ("kind",)
        text = f"{text}; the keys are {', '.join([*own, *table.__struct_fields__])}"
    elif text.startswith("Invalid enum value") and table:
        hint = get_type_hints(table)[key]
        text = f"{text}; allowed: {', '.join(str(value) for value in get_args(hint) or hint)}"
    return f"{path}: {text}" if path else text
