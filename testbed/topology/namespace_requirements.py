"""Says whether this machine's kernel has namespaces for this user, and what it lacks."""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from priolab.common.errors import RAISE_LIMIT, StepFailed, Unavailable
from priolab.common.limits import too_low_for_run
from priolab.common.process import processes
from priolab.common.running import ProgramFailed, finished
from priolab.netem.availability import TRIAL, lack_of_netem, refusal
from priolab.netem.link import Link
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.topology.end_settings import FrontQdisc
from priolab.testbed.topology.qdisc_check import check_installed, check_qdisc, check_tools

FABRIC = "netns"
"""The value of the knob FABRIC for namespaces of this machine."""

_OTHER = "use another FABRIC"
_SETTINGS = Path("/proc/sys")
_PATIENCE_S = 30.0
_FORBIDDING: Mapping[str, tuple[str, str]] = {
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
    "user.max_user_namespaces": ("0", "10000"),
}
"""Kernel settings that may deny user namespaces to ordinary users: for each, a value that denies and one that allows.

Older releases of Debian have the first setting. Ubuntu has had the second setting since 23.10, with the value that
denies.
"""


def check_machine() -> None:
    """Raises Unavailable without unshare, ip, tc, or the right to make namespaces, as root or in a user namespace."""
    what = f"FABRIC={FABRIC}"
    check_tools(what, ("unshare", "util-linux"))
    if lack := too_low_for_run(0):
        raise Unavailable(what, lack, RAISE_LIMIT)
    try:
        processes.run([*entering(), "ip", "link", "add", "type", "veth"], step="trying namespaces")
    except StepFailed as error:
        raise Unavailable(what, f"namespaces cannot be made: {_said(error)}", _remedy()) from error


def check_links(links: Sequence[Link], own: FrontQdisc | None, shaper: Shaper | None) -> None:
    """Checks that this kernel can make these links. Raises Unavailable.

    sch_netem is required only for SHAPER=netem, and ethtool only for the ferry. own: the queueing discipline of the
    device of the end that serves; None for none. shaper: None for any.
    """
    lack, no_qdisc = cache(no_netem), cache(_no_qdisc)  # each is a trial in new namespaces
    for link in links:
        check_qdisc(link, own, shaper, lack, no_qdisc)
        if link.shaped:
            if shaper is Shaper.NETEM and (reason := lack()):
                raise Unavailable(f"SHAPER={shaper}", reason, "use SHAPER=ferry, or FABRIC=virtual")
            if shaper is Shaper.FERRY or lack():
                check_installed(f"SHAPER={Shaper.FERRY}", "ethtool", "ethtool")


def no_namespaces(settings: Path = _SETTINGS, *, is_root: bool | None = None) -> str | None:
    """Returns the setting that denies namespaces to this user, and the remedy; None if no setting does.

    settings: the folder with the kernel's settings. is_root: True if the user is root; None to ask the system.
    """
    if os.geteuid() == 0 if is_root is None else is_root:
        return None
    for name, (forbids, allows) in _FORBIDDING.items():
        try:
            value = (settings / name.replace(".", "/")).read_text().strip()
        except OSError:
            continue
        if value == forbids:
            remedy = f"run as root, or `sudo sysctl {name}={allows}`"
            return f"the setting {name}={value} forbids user namespaces to ordinary users; {remedy}"
    return None


@cache
def namespaces_refused() -> str | None:
    """Tries to make namespaces. Returns the reason why this user may not, and the remedy; None if the user may.

    A system may refuse a user namespace, or make one and refuse everything in it.
    """
    if os.geteuid() == 0:
        return None
    try:
        finished(["unshare", "--user", "--map-current-user", "--mount", "true"], _PATIENCE_S).checked()
    except ProgramFailed as error:
        return no_namespaces() or f"this system refuses namespaces to ordinary users ({error}); run as root"
    return None


def entering() -> list[str]:
    """Returns the start of the job's command, which runs the rest of the command in new namespaces.

    The new namespaces include a network namespace, to which the job returns from its places. An ordinary user
    may not return to the network namespace of the host.
    """
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    return ["unshare", *user, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def no_netem() -> str | None:
    """Returns the reason why this kernel has no netem; None if it has. Tries netem in a new network namespace."""
    try:
        processes.run([*entering(), "true"], step="trying namespaces")
    except StepFailed as error:
        return f"netem cannot be tried without namespaces: {_said(error)}"
    try:
        processes.run([*entering(), *TRIAL[0]], step="looking for netem")
    except StepFailed as error:
        return lack_of_netem(error.reason)
    return None


def _no_qdisc(qdisc: str) -> str | None:
    try:
        processes.run([*entering(), "tc", "qdisc", "add", "dev", "lo", "root", qdisc], step="looking for a qdisc")
    except StepFailed as error:
        return refusal(qdisc, error.reason)
    return None


def _said(error: StepFailed) -> str:
    """Returns what the program wrote, without its command, which is long."""
    return error.reason.partition(" ended with ")[2] or error.reason


def _remedy() -> str:
    if os.geteuid() == 0:
        return _OTHER
    return f"{no_namespaces() or 'run as root'}, or {_OTHER}"
