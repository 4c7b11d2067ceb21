"""The requirements of every fabric whose places are namespaces: its tools, and those of some knobs.

The knobs are QDISC, FRONT_QDISC, TRACE, and a QUEUE in bytes.
"""

from collections.abc import Callable

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.process import processes
from priolab.common.process.search_path import find
from priolab.netem.link import Link, Qdisc
from priolab.netem.shaper import lack_of
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.topology.end_settings import FrontQdisc

_UNKNOWN_TO_TC = "hence option"


def check_tools(what: str, *further: tuple[str, str]) -> None:
    """Checks that ip and tc are there, with which hosts and links are made. Raises Unavailable.

    what: what needs them. further: tools that it needs as well, each with its package.
    """
    for tool, package in (*further, ("ip", "iproute2"), ("tc", "iproute2")):
        check_installed(what, tool, package)


def check_installed(what: str, tool: str, package: str) -> None:
    """Checks that a tool of a package is there. what: what needs it. Raises Unavailable."""
    if find(tool) is None:
        raise Unavailable(what, f"{tool} is not installed", f"install {package}")


def check_qdisc(
    link: Link,
    own: FrontQdisc | None,
    shaper: Shaper | None,
    no_netem: Callable[[], str | None],
    no_qdisc: Callable[[str], str | None],
    *,
    netem_counts_bytes: bool = False,
) -> None:
    """Checks that this machine has the queueing disciplines of a link, or a shaper for its trace or its queue.

    Raises Unavailable.

    own: the discipline of the device of the end that serves; None for none. no_netem, no_qdisc: return the reason why
    the kernel has no netem, or not this discipline; None if it has. netem_counts_bytes: True if netem can limit a
    queue in bytes.
    """
    qdisc = link.qdisc
    if own not in (None, FrontQdisc.PFIFO_FAST) and (lack := no_qdisc(own)):  # pfifo_fast is in every kernel
        raise Unavailable(f"FRONT_QDISC={own}", lack, "use another FRONT_QDISC, or FABRIC=virtual")
    if link.traced or link.counts_bytes:
        _check_ferry(link, shaper, netem_counts_bytes=netem_counts_bytes)
    if qdisc is Qdisc.FIFO:
        return
    what = f"QDISC={qdisc}"
    if shaper is not None and (lack := lack_of(shaper, link)):
        raise Unavailable(f"{what} with SHAPER={shaper}", lack, "use SHAPER=netem, or QDISC=fifo")
    if lack := no_netem():
        raise Unavailable(what, lack, "use FABRIC=virtual, or QDISC=fifo")
    if _is_unknown_to_tc(qdisc):
        raise Unavailable(what, f"tc of this machine does not know {qdisc}", "install a newer iproute2")
    if lack := no_qdisc(qdisc):
        raise Unavailable(what, lack, "use another QDISC")


def _check_ferry(link: Link, shaper: Shaper | None, *, netem_counts_bytes: bool) -> None:
    """Checks that the ferry can make the link, if netem cannot. Raises Unavailable."""
    what = "TRACE" if link.traced else "a QUEUE in bytes"
    if (lack := lack_of(Shaper.NETEM, link, netem_counts_bytes=netem_counts_bytes)) is None:
        return
    if shaper is Shaper.NETEM:
        raise Unavailable(f"{what} with SHAPER={shaper}", lack, "use SHAPER=ferry")
    check_installed(what, "ethtool", "ethtool")


def _is_unknown_to_tc(qdisc: Qdisc) -> bool:
    """True if tc cannot read this discipline's options. Changes nothing: the option `help` is an error in any case."""
    try:
        processes.run(["tc", "qdisc", "add", "dev", "lo", "root", qdisc, "help"], step="looking for a qdisc")
    except StepFailed as error:
        return _UNKNOWN_TO_TC in error.reason
    return False
