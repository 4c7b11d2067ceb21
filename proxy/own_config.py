"""Checks a configuration of the user's own for a server of the lab: it must have the placeholders that a run fills in.

A placeholder of NEEDED is required if the server's own template has it. Placeholders of NATIVE, BUFFERING and RECORD
may be absent; then these knobs must keep their defaults (experiments/scenario/constraints.py).
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from priolab.proxy.template import placeholders, rendered

NEEDED = ("address", "port", "certificate", "key", "origin", "origin_host", "origin_port")
"""The placeholders without which a run cannot use a configuration."""

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_LISTENS = re.compile(r"\b(listen|bind|frontend|port)\b|:443\b", re.IGNORECASE)
_PASSES = re.compile(
    r"proxy_pass|reverse_proxy|proxypass|reverse\.url|\bbackend\b|proxy\.server|^map\s|\"origin\"|\bserver\s+([^\s{]+\s+)?\S+:\d",
    re.IGNORECASE,
)
_INSTEAD: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "address": _LISTENS,
        "port": _LISTENS,
        "certificate": re.compile(r"certificate(?!.?key)|\bcrt\b|pemfile|\bcert\b|^\s*tls\b", re.IGNORECASE),
        "key": re.compile(r"key|\bcrt\b|^\s*tls\b", re.IGNORECASE),
        "origin": _PASSES,
        "origin_host": _PASSES,
        "origin_port": _PASSES,
    }
)
"""The pattern of a line that sets a value itself, instead of having its placeholder."""

_ADDRESS = re.compile(r":\d")
_MOST_LETTERS = 80


def fault(text: str, template: str, known: Iterable[str]) -> str | None:
    """Returns in one line what is wrong with a configuration; None if nothing is.

    text: the configuration. template: the server's own template. known: the names of the values that it may use.
    """
    try:
        rendered(text, dict.fromkeys(known, ""))
    except KeyError as error:
        line, allowed = placeholders(text)[error.args[0]], ", ".join(sorted(known))
        return f"line {line} has @{{{error.args[0]}}}, which is no placeholder; the placeholders are {allowed}"
    except ValueError:
        return "it has @{ without a name and a closing brace; @@{ stands for @{ itself"
    has = placeholders(_without_comments(text))
    wanted = [name for name in NEEDED if name in placeholders(template)]
    lacks = [name for name in wanted if name not in has]
    if not lacks:
        return None
    instead = dict.fromkeys(found for name in lacks if (found := _instead(text, name)))
    example = _line(template, placeholders(template)[lacks[0]])
    told = [f"lacks {', '.join(f'@{{{name}}}' for name in lacks)}", *instead]
    return "; ".join([*told, f"the lab's own configuration has `{example}`"])


def _instead(text: str, name: str) -> str | None:
    """Returns the line that sets the value of a placeholder, in words; None if no line seems to do so.

    A line with an address and a port is preferred, because lines with the name of a backend look alike.
    """
    lines = _without_comments(text).splitlines()
    like = [
        number for number, line in enumerate(lines, 1) if _INSTEAD[name].search(line) and name not in placeholders(line)
    ]
    number = next((number for number in like if _ADDRESS.search(lines[number - 1])), like[0] if like else None)
    return f"line {number} has {_line(text, number)}" if number else None


def _line(text: str, number: int) -> str:
    return text.splitlines()[number - 1].strip()[:_MOST_LETTERS].rstrip(" ;{")


def _without_comments(text: str) -> str:
    return _COMMENT.sub("", text)
