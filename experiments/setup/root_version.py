"""Asks a server in a root (debian_tree.py) for its version.

Uses the standard library alone, because the set-up runs before the Python environment exists.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from priolab.common.elf import read_elf
from priolab.common.errors import Unavailable
from priolab.common.running import CannotStart, TookTooLong, finished
from priolab.proxy.server import Server

OTHER_SUITE = "name another suite, such as bookworm, trixie or sid"
"""The remedy if a suite's packages cannot be used."""

_PATIENCE_S = 60.0


def version_in_root(root: Path, command: Sequence[str], server: Server) -> str:
    """Returns the first line that a program in a root prints. Raises Unavailable.

    The root's own dynamic loader starts the program with the root's libraries, which needs no right to change the root.
    """
    program = root / command[0].lstrip("/")
    said, success = _said([*_loading(root, program, server), str(program), *command[1:]])
    if not success:
        reason = f"{command[0]} of {server.edition} does not run on this machine: {said}"
        raise Unavailable(f"SERVER={server.name}", reason, OTHER_SUITE)
    return said


def _loading(root: Path, program: Path, server: Server) -> Sequence[str]:
    """Returns the words that start a program by the loader in the root; none for a program that needs no loader.

    In Debian 12 the loader's usual path is an absolute link, which leads out of the root. So the loader is taken from
    the folder of the C library. A package may have a folder of its own for libraries, with its name.
    """
    try:
        elf = read_elf(program)
    except (OSError, ValueError):
        elf = None
    if elf is None or elf.loader is None:
        return ()
    folders = [*sorted(root.glob("usr/lib/*-linux-gnu*")), root / "usr/lib"]
    folders += [own for package in server.packages if (own := root / "usr/lib" / package).is_dir()]
    loader = next((path for folder in folders if (path := folder / Path(elf.loader).name).is_file()), None)
    return (str(loader), "--library-path", ":".join(map(str, folders))) if loader else ()


def _said(command: Sequence[str]) -> tuple[str, bool]:
    # no folder, and none can be made there: Caddy 2.6 makes its home even to print its version
    environment: Mapping[str, str] = {"PATH": os.defpath, "HOME": os.devnull, "TZ": "UTC"}
    try:
        done = finished(command, _PATIENCE_S, environment=environment)
    except TookTooLong:
        return f"it took more than {_PATIENCE_S:g} s to print its version", False
    except CannotStart as error:
        return error.reason, False
    lines = (done.out or done.errors).strip().splitlines()
    return (lines[0] if lines else f"exit code {done.code}"), done.code == 0 and bool(lines)
