"""Finds the programs of servers that come from wheels, in the cache."""

import hashlib
import os
from pathlib import Path

from priolab.common.cache_folder import cache_folder
from priolab.proxy.server import Server
from priolab.proxy.wheel import Wheel


def program_in_cache(server: Server) -> Path | None:
    """Returns the path of the program of a server from a wheel; None if it is not in the cache."""
    if server.wheel is None or (folder := program_folder(server, server.wheel)) is None:
        return None
    path = folder / server.program
    return path if path.exists() else None


def wheel_versions(server: Server) -> dict[str, str]:
    """Returns wheel and digest of a server's program, as an entry of a run's versions; empty without a wheel."""
    if server.wheel is None:
        return {}
    digest = server.wheel.sha256.get(os.uname().machine)
    return {f"wheel of SERVER={server.name}": f"{server.wheel.requirement}, sha256 {digest}"}


def program_folder(server: Server, wheel: Wheel) -> Path | None:
    """Returns the program's folder, which may not exist; None if there is no wheel for this machine."""
    digest = wheel.sha256.get(os.uname().machine)
    if digest is None:
        return None
    made_of = digest.encode() + b"".join(file.read_bytes() for file in wheel_sources(wheel))
    name = f"{server.program}-{server.edition}-{hashlib.sha256(made_of).hexdigest()[:12]}"
    return cache_folder() / "programs" / name


def wheel_sources(wheel: Wheel) -> tuple[Path, ...]:
    """Returns the files of the program that the wheel's toolchain compiles; an empty tuple without a toolchain.

    go.mod says which version's defaults Go uses.
    """
    return (wheel.source, wheel.source.with_name("go.mod")) if wheel.source else ()
