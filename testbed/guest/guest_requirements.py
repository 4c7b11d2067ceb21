"""Says whether this machine can run guests, and what a guest's kernel lacks."""

import platform
from collections.abc import Sequence

from priolab.common.errors import RAISE_LIMIT, Unavailable
from priolab.common.home import kernel_command
from priolab.common.limits import too_low_for_run
from priolab.common.process.processes import CALMER
from priolab.common.process.search_path import find
from priolab.common.running import TookTooLong
from priolab.netem.availability import NO_GUEST_KERNEL, lack_in_guest
from priolab.netem.link import Link
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.guest import guests, kernel
from priolab.testbed.topology.end_settings import FrontQdisc
from priolab.testbed.topology.qdisc_check import check_qdisc, check_tools

FABRIC = "virtual"
"""The value of the knob FABRIC for a guest."""

NO_GUESTS = ("User-Mode Linux exists for x86-64 Linux only", "use FABRIC=compose or FABRIC=netns")
"""The reason why other machines have no guests, and the remedy."""


def builds_guests() -> bool:
    """Returns True if this machine is one that can build and run the guest: Linux on x86-64."""
    return (platform.system(), platform.machine()) == ("Linux", "x86_64")


def check_machine(memory_mib: int) -> None:
    """Raises Unavailable without x86-64, the guest kernel, ip, tc, or limits that allow a guest of so much memory."""
    what = f"FABRIC={FABRIC}"
    if not builds_guests():
        raise Unavailable(what, *NO_GUESTS)
    if lack := too_low_for_run(memory_mib):
        raise Unavailable(what, lack, RAISE_LIMIT)
    if not kernel.is_built():
        raise Unavailable(what, "the guest kernel is not built", f"run {kernel_command()}")
    check_tools(what)


def check_links(links: Sequence[Link], own: FrontQdisc | None, shaper: Shaper | None, memory_mib: int) -> None:
    """Checks that a guest can make these links, and that there is a folder for its memory. Raises Unavailable.

    own: the queueing discipline of the device of the end that serves; None for none. shaper: None for any.
    """
    for link in links:
        check_qdisc(link, own, shaper, no_netem, lack_of_qdisc, netem_counts_bytes=kernel.counts_bytes())
    if shaper is Shaper.FERRY and (lack := no_ferry()):
        raise Unavailable(f"SHAPER={shaper}", lack, f"run {kernel_command()} after installing ethtool")
    guests.memory_folder(memory_mib)


def no_netem() -> str | None:
    """Returns the reason why guests have no netem; None if they have it."""
    if not kernel.is_built():
        return NO_GUEST_KERNEL
    return lack_of_qdisc("netem")


def lack_of_qdisc(qdisc: str) -> str | None:
    """Returns the reason why guests have no such queueing discipline; None if they have it."""
    return _lack_of(f"NET_SCH_{qdisc.upper()}", lack_in_guest(qdisc))


def no_ferry() -> str | None:
    """Returns the reason why guests cannot use the ferry; None if they can."""
    if find("ethtool") is None:
        return "ethtool is not installed"
    return _lack_of("IP_MULTIPLE_TABLES", "the guest kernel is an older one without policy routing")


def _lack_of(option: str, lack: str) -> str | None:
    """Returns `lack` if the guest kernel does not have the option, None if it has; after a time-out, an explanation."""
    try:
        return None if kernel.offers(option) else lack
    except TookTooLong as error:
        return f"the guest kernel took more than {error.limit_s:g} s to list its options; {CALMER}"
