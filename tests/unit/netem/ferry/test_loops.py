"""Tests of the ferry's loops, veth pairs that lead packets to the ferry."""

import pytest

from priolab.netem.ferry import loops
from priolab.netem.link import Link


@pytest.mark.parametrize(
    ("link", "needed"),
    [
        (Link(rate_bit_s=1_000_000, delay_ns=0), (loops.DOWN,)),
        (Link(rate_bit_s=None, delay_ns=10), (loops.DOWN,)),
        (Link(rate_bit_s=None, delay_ns=0, loss=0.1), (loops.DOWN,)),
        (Link(rate_bit_s=None, delay_ns=0, delay_up_ns=10), (loops.UP,)),
        (Link(rate_bit_s=None, delay_ns=10, delay_up_ns=10), (loops.DOWN, loops.UP)),
        (Link(rate_bit_s=None, delay_ns=0), ()),
    ],
)
def test_which_directions_need_a_loop(link: Link, needed: tuple[loops.Loop, ...]) -> None:
    """A direction that the link changes is led to the ferry, past rp_filter; the kernel forwards the other one."""
    assert tuple(loops.needed(link)) == needed
    commands = loops.commands(link, "to-client", "to-front")
    for loop, end in ((loops.DOWN, "to-front"), (loops.UP, "to-client")):
        led = any(command[:5] == ("ip", "rule", "add", "iif", end) for command in commands)
        assert led == (loop in needed)
        assert (f"net.ipv4.conf.{loop.device}.rp_filter" in loops.sysctls(link)) == led


def test_device_names_fit() -> None:
    """A device name has at most 15 characters, and ip(8) must not take it for a keyword."""
    for loop in (loops.DOWN, loops.UP):
        for name in (loop.device, loop.ferry_end):
            assert len(name) <= 15
            assert "-" in name
