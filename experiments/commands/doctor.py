"""Examines which parts, fabrics and shapers this machine can use, and names a remedy for each that it cannot use."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from importlib.metadata import version as package_version

from priolab.common.errors import Unavailable
from priolab.common.exit_codes import exit_code
from priolab.common.home import kernel_command
from priolab.common.process.search_path import find
from priolab.experiments.commands.console import Report
from priolab.experiments.hosts.fabric import Fabric
from priolab.experiments.run.fabrics import FABRICS
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.setup.installed import lack_of
from priolab.experiments.setup.machine import Capability, LinkOption
from priolab.experiments.setup.packages import CAPTURING, READING_CAPTURES
from priolab.experiments.setup.programs import (
    browser_remedy,
    browser_version,
    lack_of_browser,
    remedy_for,
    server_version,
    version,
)
from priolab.experiments.setup.tools import BROWSERS, BrowserProgram
from priolab.netem.availability import NETEM
from priolab.proxy.server import Server, catalogue
from priolab.proxy.tuner.in_kernel import PROGRAM
from priolab.proxy.tuner.libbpf import CannotTune, Loaded
from priolab.testbed import guest_requirements, kernel, kernel_source

_NODE = "node"
"""The program of the origin. It is also all that SERVER=node needs."""

_GUEST_NETEM = "netem in guest"


def _program(name: str, package: str, *version_words: str) -> list[Capability]:
    path = find(name)
    said = version(path, *version_words) if path else None
    capability = Capability(
        name=name,
        present=path is not None,
        detail=said or path or "not installed",
        remedy="" if path else f"apt-get install {package}",
    )
    return [capability]


def _server(server: Server) -> list[Capability]:
    lack = lack_of(server)
    said = server_version(server) or "unknown"
    detail = f"{lack} is not installed" if lack else said
    remedy = remedy_for(server) if lack else ""
    return [Capability(name=server.name, present=lack is None, detail=detail, remedy=remedy)]


def add_to(parser: ArgumentParser) -> None:
    """Adds the option of `priolab doctor` to its parser."""
    parser.add_argument("--json", action="store_true", help="print the same as JSON, for programs")
    parser.set_defaults(do=show)


def show(options: Namespace, report: Report) -> int:
    """Shows every capability, and every fabric with every shaper. Returns 0 if a fabric can be used, otherwise 1."""
    parts, found = examine(), link_options()
    if options.json:
        print(json.dumps({"parts": [*map(asdict, parts)], "fabrics": [*map(asdict, found)]}, indent=2))
    else:
        report.capabilities(parts)
        report.say("")
        report.link_options(found)
    return exit_code(ok=any(option.usable for option in found))


def examine() -> list[Capability]:
    """Returns every capability: programs and servers first, then the parts that need these programs.

    The programs that print versions run side by side, because each program takes seconds on a slow machine.
    """
    questions: list[Callable[[], list[Capability]]] = [
        partial(_program, _NODE, "nodejs", "--version"),
        partial(_program, "tc", "iproute2", "-V"),
        partial(_program, "ethtool", "ethtool", "--version"),
        *(partial(_server, server) for name, server in catalogue().items() if name != _NODE),
        *(partial(_program, name, package, "--version") for name, package in {**CAPTURING, **READING_CAPTURES}.items()),
        *(partial(_browser, browser) for browser in BROWSERS.values()),
        _tuner,
        partial(_program, "gcc", "gcc", "--version"),
        _guest,
    ]
    python = Capability(name="python", present=True, detail=sys.version.split()[0], remedy="")
    with ThreadPoolExecutor(len(questions)) as pool:
        answers = pool.map(lambda ask: ask(), questions)
        return [python, *(capability for answer in answers for capability in answer)]


def _browser(browser: BrowserProgram) -> list[Capability]:
    """Examines the parts of a browser as the client: the browser and its driver."""
    lack, driver = lack_of_browser(browser), browser.driver
    with_driver = f", {driver} {package_version(driver)}" if driver and not lack else ""
    detail = f"{lack} is not installed" if lack else f"{browser_version(browser)}{with_driver}"
    remedy = browser_remedy(browser) if lack else ""
    return [Capability(name=browser.name, present=lack is None, detail=detail, remedy=remedy)]


def _tuner() -> list[Capability]:
    """Examines whether this machine's kernel loads the BPF program of LOWAT=auto. Guests have kernels of their own."""
    lack, remedy = "", ""
    try:
        Loaded(PROGRAM).close()
    except CannotTune as error:
        lack, remedy = str(error), "run as root; guests work without root, too"
    detail = lack or "this kernel accepts the tuner's program"
    return [Capability(name="bpf", present=not lack, detail=detail, remedy=remedy)]


def _guest() -> list[Capability]:
    if not guest_requirements.builds_guests():
        reason, remedy = guest_requirements.NO_GUESTS
        parts = ("guest kernel", _GUEST_NETEM)
        return [Capability(name=part, present=False, detail=reason, remedy=remedy) for part in parts]
    record = kernel.record()
    detail = "not built" if record is None else f"{_built(record)}; {_entry()}"
    found = Capability(
        name="guest kernel", present=record is not None, detail=detail, remedy="" if record else kernel_command()
    )
    lack = guest_requirements.no_netem()
    netem = Capability(
        name=_GUEST_NETEM,
        present=lack is None,
        detail=lack or NETEM,
        remedy="" if lack is None else kernel_command(),
    )
    return [found, netem]


def _built(record: kernel.BuildRecord) -> str:
    """Describes a guest kernel: its version, and the lab's changes of its source."""
    words = [f"Linux {record.version}"]
    if record.stands_in:
        words.append(f"in place of {kernel_source.words(kernel_source.PINNED)}, which is not available")
    words.append(f"{len(record.changes)} changes of the source ({', '.join(record.changes)})")
    if record.lacking:
        words.append(f"changes not applied, which would make runs faster: {', '.join(record.lacking)}")
    return "; ".join(words)


def _entry() -> str:
    """Describes how programs enter the guest kernel: by seccomp, or by ptrace, which is slower than seccomp."""
    reason = kernel.why_ptrace()
    return "entered by seccomp" if reason is None else f"entered by ptrace, so runs take about twice as long: {reason}"


def link_options() -> list[LinkOption]:
    """Returns every fabric with every shaper, the preferred ones first."""
    return [option for fabric in FABRICS.values() for option in _link_options(fabric)]


def _link_options(fabric: Fabric) -> list[LinkOption]:
    shapers = fabric.shapers()
    try:
        fabric.check_usable(scenario_from({}), None)
    except Unavailable as error:
        return [
            LinkOption(fabric=fabric.name, shaper=shaper, usable=False, reason=error.reason, remedy=error.remedy)
            for shaper, _ in shapers
        ]
    stand_in = f"without it {' or '.join(shaper for shaper, lack in shapers if not lack)} is used"
    return [
        LinkOption(
            fabric=fabric.name,
            shaper=shaper,
            usable=lack is None,
            reason=lack or "",
            remedy=stand_in if lack else "",
        )
        for shaper, lack in shapers
    ]
