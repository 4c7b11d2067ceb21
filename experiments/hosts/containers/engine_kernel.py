"""The kernel of the Docker engine, as one of its containers sees it. It may be another kernel than the lab runs on."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from shlex import join

from priolab.common.errors import StepFailed, Unavailable
from priolab.experiments.hosts.containers import docker_engine
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.availability import TRIAL, lack_of_netem
from priolab.netem.shaper_kind import Shaper

ARM_KERNEL = "PRIOLAB_ARM_KERNEL"
_NOT_BUILT = "the first experiment with FABRIC=compose finds out"
_LOADING = "run `modprobe tcp_{0}`, and add {0} to the sysctl net.ipv4.tcp_allowed_congestion_control"
_SETTINGS = "tcp_wmem", "tcp_available_congestion_control", "tcp_allowed_congestion_control"
_WORKS = "works"
_QUESTIONS = "; ".join(
    (
        "uname -r",
        *(f"cat /proc/sys/net/ipv4/{name} 2>/dev/null || echo" for name in _SETTINGS),
        f"{join(TRIAL[0])} 2>&1 && echo {_WORKS}",
        "true",
    )
)


@dataclass(frozen=True, kw_only=True)
class EngineKernel:
    """A kernel, and the settings of a new network namespace.

    wmem: the three values of tcp_wmem in bytes. available, allowed: the names of congestion controls; empty if the
    kernel does not tell. no_netem: why the kernel has no netem; None if it has.
    """

    release: str
    wmem: Sequence[int]
    available: Sequence[str]
    allowed: Sequence[str]
    no_netem: str | None

    def check(self, scenarios: Iterable[Scenario], shaper: Shaper | None) -> None:
        """Raises Unavailable without the shaper or a congestion control of the scenarios."""
        if shaper is Shaper.NETEM and self.no_netem:
            raise Unavailable(f"SHAPER={shaper}", self.no_netem, "use SHAPER=ferry, or FABRIC=virtual")
        for wanted in {scenario.congestion_control: None for scenario in scenarios}:
            if self.available and wanted not in self.available:
                reason = "this kernel has not loaded the module for it"
                raise Unavailable(f"CC={wanted}", reason, _LOADING.format(wanted))

    def told(self) -> str:
        """Returns the value of PRIOLAB_ARM_KERNEL, from which `asked` takes the answers in a job."""
        return json.dumps(asdict(self))

    def lets_choose(self, congestion_control: str) -> bool:
        """Returns True if the sysctl of a new network namespace can set the congestion control.

        A new namespace can use reno, and the names in tcp_allowed_congestion_control of the first namespace.
        """
        return not self.allowed or congestion_control in self.allowed


@cache
def asked() -> EngineKernel:
    """Returns the kernel, as a container of the link's image sees it. Raises StepFailed without this image.

    A job does not start the container, but takes the answers from the environment variable PRIOLAB_ARM_KERNEL.
    """
    if known := os.environ.get(ARM_KERNEL):
        return EngineKernel(**json.loads(known))
    alone = ["--network", "none", "--user", "0:0", "--cap-drop", "ALL", "--cap-add", "NET_ADMIN"]
    release, wmem, available, allowed, *netem = docker_engine.docker(
        "run", "--rm", *alone, "--entrypoint", "sh", _image(), "-c", _QUESTIONS
    ).splitlines()
    return EngineKernel(
        release=release,
        wmem=[int(value) for value in wmem.split()],
        available=available.split(),
        allowed=allowed.split(),
        no_netem=None if _WORKS in netem else lack_of_netem("; ".join(netem)),
    )


def no_netem() -> str | None:
    """Returns the reason why the kernel has no netem, or why that is unknown; None if it has netem."""
    try:
        return asked().no_netem if docker_engine.has_image(_image()) else lack_of_netem(_NOT_BUILT)
    except StepFailed as error:
        return error.reason


def _image() -> str:
    """Returns the name of an image that has tc(8): the link's, which is the same for every server."""
    return docker_engine.images(server="node")["link"]
