"""The programs an arm needs: where they are, and what they call themselves."""

import os
import shutil
import subprocess

from experiments.errors import Unavailable
from experiments.npm import check_modules, lacks_modules
from experiments.order import Tools
from experiments.processes import in_utc
from proxy.server import Server, catalogue

_SEARCH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def find(name: str) -> str | None:
    """Absolute path of a program, the system's own folders included."""
    return shutil.which(name, path=_SEARCH)


def version(*command: str) -> str | None:
    """First line a program prints about its version, None if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False, env=in_utc())
    except OSError:
        return None
    return (done.stdout or done.stderr).strip().splitlines()[0] if done.stdout or done.stderr else None


def server_version(server: Server) -> str | None:
    """What the server calls itself, None if it is not installed."""
    program = find(server.program)
    if program is None or lacks_modules(server):
        return None
    return version(*server.arguments(server.version, {"program": program}))


def tools_for(server_name: str, *, capture: bool) -> Tools:
    """Everything an arm with that front needs. Raises Unavailable."""
    server = catalogue()[server_name]
    packages = {
        "node": "nodejs",
        server.program: server.package,
        "ip": "iproute2",
        "tc": "iproute2",
    }
    programs = {name: _found(name, package, f"SERVER={server_name}") for name, package in packages.items()}
    check_modules(server)
    versions = {
        "node": version(programs["node"], "--version"),
        server.name: server_version(server),
        "iproute2": version(programs["ip"], "-V"),
    }
    if capture:
        programs["tcpdump"] = _found("tcpdump", "tcpdump", "CAPTURE=yes")
        versions["tcpdump"] = version(programs["tcpdump"], "--version")
    return Tools(programs=programs, versions={name: text or "unknown" for name, text in versions.items()})


def _found(name: str, package: str, what: str) -> str:
    path = find(name)
    if path is None:
        raise Unavailable(what, f"{name} is not installed", f"run `apt-get install {package}`")
    return path
