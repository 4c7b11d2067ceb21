"""The fabric `virtual`: places in a guest, with real Linux, real netem, and a clock that jumps over idle time."""

import compileall
import os
import shlex
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from priolab.common.cache_folder import cache_folder
from priolab.common.limits import too_low_for_run
from priolab.common.running import TookTooLong
from priolab.experiments.errors import RAISE_LIMIT, Unavailable
from priolab.experiments.host import machine
from priolab.experiments.host.home import IMPORTED_FROM, kernel_command
from priolab.experiments.host.processes import CALMER
from priolab.experiments.host.programs import tools_for
from priolab.experiments.host.search_path import SYSTEM_FOLDERS, find
from priolab.experiments.host.tools import Tools
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.knobs import NAMED_BY_PATH
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.testbed.guest import kernel
from priolab.experiments.testbed.guest.inside import QUIC, InGuest
from priolab.experiments.testbed.namespaces.front_shaper_check import check_egress
from priolab.experiments.testbed.namespaces.qdisc_check import check_qdisc
from priolab.netem.availability import NO_GUEST_KERNEL, lack_in_guest
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.server import absolute

_PACKAGES = IMPORTED_FROM / "priolab"
_START = _PACKAGES / "experiments" / "run" / "guest_start.py"
_IN_THE_GUEST = ("client", "common", "experiments", "netem", "proxy")
_GUESTS_OWN = ("/mnt", "/proc", "/run", "/sys")
_LIBRARY_PATH = "LD_LIBRARY_PATH"
_MEMORY_MIB = 512
_BROWSER_MIB = 1024
_MIB = 2**20
# The number of copies of a response that may be in memory at once: in the origin, in the front's buffers, and in send
# and receive buffers.
_COPIES = 8
# A guest has memory for a page of at least this size, so guests of smaller pages can carry out each other's runs.
_SMALLEST_PAGE_BYTES = 2 * _MIB
_PAGE_BYTES = 4096
_TCP_PART = 17
"""The kernel gives TCP a sixteenth of the memory that is free at its start, which is more than this part of all."""
_AUTOTUNED_BYTES, _RECEIVED_BYTES = 4 * _MIB, 6 * _MIB
"""The size to which the kernel lets a send buffer grow, and a receive buffer: the last values of tcp_wmem, tcp_rmem."""
# A browser's net log has 4.6 bytes per byte of payload. The log is in the guest's memory three times: as a file,
# as text, and as Python values.
_LOG_COPIES = 3 * 4.6


@cache
def _compile() -> None:
    """Compiles the lab's Python modules, which every guest would compile anew: a guest cannot write host files."""
    for package in _IN_THE_GUEST:
        compileall.compile_dir(_PACKAGES / package, quiet=2)


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
        what = f"FABRIC={self.name}"
        if not machine.builds_guests():
            raise Unavailable(what, *machine.NO_GUESTS)
        if lack := too_low_for_run(memory_mib(scenario)):
            raise Unavailable(what, lack, RAISE_LIMIT)
        if not kernel.is_built():
            raise Unavailable(what, "the guest kernel is not built", f"run {kernel_command()}")
        if scenario.service is not None and not kernel.can_serve():
            lack = "in a guest kernel before Linux 7.2 the server's work takes no time"
            raise Unavailable(f"SERVICE={scenario.service} with FABRIC={self.name}", lack, "use KERNEL=7.2")
        check_egress(scenario, shaper, no_netem)
        check_qdisc(scenario, shaper, no_netem, _lack_of_qdisc)
        if shaper is Shaper.FERRY and (lack := _no_ferry()):
            raise Unavailable(f"SHAPER={shaper}", lack, f"run {kernel_command()} after installing ethtool")
        self._memory_folder(scenario)

    def shapers(self) -> Sequence[tuple[Shaper, str | None]]:
        """Returns (netem, reason), then (ferry, None). reason: why guests have no netem; None if they have netem."""
        return ((Shaper.NETEM, no_netem()), (Shaper.FERRY, None))

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
        _compile()

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        """Returns the command that starts the guest kernel.

        The kernel splits its command line at blanks, so init is a script in the scratch folder.
        """
        scenarios = [scenario for scenario, _ in runs]
        init = scratch / "init"
        exports = [f"export {name}={shlex.quote(value)}" for name, value in _environment(scenarios).items()]
        folders = _write_list(runs, scratch)
        run = f"{shlex.join([sys.executable, '-P', str(_START)])} 9<{shlex.quote(str(folders))}"  # in the root folder
        init.write_text("\n".join(["#!/bin/sh", *exports, f"exec {run}", ""]))
        init.chmod(0o755)
        return [
            "env",
            f"TMPDIR={self._memory_folder(max(scenarios, key=memory_mib))}",
            str(kernel.path()),
            *_kernel_words(scenarios),
            f"init={init}",
            f"uml_dir={scratch}",
        ]

    def kind(self, scenarios: Sequence[Scenario]) -> Hashable | None:
        """Returns the settings of a guest that can carry out these scenarios; None if this guest cannot wait for more.

        A browser's guest has much memory, so it is not kept.
        """
        if any(scenario.client.is_browser for scenario in scenarios) or not kernel.can_wait():
            return None
        environment = _environment(scenarios)
        return str(kernel.path()), *_kernel_words(scenarios), *environment.items()

    def further(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> str:
        """Returns the path of a file that lists the run folders."""
        return str(_write_list(runs, scratch))

    def _memory_folder(self, scenario: Scenario) -> Path:
        """Returns the folder for the guest's memory file, which is mapped executable. Raises Unavailable."""
        for folder, room_mib in _memory_rooms_mib():
            if room_mib > memory_mib(scenario):
                return folder
        reason = f"no folder for {memory_mib(scenario)} MiB of guest memory that allows execution"
        raise Unavailable(f"FABRIC={self.name}", reason, "set TMPDIR to a folder that is not mounted noexec")


def _environment(scenarios: Sequence[Scenario]) -> Mapping[str, str]:
    """Returns the environment of a guest's first process."""
    variables = {
        "PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS]),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": "/run",
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(cache_folder().parent),
        "PYTHONPATH": str(IMPORTED_FROM),  # this checkout's code, also if another checkout is installed
    }
    if any(scenario.program for scenario in scenarios) and (searched := os.environ.get(_LIBRARY_PATH)):
        variables[_LIBRARY_PATH] = searched
    if not all(scenario.front.over_tcp for scenario in scenarios):
        variables[QUIC] = "yes"
    return variables


def _kernel_words(scenarios: Sequence[Scenario]) -> list[str]:
    return [
        f"mem={max(map(memory_mib, scenarios))}M",
        *_tcp_words(scenarios),
        "con=null",
        "con0=null,fd:1",
        "quiet",
        "time-travel=inf-cpu",
        *kernel.words(own_clock=any(map(_reads_processor_clock, scenarios))),
        "root=none",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
    ]


def _write_list(runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> Path:
    """Writes the list of run folders into a new file in the scratch folder; returns the file's path."""
    file = scratch / f"runs{len(list(scratch.glob('runs*'))) or ''}"
    file.write_text("".join(f"{folder.path}\n" for _, folder in runs))
    return file


def _reads_processor_clock(scenario: Scenario) -> bool:
    fronts = [scenario.front, *([scenario.via.front] if scenario.via else [])]
    return any(front.reads_processor_clock for front in fronts)


def _check_visible(scenario: Scenario) -> None:
    """Checks that the guest sees the files that the user gave for the front. Raises Unavailable.

    The guest sees this machine's files, except below folders on which it mounts file systems of its own.
    """
    for knob, text in scenario.named_files.items():
        if text is None or not NAMED_BY_PATH[knob](text):
            continue
        path = absolute(text)
        for folder in _GUESTS_OWN:
            if path.is_relative_to(folder) or path.resolve().is_relative_to(folder):
                remedy = "copy it to another folder, or use FABRIC=netns"
                raise Unavailable(f"{knob}={text} with FABRIC=virtual", f"the guest has a {folder} of its own", remedy)


def _memory_rooms_mib() -> Iterator[tuple[Path, int]]:
    """Yields folders that can hold a guest's memory file, the preferred one first, with the free MiB of each."""
    for folder in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")), cache_folder()):  # noqa: S108
        if folder.is_dir() and os.access(folder, os.W_OK):
            state = os.statvfs(folder)
            if not state.f_flag & os.ST_NOEXEC:
                yield folder, state.f_bavail * state.f_frsize // _MIB


def memory_room_mib(scenario: Scenario) -> int:
    """Returns the free MiB in the folder for the memory of that scenario's guest; 0 if no folder has enough."""
    return next((room_mib for _, room_mib in _memory_rooms_mib() if room_mib > memory_mib(scenario)), 0)


def no_netem() -> str | None:
    """Returns the reason why guests have no netem; None if they have it."""
    if not kernel.is_built():
        return NO_GUEST_KERNEL
    return _lack_of_qdisc("netem")


def _lack_of_qdisc(qdisc: str) -> str | None:
    return _lack_of(f"NET_SCH_{qdisc.upper()}", lack_in_guest(qdisc))


def _no_ferry() -> str | None:
    if find("ethtool") is None:
        return "ethtool is not installed"
    return _lack_of("IP_MULTIPLE_TABLES", "the guest kernel is an older one without policy routing")


def _lack_of(option: str, lack: str) -> str | None:
    """Returns `lack` if the guest kernel does not have the option, None if it has; after a time-out, an explanation."""
    try:
        return None if kernel.offers(option) else lack
    except TookTooLong as error:
        return f"the guest kernel took more than {error.limit_s:g} s to list its options; {CALMER}"


def _base_mib(scenario: Scenario) -> int:
    return _MEMORY_MIB + _COPIES * max(scenario.page.total_bytes, _SMALLEST_PAGE_BYTES) // 2 // _MIB


def _tcp_words(scenarios: Sequence[Scenario]) -> list[str]:
    """Returns the kernel's words that let TCP use the memory that the runs need; none if its usual share suffices.

    The kernel gives TCP's buffers a sixteenth of the memory (tcp_init_mem). Beyond it, it shrinks send buffers, and
    windows to four segments: a slow transfer with no word of it. The first two values are the bounds of this pressure.
    """
    most_mib = max(map(_more_tcp_mib, scenarios))
    pages = most_mib * _MIB // _PAGE_BYTES
    return [f'sysctl.net.ipv4.tcp_mem="{pages} {pages} {2 * pages}"'] if most_mib else []


def _more_tcp_mib(scenario: Scenario) -> int:
    """Returns the MiB that TCP's buffers need in a run; 0 if a guest of the usual memory gives them as much.

    The front's send buffer holds at most SNDBUF, what the client's window lets the front send, and the page, each byte
    with as much again for the kernel's overhead. A connection to the origin has a receive buffer and a send buffer.
    """
    page, own_bytes = scenario.page, scenario.sndbuf_bytes or _AUTOTUNED_BYTES
    sent_bytes = min(own_bytes, 2 * page.total_bytes, 2 * scenario.whole_window_bytes)
    fetched_bytes = sum(min(2 * each.size_bytes, _RECEIVED_BYTES + _AUTOTUNED_BYTES) for each in page.resources)
    need_bytes = (2 if scenario.via else 1) * (sent_bytes + fetched_bytes) + _RECEIVED_BYTES
    need_bytes += (scenario.cross or 0) * _AUTOTUNED_BYTES
    need_mib = ceil(need_bytes / _MIB)
    return need_mib if need_mib > _base_mib(scenario) // _TCP_PART else 0


def memory_mib(scenario: Scenario) -> int:
    """Returns the MiB of memory for a guest with that scenario. A run without a guest needs at most as much."""
    own_mib = _base_mib(scenario) + _more_tcp_mib(scenario)
    if not scenario.client.is_browser:
        return own_mib
    payload_bytes = (scenario.reloads + 1) * scenario.page.total_bytes
    return own_mib + _BROWSER_MIB + ceil(_LOG_COPIES * payload_bytes / _MIB)
