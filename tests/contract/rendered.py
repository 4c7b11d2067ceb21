"""Renders a front's configuration and argument list as a run uses them, and names the golden files for both.

`python -m tests.contract.rendered SERVER` rewrites the golden files of a server. Check them before you commit them.
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
    """Return the front's configuration."""
    described = front(name, native, buffering, size_bytes=size_bytes, record_bytes=record_bytes)
    return described.settings.server.render(described._values)


def golden(name: str, native: str, buffering: str) -> Path:
    """Return the golden file of the configuration at these levels."""
    unusual = "" if buffering == "on" else f"-buffering-{buffering}"
    return GOLDEN / f"{name}-native-{native}{unusual}{front(name).settings.config.suffix}"


def command(name: str) -> str:
    """Return the argument list that starts the server, one word per line."""
    described = front(name)
    servers = str(described.settings.server.folder.parent)
    return "".join(f"{word.replace(servers, '{servers}')}\n" for word in described.command)


def golden_command(name: str) -> Path:
    """Return the golden file of the server's argument list."""
    return GOLDEN / f"{name}.command"


def main() -> None:
    """Rewrite the golden files of the server that the command line names."""
    (wanted,) = sys.argv[1:]
    for name, native, buffering in levels():
        if name == wanted:
            golden(name, native, buffering).write_text(render(name, native, buffering))
            golden_command(name).write_text(command(name))


if __name__ == "__main__":
    main()
