"""Files as users give them to the lab: builds of nginx, a configuration, a server's folder."""

from pathlib import Path

from priolab.common.process.search_path import find
from priolab.proxy.server import catalogue

NGINX = catalogue()["nginx"]
TEMPLATE = NGINX.template_text
PLAIN = "\n".join(line for line in TEMPLATE.replace("@{buffering}", "on").splitlines() if "@{record}" not in line)
"""The configuration of nginx without the placeholders of BUFFERING and RECORD."""

ENTRY = """\
program = "./server"
version = ["{program}", "-v"]
command = ["{program}", "-p", "{state}", "-e", "{log}", "-c", "{config}"]
template = "mine.conf"
"""


def installed() -> str:
    """Return the path of nginx, which every machine of the lab has."""
    found = find("nginx")
    assert found
    return found


def wrapper(path: Path, version: str) -> Path:
    """Write a script that prints a version of its own, and otherwise is the installed nginx."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f'#!/bin/sh\n[ "$1" = -v ] && echo "nginx version: {version}" >&2 && exit\nexec {installed()} "$@"\n'
    )
    path.chmod(0o755)
    return path


def build(path: Path, old: bytes = b"", new: bytes = b"") -> Path:
    """Write a copy of the installed nginx, in which one text is replaced by another of the same length."""
    content = Path(installed()).read_bytes()
    assert len(old) == len(new)
    assert old in content
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.replace(old, new) if old else content)
    path.chmod(0o755)
    return path


def server_folder(path: Path) -> Path:
    """Write a server's folder with a build of nginx in it, and a configuration without optional placeholders."""
    build(path / "server")
    (path / "server.toml").write_text(ENTRY)
    (path / "mine.conf").write_text(PLAIN)
    return path
