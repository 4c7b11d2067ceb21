"""Tests of the ferry's loops, veth pairs that lead packets to the ferry, as argument lists and sysctls."""

import pytest

from priolab.netem.ferry import loops
from priolab.netem.link import Link

DOWN = [
    ("ip", "link", "add", "ferry-down", "type", "veth", "peer", "name", "down-ferry"),
    ("ip", "link", "set", "dev", "ferry-down", "arp", "off"),
    ("ethtool", "-K", "ferry-down", "tx", "off"),
    ("ip", "link", "set", "dev", "down-ferry", "up"),
    ("ip", "link", "set", "dev", "ferry-down", "up"),
    ("ip", "route", "add", "default", "dev", "ferry-down", "table", "10"),
    ("ip", "rule", "add", "iif", "to-front", "lookup", "10"),
]
UP = [
    ("ip", "link", "add", "ferry-up", "type", "veth", "peer", "name", "up-ferry"),
    ("ip", "link", "set", "dev", "ferry-up", "arp", "off"),
    ("ethtool", "-K", "ferry-up", "tx", "off"),
    ("ip", "link", "set", "dev", "up-ferry", "up"),
    ("ip", "link", "set", "dev", "ferry-up", "up"),
    ("ip", "route", "add", "default", "dev", "ferry-up", "table", "11"),
    ("ip", "rule", "add", "iif", "to-client", "lookup", "11"),
]


def test_both_directions() -> None:
    """Packets from the front go through one loop, packets from the client through the other."""
    link = Link(rate_bit_s=1_000_000, delay_ns=10, delay_up_ns=10)
    assert loops.commands(link, "to-client", "to-front") == DOWN + UP


@pytest.mark.parametrize(
    "link",
    [
        Link(rate_bit_s=1_000_000, delay_ns=0),
        Link(rate_bit_s=None, delay_ns=10),
        Link(rate_bit_s=None, delay_ns=0, loss=0.1),
    ],
)
def test_down_alone(link: Link) -> None:
    """Rate, delay and loss each need the loop down; the kernel forwards packets up itself."""
    assert loops.commands(link, "to-client", "to-front") == DOWN
    assert loops.needed(link) == (loops.DOWN,)


def test_up_alone() -> None:
    """A delay toward the front needs no loop down."""
    link = Link(rate_bit_s=None, delay_ns=0, delay_up_ns=10)
    assert loops.commands(link, "to-client", "to-front") == UP
    assert loops.needed(link) == (loops.UP,)


def test_a_link_that_changes_nothing_has_no_loop() -> None:
    """The kernel forwards packets as they come if the link changes nothing."""
    link = Link(rate_bit_s=None, delay_ns=0)
    assert loops.commands(link, "to-client", "to-front") == []
    assert loops.sysctls(link) == {"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.rp_filter": "0"}


def test_sysctls() -> None:
    """The sysctls enable forwarding and disable rp_filter, also on the loops' devices."""
    assert loops.sysctls(Link(rate_bit_s=None, delay_ns=10, delay_up_ns=10)) == {
        "net.ipv4.ip_forward": "1",
        "net.ipv4.conf.all.rp_filter": "0",
        "net.ipv4.conf.ferry-down.rp_filter": "0",
        "net.ipv4.conf.ferry-up.rp_filter": "0",
    }


def test_device_names_fit() -> None:
    """A device name has at most 15 characters, and ip(8) must not take it for a keyword."""
    for loop in (loops.DOWN, loops.UP):
        for name in (loop.device, loop.ferry_end):
            assert len(name) <= 15
            assert "-" in name
