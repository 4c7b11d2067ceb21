"""Finds the programs that an arm needs: their paths, versions and packages."""

import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from experiments.errors import Unavailable
from experiments.host.apt import obtainable
from experiments.host.home import setup_command
from experiments.host.machine import distribution
from experiments.host.npm import lacks_modules
from experiments.host.own_files import digest_of
from experiments.host.processes import find, program_environment
from experiments.host.setup_plan import not_packaged
from experiments.host.tools import FRONT, Tools
from experiments.scenario.scenario import ClientKind, Scenario
from proxy.server import Server, catalogue, server_of

BROWSER, DRIVER = "chromium", "playwright"
_PATIENCE_S = 20.0
BROWSER_REMEDY = f"{setup_command('CLIENT=chromium')} installs both chromium and playwright"


def unknown(limit_s: float) -> str:
    """Returns the version text for a program that did not print its version within `limit_s`."""
    return f"unknown: the program took more than {limit_s:g} s to print its version"


def version(*command: str) -> str | None:
    """Returns the first line that a command prints, as its version; None if the command cannot be run.

    If the command takes more than 20 s, returns a text that says that the version is unknown.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False, env=program_environment()
        )
    except OSError:
        return None
    except subprocess.TimeoutExpired:
        return unknown(_PATIENCE_S)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else None


def check_edition(server: Server) -> None:
    """Checks that the lab can run the server's edition. Raises Unavailable."""
    if server.edition is not None:
        reason = f"the lab cannot run a server of the edition {server.edition} yet"
        raise Unavailable(f"SERVER={server.name}", reason, f"use SERVER={server.folder.name}")


def program_of(server: Server) -> str | None:
    """Returns the path of the server's program; None if it is not installed. Raises Unavailable.

    The one place that finds a server's program, also that of an edition.
    """
    check_edition(server)
    return find(server.program)


def server_version(server: Server) -> str | None:
    """Returns the version that the server prints; None if the server is not installed. Raises Unavailable."""
    program = program_of(server)
    if program is None or lacks_modules(server):
        return None
    return version(*server.arguments(server.version, {"program": program}))


def lack_of(server: Server) -> str | None:
    """Returns the first thing that the server needs and that is not installed; None if nothing is missing.

    Raises Unavailable.
    """
    if program_of(server) is None:
        return server.program
    if lack := next((file for file in server.files if not Path(file).exists()), None):
        return lack
    return "an npm package" if lacks_modules(server) else None


def remedy_for(server: Server) -> str:
    """Returns the command that installs the server, or alternatives if the distribution has no package of it."""
    if not server.packages:
        return f"install {server.program}, or name its packages in {server.folder / 'server.toml'}"
    if server.own:
        return f"run `apt-get install {' '.join(server.packages)}`"
    if absent := _not_packaged(server):
        return not_packaged(distribution(), absent, server=server.program, in_images=server.in_images)
    parts = [*server.packages, *(["its npm packages"] if server.npm else [])]
    return f"{setup_command(f'SERVER={server.name}')} installs {' and '.join(parts)}"


def absences() -> list[str]:
    """Returns a line for each server that is not installed here and has no package in this distribution."""
    return [
        f"SERVER={server.name} cannot be installed here: {remedy_for(server)}"
        for server in catalogue().values()
        if lack_of(server) and _not_packaged(server)
    ]


@cache
def _obtainable() -> Mapping[str, bool]:
    """Returns, for each package of a server that is not installed, whether apt can install it. Asks apt once."""
    absent = [server for server in catalogue().values() if lack_of(server)]
    return obtainable(list(dict.fromkeys(package for server in absent for package in server.packages)))


def _not_packaged(server: Server) -> list[str]:
    return [package for package in server.packages if not _obtainable().get(package, True)]


def check_levels(scenarios: Iterable[Scenario], said: str) -> None:
    """Checks that the server is new enough for NATIVE, BUFFERING and RECORD of the scenarios. Raises Unavailable.

    said: the version that the server prints. Versions with which the lab was not tried are accepted.
    """
    for name, native, buffering, record in {
        (each.server, each.native, each.buffering, each.record_bytes) for each in scenarios
    }:
        server = server_of(name)
        for knob, switch, level, value in (
            ("NATIVE", server.native, native, native),
            ("BUFFERING", server.buffering, buffering, buffering),
            ("RECORD", server.record, "stock" if record is None else "bytes", record),
        ):
            if needed := switch.lacked_until(level, said):
                reason = f"{switch.name} exists since {name} {needed}, but this machine has {said}"
                raise Unavailable(f"{knob}={value} with SERVER={name}", reason, f"install {name} {needed} or newer")


def own_versions(server: Server) -> dict[str, str]:
    """Returns digests of the files that a user gave for the server, by name; empty for the lab's own servers.

    Raises Unavailable.
    """
    what = f"SERVER={server.name}"
    return {f"files of {what}": digest_of(server.folder, what)} if server.own else {}


def lack_of_browser() -> str | None:
    """Returns the first thing that CLIENT=chromium needs and that is not installed; None if nothing is missing."""
    if find(BROWSER) is None:
        return BROWSER
    return None if find_spec(DRIVER) else f"the Python package {DRIVER}"


def browser_version() -> str | None:
    """Returns the version that the browser prints; None if the browser is not installed."""
    program = find(BROWSER)
    return version(program, "--version", "--no-sandbox") if program else None


def tools_for(scenario: Scenario, *, capture: bool) -> Tools:
    """Finds the programs that an arm of this scenario needs. Raises Unavailable."""
    server, what = server_of(scenario.server), f"SERVER={scenario.server}"
    if lack := lack_of(server):
        raise Unavailable(what, f"{lack} is not installed", remedy_for(server))
    programs = {"node": _found("node", "nodejs", what)}
    if program := program_of(server):
        programs[FRONT] = program
    programs |= {name: _found(name, "iproute2", what) for name in ("ip", "tc")}
    versions = {
        "node": version(programs["node"], "--version"),
        server.name: server_version(server),
        "iproute2": version(programs["ip"], "-V"),
        **own_versions(server),
    }
    if scenario.client is ClientKind.CHROMIUM:
        if lack := lack_of_browser():
            raise Unavailable("CLIENT=chromium", f"{lack} is not installed", BROWSER_REMEDY)
        from importlib.metadata import version as package_version  # which other clients do not need

        programs[BROWSER] = _found(BROWSER, BROWSER, "CLIENT=chromium")
        versions |= {BROWSER: browser_version(), DRIVER: package_version(DRIVER)}
    if capture:
        programs["tcpdump"] = _found("tcpdump", "tcpdump", "CAPTURE=yes")
        versions["tcpdump"] = version(programs["tcpdump"], "--version")
    return Tools(programs=programs, versions={name: text or "unknown" for name, text in versions.items()})


def _found(name: str, package: str, what: str) -> str:
    path = find(name)
    if path is None:
        raise Unavailable(what, f"{name} is not installed", f"run `apt-get install {package}`")
    return path
