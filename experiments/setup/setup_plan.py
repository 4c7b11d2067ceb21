"""Decides what a set-up does, from the request and the facts about the machine. Changes nothing itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from priolab.common.debian.apt import Rights
from priolab.common.home import kernel_command
from priolab.experiments.setup.machine import Distribution, Machine
from priolab.experiments.setup.packages import Want
from priolab.experiments.setup.setup_request import SetupPart, SetupRequest
from priolab.proxy.server import SUITES

_ELSEWHERE = "set XDG_CACHE_HOME to a folder that can be written"


@dataclass(frozen=True, kw_only=True)
class OptionalPackages:
    """Packages that the lab can do without. without: the loss if they are missing."""

    packages: tuple[str, ...]
    without: str


@dataclass(frozen=True, kw_only=True)
class SetupPlan:
    """The plan of a set-up: what to install, and what to report.

    install: the needed packages. optional: packages whose installation may fail. services: programs that Debian would
    start at boot. notes: lines for the user. refusals: the reasons why nothing is installed.
    """

    install: tuple[str, ...] = ()
    optional: tuple[OptionalPackages, ...] = ()
    services: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()


def decide(
    request: SetupRequest,
    machine: Machine,
    lacking: Sequence[Want],
    obtainable: Mapping[str, bool],
    *,
    builds_kernel: bool,
) -> SetupPlan:
    """Makes the plan.

    lacking: the wants that the machine does not meet. obtainable: True for each package that the distribution has; a
    missing entry counts as True. builds_kernel: True if the guest kernel has to be built.
    """
    if machine.no_namespaces:  # experiments cannot run in real time
        lacking = [replace(want, without="") if want.builds_kernel else want for want in lacking]
    notes: list[str] = []
    if request.part is SetupPart.ENVIRONMENT:
        others = [want for want in lacking if not want.makes_environment]
        notes += _of_what_is_missing(others, machine)
        lacking = [want for want in lacking if want.makes_environment]
    to_be_had = [want for want in lacking if want.if_there and not _absent(want, obtainable)]
    lacking = [replace(want, without="") if want in to_be_had else want for want in lacking]
    needed = [want for want in lacking if want.needed]
    refusals = [*_trouble(request, machine, builds_kernel=builds_kernel)]
    unobtainable = [want for want in needed if _absent(want, obtainable)]
    refusals += [_cannot_be_had(want, machine.distribution, obtainable) for want in unobtainable]
    obtained = [want for want in needed if want not in unobtainable]
    may_install = machine.has_apt and machine.rights is not Rights.NONE
    install = _packages(obtained)
    spare = [want for want in lacking if not want.needed and not set(want.packages) <= set(install)]
    optional = _optional([want for want in spare if not _absent(want, obtainable)])
    if not may_install:
        lines = [f"not installed: {' '.join(each.packages)}; without them, {each.without}" for each in optional]
        every = dict.fromkeys([*install, *(package for each in optional for package in each.packages)])
        if install:
            refusals += [f"these packages are missing; {remedy(every, machine)}", *lines]
            kernels = [want for want in obtained if want.builds_kernel]
            if kernels and request.part is not SetupPart.TEST and "auto" in (request.fabrics or {"auto"}):
                without = "FABRIC=compose, with Docker," if machine.no_namespaces else "FABRIC=netns"
                refusals.append(
                    f"only the guest kernel needs {' '.join(_packages(kernels))}; {without} works without them"
                )
        elif every:
            notes += [*lines, remedy(every, machine)]
        optional = []
    if refusals:
        return SetupPlan(notes=tuple(notes), refusals=tuple(refusals))
    notes += [_do_without(want, machine.distribution, obtainable) for want in spare if _absent(want, obtainable)]
    return SetupPlan(
        install=install,
        optional=tuple(optional),
        services=tuple(want.programs[0] for want in lacking if want.starts) if may_install else (),
        notes=tuple(notes),
    )


def remedy(packages: Iterable[str], machine: Machine) -> str:
    """Returns how the packages are installed, as a sentence that ends with root's command or the packages."""
    if not machine.has_apt:
        return f"install what Debian calls {' '.join(packages)}"
    return f"run as root: apt-get update && apt-get install --no-install-recommends {' '.join(packages)}"


def by_release(wants: Iterable[Want], distribution: Distribution) -> Mapping[str, bool]:
    """Returns False for each package of which the lab knows that this release of Debian lacks it.

    For machines on which apt has no list of packages yet, and this user cannot fetch one.
    """
    if not any(suite in distribution.name for suite in SUITES):
        return {}
    absent = [want for want in wants if want.suites and not any(suite in distribution.name for suite in want.suites)]
    return {package: False for want in absent for package in want.packages}


def not_packaged(
    distribution: Distribution,
    packages: Iterable[str],
    *,
    server: str,
    program: str,
    suites: Iterable[str],
    in_images: bool,
) -> str:
    """Returns a line about a server for which this distribution has no package, with the alternatives.

    server: its name. program: the name of its executable. suites: the Debian suites that have the packages.
    """
    other = next((f"SERVER={server}@{suite}" for suite in suites if suite not in distribution.name), "another SERVER")
    images = " or FABRIC=compose, whose images have this server" if in_images else ""
    return (
        f"{distribution.name} has no package {' or '.join(packages)}: put a {program} of your own in PATH or,"
        f" for an experiment, use {other}{images}"
    )


def _trouble(request: SetupRequest, machine: Machine, *, builds_kernel: bool) -> Iterable[str]:
    """Yields the reasons why the set-up cannot succeed even if all packages can be installed."""
    if machine.cache_trouble and (builds_kernel or (request.runs_here and not machine.has_cache)):
        yield f"{machine.cache_trouble}; {_ELSEWHERE}"
    if machine.no_namespaces and request.fabrics == {"netns"}:
        yield f"FABRIC=netns: {machine.no_namespaces}, or use FABRIC=virtual"


def _of_what_is_missing(lacking: Sequence[Want], machine: Machine) -> Iterable[str]:
    """Yields notes about the packages and the guest kernel that runs still need. lacking: the unmet wants."""
    packages = _packages([want for want in lacking if want.needed])
    if packages:
        yield f"not installed, and FABRIC=compose needs none of it; {remedy(packages, machine)}"
    if any(want.builds_kernel for want in lacking):
        yield f"FABRIC=virtual needs the guest kernel, which {kernel_command()} builds"


def _absent(want: Want, obtainable: Mapping[str, bool]) -> list[str]:
    """Returns the want's packages that the distribution is known to lack."""
    return [package for package in want.packages if not obtainable.get(package, True)]


def _cannot_be_had(want: Want, distribution: Distribution, obtainable: Mapping[str, bool]) -> str:
    absent = _absent(want, obtainable)
    if want.server:
        lack = not_packaged(
            distribution,
            absent,
            server=want.server,
            program=want.programs[0],
            suites=want.suites,
            in_images=want.in_images,
        )
        return f"SERVER={want.server}: {lack}"
    what = " or ".join(want.programs or want.files)
    return f"{distribution.name} has no package {' or '.join(absent)}; install {what} by other means"


def _do_without(want: Want, distribution: Distribution, obtainable: Mapping[str, bool]) -> str:
    absent = _absent(want, obtainable)
    return f"{distribution.name} has no package {' or '.join(absent)}; without it, {want.without}"


def _optional(wants: Sequence[Want]) -> list[OptionalPackages]:
    """Groups packages by what the user must do without if they are missing. All servers' packages are one group."""
    servers = [want for want in wants if want.server]
    absent = ",".join(want.server for want in servers)
    groups = {f"SERVER={absent} cannot be used": servers} if servers else {}
    for want in wants:
        if not want.server:
            groups.setdefault(want.without, []).append(want)
    return [OptionalPackages(packages=_packages(group), without=without) for without, group in groups.items()]


def _packages(wants: Iterable[Want]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(package for want in wants for package in want.packages))
