"""Addresses of hosts."""

from ipaddress import IPv6Interface, IPv6Network

from priolab.testbed.topology.topology import ipv6_of


def test_an_address_of_ipv6_has_the_numbers_of_ipv4() -> None:
    """Places of different networks have different networks of IPv6, too."""
    assert ipv6_of("198.18.1.2") == "2001:db8:18:1::2"
    near, far = (IPv6Interface(f"{ipv6_of(each)}/64").network for each in ("198.18.19.1", "198.19.0.1"))
    assert not near.overlaps(far)
    assert near.subnet_of(IPv6Network("2001:db8::/32"))
