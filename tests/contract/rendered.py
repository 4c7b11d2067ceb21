"""Renders a front's configuration and argument list as a run uses them; the golden files to compare them with.

`python -m tests.contract.rendered SERVER` writes those of a server anew: look at them before they are kept.
"""

import sys
from pathlib import Path

from tests.contract.fronts import front, levels

GOLDEN = Path(__file__).parent / "golden"


def render(
    name: str,
    native: str = "off",
    buffering: str = "on",
    *,
    size_bytes: int = 716_800,
    record_bytes: int | None = None,
) -> str:
    """Its configuration."""
    described = front(name, native, buffering, size_bytes=size_bytes, record_bytes=record_bytes)
    return described.settings.server.render(described._values)


def golden(name: str, native: str, buffering: str) -> Path:
    """Of the configuration at these levels."""
    unusual = "" if buffering == "on" else f"-buffering-{buffering}"
    return GOLDEN / f"{name}-native-{native}{unusual}{front(name).settings.server.template.suffix}"


def command(name: str) -> str:
    """The argument list that starts it, a word per line."""
    described = front(name)
    servers = str(described.settings.server.template.parent.parent)
    return "".join(f"{word.replace(servers, '{servers}')}\n" for word in described.command)


def golden_command(name: str) -> Path:
    """Of the argument list."""
    return GOLDEN / f"{name}.command"


def main() -> None:
    """Writes the files."""
    (wanted,) = sys.argv[1:]
    for name, native, buffering in levels():
        if name == wanted:
            golden(name, native, buffering).write_text(render(name, native, buffering))
            golden_command(name).write_text(command(name))


if __name__ == "__main__":
    main()
