"""Tests of the pictures of containers, which a stand-in for the engine reads."""

import json
from collections.abc import Sequence

import pytest

from priolab.common.errors import InvalidRun
from priolab.experiments.hosts.containers.pictures import ContainerPictures
from priolab.experiments.run.checks.pictures import AFTER, BEFORE, check_pictures
from priolab.netem import tc
from priolab.netem.link import Link

_PICTURE = {"net.ipv4.tcp_sack": "1", "device eth0, kind": "veth", "device eth1, kind": "veth"}
_COMMANDS = tc.down(Link(rate_bit_s=1_024_000, delay_ns=0), "eth0")


class Engine:
    """Services whose pictures can be changed."""

    def __init__(self) -> None:
        self.pictures = {service: dict(_PICTURE) for service in ("client", "front", "link")}

    def run(self, service: str, command: Sequence[str]) -> str:
        """Return the picture of a service."""
        assert list(command) == ["python3", "-m", "priolab.common.snapshot"]
        return json.dumps(self.pictures[service])


def test_a_change_in_a_container() -> None:
    """A change between two pictures makes the run invalid."""
    engine = Engine()
    pictures = ContainerPictures(engine.run)
    check_pictures(pictures.portrayed(), BEFORE)
    engine.pictures["front"]["net.ipv4.tcp_sack"] = "0"
    with pytest.raises(InvalidRun, match=r"front after the loads, net\.ipv4\.tcp_sack: asked for 1, observed 0"):
        check_pictures(pictures.portrayed(), AFTER)


def test_the_link_is_compared_with_its_commands() -> None:
    """Another queue than the commands ask for makes the run invalid before the loads, too."""
    engine = Engine()
    pictures = ContainerPictures(engine.run)
    pictures.asked_of_link(_COMMANDS, ())
    with pytest.raises(InvalidRun, match="link before the loads, qdisc 1: of eth0, kind: asked for tbf, observed None"):
        check_pictures(pictures.portrayed(), BEFORE)


def test_a_device_that_the_engine_made_otherwise() -> None:
    """A device of the link keeps the settings that it has in the first picture, whatever other devices have."""
    engine = Engine()
    engine.pictures["link"] |= {"device down-ferry, kind": "veth", "device down-ferry, txqueuelen": "1000"}
    engine.pictures["link"] |= {"device eth0, txqueuelen": "0"}
    pictures = ContainerPictures(engine.run)
    pictures.asked_of_link([("ip", "link", "add", "down-ferry", "type", "veth", "peer", "name", "down-world")], ())
    check_pictures([each for each in pictures.portrayed() if each.place != "link"], BEFORE)
    (link,) = [each for each in pictures.portrayed() if each.place == "link"]
    assert link.asked["device down-ferry, txqueuelen"] == "1000"
