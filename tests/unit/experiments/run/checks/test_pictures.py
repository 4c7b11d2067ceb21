"""Tests of the comparison of pictures, and of what the lab declares to have asked for."""

import re

import pytest

from priolab.common.errors import InvalidRun
from priolab.experiments.run.checks.pictures import AFTER, BEFORE, check_pictures
from priolab.netem import shaper
from priolab.netem.link import Link
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.topology.active import Portrayed
from priolab.testbed.topology.expected_settings import ExpectedSettings

REFERENCE = {
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "device to-client, kind": "veth",
    "device to-client, mtu": "1500",
    "qdisc of to-client at root, kind": "noqueue",
}
LINK = Link(rate_bit_s=1_024_000, delay_ns=300_000_000)


def _portrait() -> ExpectedSettings:
    portrait = ExpectedSettings()
    portrait.begin(REFERENCE)
    return portrait


def _shaped() -> tuple[ExpectedSettings, dict[str, str]]:
    """A portrait of a place with a link, and the picture of the place."""
    portrait = _portrait()
    portrait.declare_commands(shaper.commands(Shaper.NETEM, LINK, "to-client", "to-front"))
    return portrait, portrait.requested(REFERENCE)


def _check(portrait: ExpectedSettings, seen: dict[str, str], when: str = AFTER) -> None:
    check_pictures([Portrayed(place="link", asked=portrait.requested(seen), seen=seen)], when)


def test_what_a_machine_brings_along() -> None:
    """A sysctl with which the place began is told if it is unusual, and if the lab did not ask for another value."""
    portrait = ExpectedSettings()
    portrait.begin(REFERENCE | {"net.ipv4.tcp_sack": "0"})
    assert portrait.unusual() == ["net.ipv4.tcp_sack=0"]
    _check(portrait, REFERENCE | {"net.ipv4.tcp_sack": "0"})
    portrait.declare({"net.ipv4.tcp_sack": "1"})
    assert portrait.unusual() == []


def test_what_nobody_changed() -> None:
    """A place that is as it was made has no difference."""
    _check(_portrait(), REFERENCE)


def test_what_the_lab_declares() -> None:
    """A setting that the lab changes must have the new value, and no other."""
    portrait = _portrait()
    portrait.declare({"net.ipv4.tcp_wmem": "1 2 3", "net.ipv4.conf.all.rp_filter": "0"})
    _check(portrait, REFERENCE | {"net.ipv4.tcp_wmem": "1 2 3"})
    with pytest.raises(InvalidRun, match=r"link after the loads, net\.ipv4\.tcp_wmem: asked for 1 2 3, observed 4096"):
        _check(portrait, REFERENCE)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"net.ipv4.tcp_sack": "0"}, "net.ipv4.tcp_sack: asked for 1, observed 0"),
        ({"device to-client, mtu": "576"}, "device to-client, mtu: asked for 1500, observed 576"),
        ({"route default table 254 dev wire, cwnd": "4"}, "dev wire, cwnd: asked for None, observed 4"),
        ({"qdisc 3: of to-client, limit": "10"}, "qdisc 3: of to-client, limit: asked for 25, observed 10"),
        ({"qdisc 2: of to-client, duplicate": "0.01"}, "duplicate: asked for 0, observed 0.01"),
        ({"qdisc 2: of to-client, delay in ns": "301000000"}, "asked for 300000000, observed 301000000"),
        ({"qdisc 8: of wire, kind": "tbf", "qdisc 8: of wire, burst": "1"}, "kind: asked for None, observed tbf"),
    ],
)
def test_every_difference_is_told(changed: dict[str, str], told: str) -> None:
    """A setting that is another, or that should not be there, makes the run invalid; a kind is told first."""
    portrait, seen = _shaped()
    _check(portrait, seen, BEFORE)
    with pytest.raises(InvalidRun, match=re.escape(told)):
        _check(portrait, seen | changed)


def test_a_setting_that_is_gone() -> None:
    """A qdisc that has been removed makes the run invalid."""
    portrait, seen = _shaped()
    gone = {name: each for name, each in seen.items() if not name.startswith("qdisc 3:")}
    with pytest.raises(InvalidRun, match="qdisc 3: of to-client, kind: asked for netem, observed None"):
        _check(portrait, gone)


def test_what_the_kernel_rounds() -> None:
    """The kernel tells times in units of 64 ns, and tc reads probabilities from few digits."""
    portrait = _portrait()
    lossy = Link(rate_bit_s=None, delay_ns=16_667_000, loss=0.01)
    portrait.declare_commands(shaper.commands(Shaper.NETEM, lossy, "to-client", "to-front"))
    seen = portrait.requested(REFERENCE)
    _check(
        portrait,
        seen | {"qdisc 2: of to-client, delay in ns": "16666944", "qdisc 2: of to-client, loss": "0.0099999999"},
    )
    with pytest.raises(InvalidRun, match=r"loss: asked for 0\.01, observed 0\.0101"):
        _check(portrait, seen | {"qdisc 2: of to-client, loss": "0.0101"})


def test_rate_steps_are_left_open() -> None:
    """A setting that the lab changes during the loads may have any value; the journal of the steps has it."""
    portrait, seen = _shaped()
    portrait.leave_open(["qdisc 3: of to-client, rate in bit/s"])
    _check(portrait, seen | {"qdisc 3: of to-client, rate in bit/s": "2000000"})


def test_devices_that_the_lab_added() -> None:
    """A device that the lab added has the settings of the others; what the kernel added with it is taken as it is."""
    portrait = _portrait()
    steps = Link(rate_bit_s=1_024_000, delay_ns=300_000_000, reorder=0.01)
    portrait.declare_commands(shaper.commands(Shaper.NETEM, steps, "to-client", "to-front"))
    added = {
        "device delay-down, kind": "veth",
        "device delay-down, mtu": "1500",
        "device down-delay, kind": "veth",
        "device down-delay, mtu": "1500",
        "route default table 13 dev delay-down": "type 1",
        "rule 32765 iif to-front table 13": "",
    }
    seen = portrait.requested(REFERENCE | added)
    _check(portrait, seen)
    with pytest.raises(InvalidRun, match="device delay-down, mtu: asked for 1500, observed 700"):
        _check(portrait, seen | {"device delay-down, mtu": "700"})
    with pytest.raises(InvalidRun, match="table 13 dev delay-down: asked for type 1, observed type 2"):
        _check(portrait, seen | {"route default table 13 dev delay-down": "type 2"})
