"""Checks the entry (server.toml) of a user's own server. docs/guide/adding-a-server.md explains the fields."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from priolab.proxy.switch import H2C, LEVELS

_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROTOCOLS = ("h2", "h3")


def check_entry(entry: Mapping[str, Any]) -> None:
    """Checks that an entry has the fields that it needs, and only known fields. Raises ValueError with one line."""
    if lacking := [name for name in _NEEDED if name not in entry]:
        raise ValueError(f"lacks {', '.join(lacking)}")
    _check_table("", entry, _FIELDS)
    if "template" not in entry and any("{config}" in word for word in entry["command"]):
        raise ValueError("lacks template, although command has {config}")
    _check_editions(entry)
    if not entry.get("tls", True) and entry.get("protocol", _PROTOCOLS[0]) != _PROTOCOLS[0]:
        raise ValueError(f"tls = false is not allowed with protocol = {entry['protocol']!r}; allowed: true")
    if not entry.get("tls", True) and H2C not in entry.get("listener", {H2C: {}}):
        raise ValueError(f"[listener] lacks {H2C}, although tls = false")
    for name, (level, *_) in LEVELS.items():
        if name in entry and level not in entry[name]:
            raise ValueError(f"[{name}] lacks {level}")


def _check_editions(entry: Mapping[str, Any]) -> None:
    editions = entry.get("editions", {})
    for name, edition in editions.items():
        if not isinstance(edition, dict):
            raise ValueError(f"[editions] {name} = {edition!r} is not allowed; allowed: a table")
        where = f'[editions."{name}"] '
        _check_table(where, edition, _EDITION)
        if lacking := [field for field in _NEEDED_OF_AN_EDITION if field not in edition]:
            raise ValueError(f"{where}lacks {', '.join(lacking)}")
    if "edition" in entry and entry["edition"] not in editions:
        allowed = ", ".join(editions) or "none, because there are no [editions]"
        raise ValueError(f"edition = {entry['edition']!r} is not allowed; allowed: {allowed}")


@dataclass(frozen=True)
class _Field:
    """A field of an entry. allowed: the values for which `fits` is true, in words. inside: the fields of a table."""

    fits: Callable[[Any], bool]
    allowed: str
    inside: "Mapping[str, _Field] | None" = None


def _check_table(where: str, table: Mapping[str, Any], fields: Mapping[str, _Field]) -> None:
    for name, value in table.items():
        if name not in fields:
            raise ValueError(f"{where}{name} is unknown; the fields are {', '.join(fields)}")
        field = fields[name]
        if not field.fits(value):
            raise ValueError(f"{where}{name} = {value!r} is not allowed; allowed: {field.allowed}")
        if field.inside:
            _check_table(f"[{name}] ", value, field.inside)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_word, value))


def _is_command(value: object) -> bool:
    return _is_list(value) and bool(value)


def _is_values(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


_WORD = _Field(_is_word, "a text")
_LIST = _Field(_is_list, "a list of texts")
_COMMAND = _Field(_is_command, "a list with at least one text")
_VALUES = _Field(_is_values, "a table of texts")


def _switch(*levels: str) -> _Field:
    fields: dict[str, _Field] = {"name": _WORD}
    for level in levels:
        fields |= {level: _VALUES, f"{level}_since": _WORD}
    if levels == LEVELS["buffering"]:
        fields["usual"] = _Field(lambda value: value in levels, " or ".join(levels))
    return _table(fields)


def _table(fields: Mapping[str, _Field]) -> _Field:
    return _Field(_is_table, "a table", fields)


_FLAG = _Field(lambda value: isinstance(value, bool), "true or false")
_NEEDED = ("program", "version", "command")
_NEEDED_OF_AN_EDITION = ("wheel", "path", "sha256")
_EDITION: Mapping[str, _Field] = MappingProxyType(
    {
        "wheel": _Field(
            lambda value: _is_word(value) and bool(_REQUIREMENT.fullmatch(value)), "a package as NAME==VERSION"
        ),
        "path": _WORD,
        "sha256": _VALUES,
        "source": _WORD,
        "scheduling": _WORD,
    }
)
_FIELDS: Mapping[str, _Field] = MappingProxyType(
    {
        "program": _WORD,
        "version": _COMMAND,
        "command": _COMMAND,
        "template": _Field(lambda value: _is_word(value) and "/" not in value, "the name of a file in this folder"),
        "packages": _LIST,
        "image_version": _WORD,
        "base": _FLAG,
        "files": _LIST,
        "tls": _FLAG,
        "env": _Field(
            lambda value: _is_list(value) and all(map(_VARIABLE.fullmatch, value)), "a list of names of variables"
        ),
        "protocol": _Field(lambda value: value in _PROTOCOLS, " or ".join(_PROTOCOLS)),
        "scheduling": _WORD,
        "reads_processor_clock": _FLAG,
        "takes_whole": _FLAG,
        **{name: _switch(*levels) for name, levels in LEVELS.items()},
        "edition": _WORD,
        "editions": _Field(_is_table, "a table"),
        "privileges": _table({"root": _VALUES, "ordinary": _VALUES}),
    }
)
