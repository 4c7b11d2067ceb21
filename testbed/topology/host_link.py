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
from pathlib import Path

from priolab.common.errors import Unavailable
from priolab.common.process import processes
from priolab.netem.link import Link
from priolab.testbed.topology import rtnetlink
from priolab.testbed.topology.link_namespace import LinkNamespace
from priolab.testbed.topology.namespace import Host, Namespace
from priolab.testbed.topology.wiring import (
    ADDRESSES,
    FAR_ROUTER,
    TO_FRONT,
    attach,
    wire_client,
)

_DEVICE = "priolab-{}"
_BLOCK = "198.18.0.0/23"
"""The networks of client and front. Experiments in containers take others of 198.18.0.0/15 (containers.py)."""
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
    with Namespace("client") as client, Namespace("link") as middle, Host() as host:
        device = _DEVICE.format(os.getpid())
        wire_client(client, middle)
        middle.tell(rtnetlink.veth(TO_FRONT, None, device, None, host.descriptor))
        attach(middle, TO_FRONT, FAR_ROUTER)
        middle.write_sysctl("net.ipv4.ip_forward", "1")
        host.run(["ip", "address", "add", f"{ADDRESSES.front}/24", "dev", device])
        host.run(["ip", "link", "set", device, "up"])
        host.run(["ip", "route", "add", f"{ADDRESSES.client}/32", "via", FAR_ROUTER, "dev", device])
        place = LinkNamespace(middle, None, folder / "ferry.sock")
        with place.shaping(link, None, seed=1, folder=folder, interval_ns=None) as active:
            yield client, ADDRESSES.front
            active.check_alive()
