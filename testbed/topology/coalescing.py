"""Lets a host's device collect packets that arrive, as a network card does (ethtool(8), rx-usecs).

Rules:
1. The first packet after a pause is passed on at once. Those after it wait until the time is over, and then all of them
   are passed on, those of a flow as one (GRO). So no packet waits for longer than the time.
2. The kernel has this for every device (Documentation/networking/napi.rst, software IRQ coalescing): gro_flush_timeout
   is the time. A veth device needs GRO for it, and its other end must send packets one by one, without TSO.
3. A veth device with GRO counts the bytes of packets without the header of Ethernet.
4. The two settings are files of sysfs, which shows the devices of the namespace in which it was mounted.
"""

from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.topology import WIRE

MAC_BYTES = 14
"""The bytes of a packet that a host which collects packets does not count."""


def coalesce(host: Namespace, router: Namespace, device: str, time_ns: int) -> None:
    """Lets a host's wire collect packets. router, device: the other end of the wire. Raises StepFailed."""
    router.run(("ethtool", "-K", device, "tso", "off"))
    host.run(("ethtool", "-K", WIRE, "gro", "on"))
    set_both = f"cd /sys/class/net/{WIRE}; echo 1 >napi_defer_hard_irqs; echo {time_ns} >gro_flush_timeout"
    host.run(("unshare", "--mount", "sh", "-ec", f"mount -t sysfs sysfs /sys; {set_both}"))
