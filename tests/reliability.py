"""RELIABILITY.md, as far as commands write it: each its own part, between two marks."""

from pathlib import Path

_DOCUMENT = Path(__file__).resolve().parents[1] / "RELIABILITY.md"


def write(name: str, text: str) -> None:
    """Replace the part of that name, `<!-- NAME -->` to `<!-- end of NAME -->`. Raises ValueError if it has none."""
    document = _DOCUMENT.read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = document.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{_DOCUMENT.name} has no part {name!r}")
    _DOCUMENT.write_text(before + begin + text + end + after)
