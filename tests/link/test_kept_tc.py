"""`TcSession`, a tc process that stays open, in a network namespace of its own."""

import pytest

from priolab.netem.tc_session import TcSession
from priolab.testbed.topology.namespace import Namespace

pytestmark = pytest.mark.needs("fabric-netns", "root")

_ADD = (
    "tc",
    "qdisc",
    "add",
    "dev",
    "lo",
    "root",
    "handle",
    "1:",
    "tbf",
    "rate",
    "8mbit",
    "burst",
    "1514",
    "limit",
    "5",
)


def test_it_does_one_thing_after_another() -> None:
    """`tell` runs tc commands one after another, and returns the device's qdiscs after each."""
    with Namespace("link") as place, place.entered(), TcSession("lo") as kept:
        assert kept.tell([]) == []
        assert [qdisc["options"]["rate"] for qdisc in kept.tell([_ADD])] == [1_000_000]
        change = tuple("change" if word == "add" else "16mbit" if word == "8mbit" else word for word in _ADD)
        assert [qdisc["options"]["rate"] for qdisc in kept.tell([change])] == [2_000_000]


def test_it_says_what_was_wrong() -> None:
    """A failed command raises RuntimeError with tc's message; tc has ended then, so the next command fails, too."""
    with Namespace("link") as place, place.entered(), TcSession("lo") as kept:
        with pytest.raises(RuntimeError, match=r"tc: Error: (?s:.)*Command failed -:1"):
            kept.tell([("tc", "qdisc", "delete", "dev", "lo", "root")])
        with pytest.raises(RuntimeError, match=r"^tc: "):
            kept.tell([])
