"""The fabric `virtual`: places in a guest, with real Linux, real netem, and a clock that jumps over idle time."""

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import Any

from priolab.common.errors import Unavailable
from priolab.experiments.hosts.guest_hosts import QUIC, InGuest
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.knobs import NAMED_BY_PATH
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.programs import tools_for
from priolab.experiments.setup.tools import Tools
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.server import CALLERS, absolute
from priolab.testbed import Guest, guest_requirements, guests, kernel

_TASKS = "priolab.experiments.run.guest_task"
_LIBRARY_PATH = "LD_LIBRARY_PATH"
_MEMORY_MIB = 512
_BROWSER_MIB = 1024
_MIB = 2**20
# The number of copies of a response that may be in memory at once: in the origin, in the front's buffers, and in send
# and receive buffers.
_COPIES = 8
# A guest has memory for a page of at least this size, so guests of smaller pages can carry out each other's runs.
_SMALLEST_PAGE_BYTES = 2 * _MIB
_AUTOTUNED_BYTES, _RECEIVED_BYTES = 4 * _MIB, 6 * _MIB
"""The size to which the kernel lets a send buffer grow, and a receive buffer: the last values of tcp_wmem, tcp_rmem."""
# A browser's net log has 4.6 bytes per byte of payload. The log is in the guest's memory three times: as a file,
# as text, and as Python values.
_LOG_COPIES = 3 * 4.6


class Virtual(InGuest):
    """The fabric `virtual`: User-Mode Linux guests. A guest carries out many runs, one after the other.

    Needs no root, because a guest is an ordinary process.
    """

    name = "virtual"
    merit = "a virtual clock, so a slow link costs no waiting"
    virtual_clock = True
    runs_per_command = 40
    own_programs = False

    def check_usable(self, scenario: Scenario, shaper: Shaper | None) -> None:
        """Raises Unavailable without x86-64, the guest kernel, or room for the guest's memory.

        The memory needs limits of this process that allow it, and a folder that is not mounted noexec.
        """
        guest_requirements.check_machine(memory_mib(scenario))
        if scenario.service is not None and not kernel.can_serve():
            lack = "in a guest kernel before Linux 7.2 the server's work takes no time"
            raise Unavailable(f"SERVICE={scenario.service} with FABRIC={self.name}", lack, "use KERNEL=7.2")
        guest_requirements.check_links([scenario.link], scenario.front_qdisc, shaper, memory_mib(scenario))

    def shapers(self) -> Sequence[tuple[Shaper, str | None]]:
        """Returns (netem, reason), then (ferry, None). reason: why guests have no netem; None if they have netem."""
        return ((Shaper.NETEM, guest_requirements.no_netem()), (Shaper.FERRY, None))

    def kernel(self) -> str:
        """Returns the guest kernel's name: version, recipe, and how programs enter the kernel (seccomp or ptrace)."""
        return kernel.name()

    def kernel_record(self) -> Mapping[str, Any]:
        """Returns the guest kernel's build record, and how programs enter the kernel (seccomp or ptrace)."""
        record = kernel.record()
        made = {} if record is None else asdict(record)
        return {"release": made.pop("version", None), "entry": kernel.entry(), **made}

    def tools(self, scenario: Scenario, *, capture: bool) -> Tools:
        """Returns the programs of this machine, whose files the guest sees."""
        _check_visible(scenario)
        return tools_for(scenario, capture=capture)

    def prepare(self, *_: object) -> None:
        """Compiles the lab's Python modules, once in this process."""
        guests.compile_modules("client", "experiments", "proxy")

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        """Returns the command that starts the guest."""
        return guest_for([scenario for scenario, _ in runs]).command([folder.path for _, folder in runs], scratch)

    def kind(self, scenarios: Sequence[Scenario]) -> Hashable | None:
        """Returns the settings of a guest that can carry out these scenarios; None if this guest cannot wait for more.

        A browser's guest has much memory, so it is not kept.
        """
        if any(scenario.client.is_browser for scenario in scenarios):
            return None
        return guest_for(scenarios).kind

    def further(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> str:
        """Returns the path of a file that lists the run folders."""
        return guests.further([folder.path for _, folder in runs], scratch)


def guest_for(scenarios: Sequence[Scenario]) -> Guest:
    """Returns the settings of a guest that can carry out these scenarios."""
    variables = {}
    if any(scenario.program for scenario in scenarios) and (searched := os.environ.get(_LIBRARY_PATH)):
        variables[_LIBRARY_PATH] = searched
    if callers := {name: value for scenario in scenarios for name, value in scenario.front.variables.items()}:
        variables[CALLERS] = json.dumps(callers, sort_keys=True)
    if not all(scenario.front.over_tcp for scenario in scenarios):
        variables[QUIC] = "yes"
    return Guest(
        tasks=_TASKS,
        memory_mib=max(map(memory_mib, scenarios)),
        environment=variables,
        words=_tcp_words(scenarios),
        own_clock=any(map(_reads_processor_clock, scenarios)),
    )


def _reads_processor_clock(scenario: Scenario) -> bool:
    fronts = [scenario.front, *([scenario.via.front] if scenario.via else [])]
    return any(front.reads_processor_clock for front in fronts)


def _check_visible(scenario: Scenario) -> None:
    """Checks that the guest sees the files that the user gave for the front. Raises Unavailable."""
    for knob, text in scenario.named_files.items():
        if text is not None and NAMED_BY_PATH[knob](text):
            what = f"{knob}={text} with FABRIC=virtual"
            guests.check_visible(absolute(text), what, "copy it to another folder, or use FABRIC=netns")


def memory_room_mib(scenario: Scenario) -> int:
    """Returns the free MiB in the folder for the memory of that scenario's guest; 0 if no folder has enough."""
    return guests.memory_room_mib(memory_mib(scenario))


def _base_mib(scenario: Scenario) -> int:
    return _MEMORY_MIB + _COPIES * max(scenario.whole_page.total_bytes, _SMALLEST_PAGE_BYTES) // 2 // _MIB


def _tcp_words(scenarios: Sequence[Scenario]) -> list[str]:
    """Returns the kernel's words that let TCP use the memory that the runs need; none if its usual share suffices.

    The kernel gives TCP's buffers a sixteenth of the memory (tcp_init_mem). Beyond it, it shrinks send buffers, and
    windows to four segments: a slow transfer with no word of it. The first two values are the bounds of this pressure.
    """
    return guests.tcp_words(max(map(_more_tcp_mib, scenarios)))


def _more_tcp_mib(scenario: Scenario) -> int:
    """Returns the MiB that TCP's buffers need in a run; 0 if a guest of the usual memory gives them as much.

    The front's send buffer holds at most SNDBUF, what the client's window lets the front send, and the page, each byte
    with as much again for the kernel's overhead. A connection to the origin has a receive buffer and a send buffer.
    """
    page, own_bytes = scenario.whole_page, scenario.sndbuf_bytes or _AUTOTUNED_BYTES
    sent_bytes = min(own_bytes, 2 * page.total_bytes, 2 * scenario.whole_window_bytes)
    fetched_bytes = sum(min(2 * each.size_bytes, _RECEIVED_BYTES + _AUTOTUNED_BYTES) for each in page.resources)
    need_bytes = (2 if scenario.via else 1) * (sent_bytes + fetched_bytes) + _RECEIVED_BYTES
    need_bytes += (scenario.cross or 0) * _AUTOTUNED_BYTES
    need_mib = ceil(need_bytes / _MIB)
    return guests.more_tcp_mib(need_mib, _base_mib(scenario))


def memory_mib(scenario: Scenario) -> int:
    """Returns the MiB of memory for a guest with that scenario. A run without a guest needs at most as much."""
    own_mib = _base_mib(scenario) + _more_tcp_mib(scenario)
    if not scenario.client.is_browser:
        return own_mib
    payload_bytes = (scenario.reloads + 1) * scenario.whole_page.total_bytes
    return own_mib + _BROWSER_MIB + ceil(_LOG_COPIES * payload_bytes / _MIB)
