"""Plain names of arms for the page, the slides and their pictures. Arms in results keep the names of their knobs."""

from collections.abc import Mapping
from types import MappingProxyType

_NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "LOWAT": {"none": "no limit", "auto": "limit set by the tuner"},
        "PRIORITY": {"spdy": "asks for the script", "swap": "asks for the image", "none": "asks for no order"},
    }
)
_UNITS = {"K": 1024, "M": 1024**2}
_KIB = 1024


def plain(knob: str, value: str) -> str:
    """Returns the name of an arm that differs from the other arm in this knob."""
    if named := _NAMES.get(knob, {}).get(value):
        return named
    if knob == "LOWAT" and (size_bytes := _bytes(value)) and size_bytes % _KIB == 0:
        return f"limit {size_bytes // _KIB:,} KiB"
    if knob == "QUEUE" and value.isdecimal():
        return f"queue of {value}"
    return value if knob == "SERVER" else f"{knob} {value}"


def _bytes(value: str) -> int | None:
    number, factor = (value[:-1], _UNITS[value[-1]]) if value[-1:] in _UNITS else (value, 1)
    return int(number) * factor if number.isdecimal() else None
