"""The capabilities of this machine, as `priolab doctor` finds them; tests that lack one are skipped."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from priolab.common.uring import Ring
from priolab.experiments.commands.doctor import examine, link_options
from priolab.experiments.host import keeper
from priolab.experiments.host.installed import lack_of
from priolab.experiments.host.machine import Capability
from priolab.experiments.host.search_path import find
from priolab.proxy.server import catalogue, server_of
from tests.page import axe
from tests.support import stock_runner
from tests.support.selection import LEFT_OUT, is_needed_by_core

only_core = False
"""True if the tests are those of the core, which use few servers and programs (selection.py)."""
told: dict[str, Capability] = {}
"""In a worker of pytest-xdist: the capabilities that the process which started it has found."""


@cache
def known() -> Mapping[str, Capability]:
    """Returns this machine's capabilities. Takes a second; unit tests do not call it."""
    if told:
        return told
    found = {capability.name.replace(" ", "-"): capability for capability in examine()}
    for option in reversed(link_options()):
        name = f"fabric-{option.fabric}"
        if option.usable or name not in found:
            detail = str(option.shaper) if option.usable else option.reason
            found[name] = Capability(name=name, present=option.usable, detail=detail, remedy=option.remedy)
    for server in (server_of(f"{name}@{edition}") for name, each in catalogue().items() for edition in each.wheels):
        lack = lack_of(server)
        found[server.name] = Capability(
            name=server.name, present=lack is None, detail=lack or "in the cache", remedy="make setup-test"
        )
    script = axe()
    detail = str(script) if script.exists() else "not installed"
    found["axe"] = Capability(name="axe", present=script.exists(), detail=detail, remedy="make setup-test")
    for name in ("cargo", "clang", "curl", "dnsmasq", "h2load", "iperf3", "lintian", "sshd"):
        path = find(name)
        found[name] = Capability(
            name=name, present=path is not None, detail=path or "not installed", remedy="make setup-test"
        )
    detail = _io_uring()
    found["io_uring"] = Capability(name="io_uring", present=not detail, detail=detail or "present", remedy="")
    group = keeper.group_of("/")
    writable = group is not None and os.access(group, os.W_OK)
    found["cgroup"] = Capability(name="cgroup", present=writable, detail=group or "no cgroup v2", remedy="")
    lack = stock_runner.lack()
    found["stock-runner"] = Capability(
        name="stock-runner", present=lack is None, detail=lack or "can be made", remedy=""
    )
    if only_core:
        left = [name for name in found if not is_needed_by_core(name)]
        found |= {name: replace(found[name], present=False, detail=LEFT_OUT) for name in left}
    return found


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


def needs(name: str) -> None:
    """Skips the test where a capability is missing."""
    capability = known()[name]
    if not capability.present:
        pytest.skip(f"{name} is missing: {capability.detail}")
