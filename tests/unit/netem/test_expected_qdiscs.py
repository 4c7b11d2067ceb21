"""Tests of the settings that follow from the commands of a link."""

import pytest

from priolab.common.snapshot.queues import netem_limit
from priolab.netem import shaper
from priolab.netem.expected_qdiscs import expected_qdiscs
from priolab.netem.link import Link
from priolab.netem.shaper_kind import Shaper


def _of(link: Link, qdisc: str) -> dict[str, str]:
    made = expected_qdiscs(shaper.commands(Shaper.NETEM, link, "to-client", "to-front")).settings
    return {name.removeprefix(f"{qdisc}, "): each for name, each in made.items() if name.startswith(f"{qdisc}, ")}


def test_every_option_of_netem_is_asked_for() -> None:
    """An option that the commands do not name must be off."""
    link = Link(rate_bit_s=1_234_567, delay_ns=16_667_000, jitter_ns=1_000_000, loss=0.0125)
    delay = _of(link, "qdisc 2: of to-client")
    assert delay["delay in ns"] == "16667000"
    assert (delay["jitter in ns"], delay["loss"], delay["rate in bit/s"]) == ("1000000", "0.0125", "100000000000")
    plain = ("duplicate", "gap", "reorder", "corrupt")
    correlated = ("reorder", "corrupt", "delay", "loss", "duplicate")
    assert {delay[name] for name in (*plain, *(f"{name}'s correlation" for name in correlated))} == {"0"}
    assert (delay["ecn"], delay["overhead"]) == ("off", "0 0 0")
    queue = _of(link, "qdisc 3: of to-client")
    assert (queue["limit"], queue["rate in bit/s"], queue["delay in ns"]) == ("25", "1234560", "0")


def test_losses_in_bursts() -> None:
    """Gilbert's model has the chances that a burst begins and ends."""
    link = Link(rate_bit_s=None, delay_ns=1, loss=0.01, loss_burst_packets=5)
    assert _of(link, "qdisc 2: of to-client")["loss model 2"] == "0.0020202 0.2 0 0"


def test_loops_and_rules() -> None:
    """Devices that the commands make, rules, and changes of offloads are told apart from the qdiscs."""
    made = expected_qdiscs(shaper.commands(Shaper.FERRY, Link(rate_bit_s=10**6, delay_ns=1), "to-client", "to-front"))
    assert made.devices == ["ferry-down", "down-ferry"]
    assert made.without_offloads == ["ferry-down"]
    assert made.rules == [("to-front", "10")]


def test_a_command_that_no_link_has() -> None:
    """A command whose effect is not known is refused, so none can be forgotten."""
    with pytest.raises(ValueError, match="ip link delete"):
        expected_qdiscs([("ip", "link", "delete", "wire")])


def test_a_queue_in_bytes() -> None:
    """A limit in bytes is one in words, too, as the picture of the place has it."""
    link = Link(rate_bit_s=10**6, delay_ns=1, queue_packets=6, queue_bytes=10_240)
    assert _of(link, "qdisc 3: of to-client")["limit"] == netem_limit(2**31 + 10_240) == "10240 bytes"
    assert netem_limit(25) == "25"
