"""The parts of RELIABILITY.md that commands write, each between two comments."""

from pathlib import Path

_DOCUMENT = Path(__file__).resolve().parents[2] / "RELIABILITY.md"


def write(name: str, text: str) -> None:
    """Replace the part of that name, `<!-- NAME -->` to `<!-- end of NAME -->`. Raises ValueError if it is missing."""
    document = _DOCUMENT.read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = document.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{_DOCUMENT.name} has no part {name!r}")
    _DOCUMENT.write_text(before + begin + text + end + after)
