"""The capabilities of this machine, which tests need: the names that the mark `needs` and PRIOLAB_EXPECT have.

A test says what it needs: `@pytest.mark.needs("h2o", "tcpdump")`. A fixture says it by `needing`, and its tests get the
mark. By the mark, and not by what happens to be installed, `make test` selects its tests (selection.py). A selected
test is skipped where something that it needs is missing.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

import pytest

from priolab.common.process import supervisor
from priolab.common.process.search_path import find
from priolab.common.uring import Ring
from priolab.experiments.commands.doctor import examine, link_options
from priolab.experiments.run.fabrics import FABRICS
from priolab.experiments.setup.installed import lack_of
from priolab.experiments.setup.machine import Capability
from priolab.experiments.setup.packages import CAPTURING, READING_CAPTURES
from priolab.experiments.setup.tools import BROWSERS
from priolab.proxy.server import Server, catalogue, server_of
from priolab.testbed.guest import kernel, kernel_source
from tests.page import axe
from tests.support import mptcp, stock_runner

_OF_EXPERIMENT = (
    *("python", "node", "tc", "ethtool", "nginx"),
    *("guest-kernel", "netem-in-guest", "fabric-virtual", "fabric-netns"),
)
"""What the set-up of an experiment gives."""

_OF_MACHINE = ("root", "bpf", "cgroup", "io_uring", "mptcp", "seccomp")
"""What no package gives: rights of the user, and parts of the machine's kernel."""

_WITH_PYTEST = ("pycddl",)
"""What the packages of Python for tests have, where it has a wheel for this Python."""

_OF_CORE = (*_OF_EXPERIMENT, *_OF_MACHINE, *_WITH_PYTEST)

_PROGRAMS = (
    *("cargo", "clang", "curl", "dnsmasq", "gcc", "groff", "h2load", "iperf3", "lintian", "nft"),
    *("redis-server", "sshd"),
    *CAPTURING,
    *READING_CAPTURES,
    "systemd-analyze",
)
_OTHERS = ("axe", "bare-debian", "kernel-source", "kubernetes_validate", "stock-runner")

_UNUSUAL = ("kernel-source", "kubernetes_validate", "mptcp", "systemd-analyze")
"""What CI's machine may lack."""

EVERYTHING = "everything"
"""The value of PRIOLAB_EXPECT for all names but those in _UNUSUAL."""

NEEDED = "needed"
"""The attribute of a fixture's function with what tests with the fixture need."""

Fixture = TypeVar("Fixture", bound=Callable[..., Any])

told: dict[str, Capability] = {}
"""In a worker of pytest-xdist: the capabilities that the process which started it has found."""


@cache
def names() -> frozenset[str]:
    """Returns the name of every capability."""
    servers = [*catalogue(), *(server.name for server in _editions())]
    fabrics = [f"fabric-{name}" for name in FABRICS]
    return frozenset((*_OF_CORE, *_PROGRAMS, *_OTHERS, *servers, *fabrics, *BROWSERS))


def is_needed_by_core(capability: str) -> bool:
    """True if the core's tests may need a capability: they do not need what the set-up would install for them alone."""
    return capability in _OF_CORE


def expected(words: str) -> frozenset[str]:
    """Returns the names that PRIOLAB_EXPECT stands for: names with commas, or EVERYTHING."""
    if words == EVERYTHING:
        return names() - {*_UNUSUAL}
    return frozenset(name for name in words.split(",") if name)


def each(found: Iterable[str]) -> list[Any]:
    """Returns parameters of a test or fixture, of which each is a name, and needs what has this name."""
    return [pytest.param(name, marks=pytest.mark.needs(name)) for name in found]


def needing(*found: str) -> Callable[[Fixture], Fixture]:
    """Decorates the function of a fixture: tests with the fixture need what has these names."""

    def say(function: Fixture) -> Fixture:
        setattr(function, NEEDED, found)
        return function

    return say


@cache
def known() -> Mapping[str, Capability]:
    """Returns this machine's capabilities. Takes a second; tests that need nothing do not call it."""
    if told:
        return told
    found = {capability.name.replace(" ", "-"): capability for capability in examine()}
    for option in reversed(link_options()):
        name = f"fabric-{option.fabric}"
        if option.usable or name not in found:
            detail = str(option.shaper) if option.usable else option.reason
            found[name] = Capability(name=name, present=option.usable, detail=detail, remedy=option.remedy)
    for name, lack in _lacks().items():
        found[name] = Capability(name=name, present=not lack, detail=lack or "present", remedy="")
    return found


def _editions() -> list[Server]:
    return [server_of(f"{name}@{edition}") for name, server in catalogue().items() for edition in server.wheels]


def _lacks() -> Mapping[str, str]:
    """Returns why this machine lacks what `priolab doctor` does not look for; empty for what it has."""
    group = supervisor.group_of("/")
    source = kernel_source.present(kernel_source.PINNED)
    programs = (name for name in _PROGRAMS if name not in (*CAPTURING, *READING_CAPTURES, "gcc"))
    return {
        **{server.name: lack_of(server) or "" for server in _editions()},
        **{name: "" if find(name) else "not installed" for name in programs},
        **{name: "" if find_spec(name) else "not installed" for name in (*_WITH_PYTEST, "kubernetes_validate")},
        "axe": "" if axe().exists() else "not installed",
        "bare-debian": stock_runner.lack() or "",
        "kernel-source": "" if source else "the source of the guest's kernel is not in the cache",
        "stock-runner": stock_runner.lack() or "",
        "root": "" if os.geteuid() == 0 else "this user is not root",
        "cgroup": "" if group is not None and os.access(group, os.W_OK) else "no cgroup can be made",
        "io_uring": _io_uring(),
        "mptcp": mptcp.lack(),
        "seccomp": kernel.why_ptrace() or "",
    }


def _io_uring() -> str:
    """Returns the reason why this machine's kernel takes no samples in batches; empty if it does."""
    try:
        with Ring(1):
            return ""
    except OSError as error:
        return str(error)


def present(name: str) -> bool:
    """Returns True if this machine has a capability, such as a server."""
    return known()[name].present
