"""A link of the lab's between a client's namespace and this machine itself, for servers that run here already.

    client ==== link ---- this machine

Rules:
1. The lab adds one device with an address and a route to this machine, and changes nothing else here. They vanish with
   the link's namespace, so when this process ends, however it ends.
2. A server is reached at the address of this device. So it must listen at all addresses of the machine.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from priolab.common.errors import Unavailable
from priolab.common.process import processes
from priolab.netem.link import Link
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.network import build
from priolab.testbed.topology.topology import LINK, pair

_CLIENT, _HERE = "client", "here"
_BLOCK = "198.18.0.0/23"
"""The networks of the two ends. Experiments in containers take others of 198.18.0.0/15 (containers.py)."""
_WHAT = "a link to this machine"
_REMEDY = f"end the command that added it; `ip address show to {_BLOCK}` shows its device"


@contextmanager
def near_host(link: Link, folder: Path) -> Iterator[tuple[Namespace, str]]:
    """Makes the link. Yields the client's namespace, and this machine's address behind the link.

    folder: for the link's journal. Raises Unavailable for an ordinary user, or if addresses of 198.18.0.0/23 are in use
    here; StepFailed.
    """
    if os.geteuid() != 0:
        raise Unavailable(_WHAT, "only root can add a device to it", "run as root")
    if processes.run(["ip", "-oneline", "address", "show", "to", _BLOCK], step=_WHAT):
        raise Unavailable(_WHAT, f"it has an address of {_BLOCK} already", _REMEDY)
    ends = pair(_CLIENT, _HERE, link)
    near, far = ends.wires
    far = replace(far, own=f"priolab-{os.getpid()}", beyond=near.network)
    with (
        build(replace(ends, wires=(near, far), here=_HERE), None, folder) as network,
        network.shaping(LINK, seed=1, folder=folder, interval_ns=None) as active,
    ):
        yield network.hosts[_CLIENT], far.address
        active.check_alive()
