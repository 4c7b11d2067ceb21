"""Reads TOML files into the types that declare them. An error names the place in the file, the value, what is allowed.

1. What a key may have is the description of its annotation, or follows from its type.
2. Of several faults in a file one is named, but all unknown keys of its table.
3. A text or number with a notation of its own, such as a time, has a type with the class method `read`, which turns the
   value in the file into the value of the type. It raises ValueError. A ValueError of `__post_init__` says which values
   of a table do not go together.
"""

import re
from collections.abc import Iterator, Mapping
from enum import EnumType
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from priolab.common.errors import ScenarioError, Unfit
from priolab.common.formats.conversion import convert
from priolab.common.formats.files import MOST_TOML_BYTES, content, from_toml, parsed, printable

T = TypeVar("T")

Word = Annotated[str | int | float, Meta(description="text or a number")]
"""The value of a knob in a file."""

_NOTHING = "nothing"
_SHOWN_MOST = 60
_NO_TEXT = re.compile(r"[-+]?[0-9._]{1,20}|true|false")
"""Texts that would be numbers or booleans without their quotes."""


def read_toml(option: str, file: Path) -> dict[str, Any]:
    """Reads a TOML file. option: the knob or option that names the file. Raises ScenarioError."""
    try:
        return parsed(from_toml, content(file, MOST_TOML_BYTES))
    except (OSError, ValueError) as error:
        reason = printable(getattr(error, "strerror", None) or str(error))
        raise ScenarioError(option, printable(str(file)), f"a readable TOML file ({reason})") from error


def declared(where: str, document: Mapping[str, Any], kind: type[T]) -> T:
    """Converts a document to the type that declares it. where: the name of the file. Raises ScenarioError."""
    try:
        made: T = _converted(document, kind)
    except msgspec.ValidationError as error:
        raise next(_faults(where, document, kind)) from error
    return made


def shown(value: Any) -> str:
    """Returns a value as an error message shows it: on one line, and shortened."""
    several_tables = isinstance(value, list) and len(value) > 1 and all(isinstance(each, dict) for each in value)
    text = f"{len(value)} tables" if several_tables else printable(str(value))
    return text if len(text) <= _SHOWN_MOST else f"{text[:_SHOWN_MOST]}..."


def _converted(value: Any, kind: Any) -> Any:
    return convert(value, kind, lambda own, given: own.read(given))


def _faults(where: str, value: Any, kind: Any) -> Iterator[ScenarioError]:
    """Yields the errors of a value that is not of a type, those of its parts first."""
    try:
        _converted(value, kind)
        return
    except msgspec.ValidationError as error:
        reason = printable(str(error))
    structs, origin, inside = _structs(kind), get_origin(_bare(kind)), get_args(_bare(kind))
    if isinstance(value, dict) and structs:
        yield from _faults_of_table(where, value, structs)
        yield Unfit(f"{where}: {reason.partition(' - at `$')[0]}")
    elif isinstance(value, dict) and origin is Mapping:
        for key, each in value.items():
            yield from _faults(f"{where}: {printable(key)}", each, inside[1])
    elif isinstance(value, list) and origin is tuple:
        for number, each in enumerate(value, start=1):
            name = f" ({shown(each['name'])})" if isinstance(each, dict) and "name" in each else ""
            yield from _faults(f"{where.removesuffix('s')} {number}{name}", each, inside[0])
    is_quoted = isinstance(value, str) and _NO_TEXT.fullmatch(value)
    yield ScenarioError(where, f'"{value}"' if is_quoted else shown(value), _allowed(kind, reason))


def _faults_of_table(where: str, table: Mapping[str, Any], structs: list[type[Struct]]) -> Iterator[ScenarioError]:
    """Yields the errors of a table. structs: its type; of several types, the table has the tag of one."""
    tag, tags = structs[0].__struct_config__.tag_field, {str(each.__struct_config__.tag): each for each in structs}
    struct = structs[0] if tag is None else tags.get(str(table.get(tag)))
    if struct is None:
        yield ScenarioError(f"{where}: {tag}", shown(table.get(str(tag), _NOTHING)), ", ".join(tags))
        return
    known = [*([tag] if tag else []), *struct.__struct_encode_fields__]
    if struct.__struct_config__.forbid_unknown_fields and (unknown := sorted(table.keys() - {*known})):
        yield ScenarioError(where, shown(", ".join(unknown)), f"the keys {', '.join(known)}")
    for field in msgspec.structs.fields(struct):
        key = field.encode_name
        if key in table:
            yield from _faults(f"{where}: {key}", table[key], field.type)
        elif field.required:
            yield ScenarioError(f"{where}: {key}", _NOTHING, _allowed(field.type, "a value"))


def _allowed(kind: Any, otherwise: str) -> str:
    """Returns the allowed values of a type in words. otherwise: the words for a type that does not tell its values."""
    first = _members(kind)[0]
    for meta in (*get_args(kind), *get_args(first)):
        if isinstance(meta, Meta) and meta.description:
            return meta.description
    plain = _bare(first)
    if structs := _structs(kind):
        return f"a table of {', '.join(structs[0].__struct_encode_fields__)}"
    if get_origin(plain) is Literal or isinstance(plain, EnumType):
        return ", ".join(map(str, get_args(plain) or plain))
    return {bool: "true, false", str: "text"}.get(plain, otherwise)


def _structs(kind: Any) -> list[type[Struct]]:
    return [each for each in _members(kind) if isinstance(each, type) and issubclass(each, Struct)]


def _members(kind: Any) -> tuple[Any, ...]:
    bare = _bare(kind)
    return get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,)


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind
