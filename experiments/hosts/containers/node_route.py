"""Finds out, once before an experiment, if Node in the origin's image reads the clock through the vDSO.

Otherwise Node reads the clock by a system call, which takes longer.

The image has no Python that could install the seccomp filter of common/clock_route.py, so the engine installs a filter.
That filter does not kill a process, but makes the system call fail, because parts of the engine run under the filter
first. So a failure of Node under the filter counts only if Node succeeds without the filter. To test the filter itself,
Perl, which is in Debian's images, makes the system call.
"""

import platform
import shlex
from pathlib import Path

from priolab.common.clock_route import CALLS, Calls, ClockRoute, Route
from priolab.common.errors import StepFailed
from priolab.experiments.hosts.containers import docker_engine
from priolab.experiments.setup.origin_process import CLOCK_READER

_RUN = ("run", "--rm", "--network", "none", "--cap-drop", "ALL", "--entrypoint", "sh")
_NODE = shlex.join(["node", *CLOCK_READER]) + " >/dev/null 2>&1"
_FILTER = Path(__file__).with_name("refuse-clock.json")  # CLOCK_REALTIME and CLOCK_MONOTONIC, for the engine


def node_route(image: str) -> ClockRoute:
    """Returns the way in which Node in the image reads the clock, or the reason why the way is unknown.

    Runs one or two containers of the image.
    """
    calls = CALLS.get(platform.machine())
    if calls is None:
        return ClockRoute(route=None, reason=f"the lab does not know the system calls of {platform.machine()}")
    try:
        filtered = (*_RUN, "--security-opt", f"seccomp={_FILTER}", image)
        node, asked = docker_engine.docker(*filtered, "-c", _script(calls)).split()
        alone = docker_engine.docker(*_RUN, image, "-c", f"{_NODE}; echo $?") if node != "0" else "0"
    except StepFailed as error:
        said = error.reason.splitlines()
        reason = next((line for line in said if line.startswith("docker: ")), said[-1])
        return ClockRoute(route=None, reason=f"the measurement failed: {reason}")
    return judge(node=node, asked=asked, alone=alone)


def judge(*, node: str, asked: str, alone: str) -> ClockRoute:
    """Returns the way in which Node reads the clock, as three exit codes show it.

    node: exit code of Node under the filter. asked: exit code of Perl's system call under the filter; 1 if the filter
    refused the call. alone: exit code of Node without the filter.
    """
    if asked != "1":
        return ClockRoute(route=None, reason="the engine's filter lets the system call pass, or there is no perl")
    if node == "0":
        return ClockRoute(route=Route.VDSO)
    if alone == "0":
        return ClockRoute(route=Route.SYSTEM_CALL)
    return ClockRoute(route=None, reason=f"Node ended with exit code {alone} without any filter, too")


def _script(calls: Calls) -> str:
    ask = f"exit(syscall({calls.clock_gettime}, 1, my $time = chr(0) x 16) == -1 ? 1 : 0)"
    return f"{_NODE}; node=$?; {shlex.join(['perl', '-e', ask])}; echo $node $?"
