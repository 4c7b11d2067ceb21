"""Makes the wires of a topology, as veth pairs between namespaces."""

from priolab.testbed.topology import rtnetlink
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.topology import Wire, ipv6_of

_IPV4, _IPV6 = (str, 24), (ipv6_of, 64)
"""The function that returns an address of a family, and the length of a wire's prefix in it."""

_MAC = "02:00:c6:12:{:02x}:{:02x}"  # locally administered


def connect(wire: Wire, router: Namespace, host: Namespace, *, ipv6: bool = False) -> None:
    """Makes a wire with its addresses and routes. Raises StepFailed. ipv6: True for addresses of both families.

    Neighbours are permanent entries, where the MAC addresses are known: ARP would travel through a shaped link, count
    in its queue, and give up after a few seconds of delay.
    """
    own_mac, router_mac = (
        (None, None) if wire.mac is None else (_MAC.format(*divmod(each, 256)) for each in (wire.mac, wire.mac + 1))
    )
    router.tell(rtnetlink.veth(wire.device, router_mac, wire.own, own_mac, host.descriptor))
    for address_of, prefix in (_IPV4, _IPV6) if ipv6 else (_IPV4,):
        gateway, own = address_of(wire.router_address), address_of(wire.address)
        _attach(router, wire.device, gateway, prefix, (own, own_mac))
        way = rtnetlink.default_route(gateway)
        if wire.beyond is not None:
            way = rtnetlink.route(address_of(f"{wire.beyond}.0"), prefix, gateway)
        _attach(host, wire.own, own, prefix, (gateway, router_mac), way)
        if wire.behind is not None:
            router.tell(rtnetlink.route(address_of(f"{wire.behind}.0"), prefix, own))


def _attach(
    host: Namespace, device: str, own: str, prefix: int, neighbour: tuple[str, str | None], *more: bytes
) -> None:
    """Gives a device the address `own`, sets it up, adds its neighbour's MAC, and sends more rtnetlink messages."""
    index, loopback = host.device(device), host.device("lo")
    other, mac = neighbour
    known = () if mac is None else (rtnetlink.neighbour(index, other, mac),)
    up = rtnetlink.up(loopback), rtnetlink.address(index, own, prefix), rtnetlink.up(index)
    host.tell(*up, *known, *more)
