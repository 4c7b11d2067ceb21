"""Tests of rtnetlink messages: their bytes are those that pyroute2 0.9.7 makes."""

import pytest

from priolab.testbed.topology import rtnetlink

_NEAR, _FAR = "02:00:c6:12:00:00", "02:00:c6:12:00:01"
_LINK = "00000000" * 4
_WIRE = "0900030077697265 00000000"
_PEER = "09000300746f2d78 00000000 08001c0007000000"
_TO_NEAR, _TO_FAR = "0a000100 0200c6120000 0000", "0a000100 0200c6120001 0000"
_OF_IPV6 = "20010db8 00180000 00000000 00000002"
_VETH = "0900010076657468 00000000"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            rtnetlink.veth("wire", _NEAR, "to-x", _FAR, 7),
            f"""80000000 1000 0506 00000000 00000000 {_LINK} {_WIRE} {_TO_NEAR}
            48001200 {_VETH} 38000200 34000100 {_LINK} {_PEER} {_TO_FAR}""",
        ),
        (
            rtnetlink.veth("wire", None, "to-x", None, 7),
            f"""68000000 1000 0506 00000000 00000000 {_LINK} {_WIRE}
            3c001200 {_VETH} 2c000200 28000100 {_LINK} {_PEER}""",
        ),
        (rtnetlink.up(3), "20000000 1000 0500 00000000 00000000 00000000 03000000 01000000 01000000"),
        (rtnetlink.device("wire"), f"2c000000 1200 0100 00000000 00000000 {_LINK} {_WIRE}"),
        (
            rtnetlink.address(3, "198.18.0.2", 24),
            "28000000 1400 0506 00000000 00000000 02180000 03000000 08000200c6120002 08000100c6120002",
        ),
        (
            rtnetlink.neighbour(3, "198.18.0.1", _NEAR),
            "30000000 1c00 0506 00000000 00000000 02000000 03000000 80000000 08000100c6120001 0a0002000200c61200000000",
        ),
        (
            rtnetlink.default_route("198.18.0.1"),
            "24000000 1800 0506 00000000 00000000 02000000fe040001 00000000 08000500c6120001",
        ),
        (
            rtnetlink.address(3, "2001:db8:18::2", 64),
            f"40000000 1400 0506 00000000 00000000 0a400200 03000000 14000200 {_OF_IPV6} 14000100 {_OF_IPV6}",
        ),
        (
            rtnetlink.route("2001:db8:18::2", 64, "2001:db8:18::2"),
            f"""44000000 1800 0506 00000000 00000000 0a400000fe040001 00000000
            14000100 {_OF_IPV6[:-1]}0 14000500 {_OF_IPV6}""",
        ),
    ],
    ids=["veth", "veth without addresses", "up", "device", "address", "neighbour", "route", "IPv6", "route of IPv6"],
)
def test_a_message(message: bytes, expected: str) -> None:
    """Each message has the header, the structure and the attributes that the kernel expects."""
    assert message == bytes.fromhex(expected)


def test_a_rule() -> None:
    """A rule for packets from a device to an address drops them, or names a table; its end names it in full."""
    where, first = f"08000100c6120002 {_WIRE}", "08000600 01000000"
    assert rtnetlink.rule("wire", "198.18.0.2", None) == bytes.fromhex(
        f"38000000 2000 0506 00000000 00000000 0220000000000006 00000000 {where} {first}"
    )
    assert rtnetlink.rule("wire", "198.18.0.2", 100, there=False) == bytes.fromhex(
        f"40000000 2100 0500 00000000 00000000 0220000000000001 00000000 {where} 08000f00 64000000 {first}"
    )


def test_an_answer() -> None:
    """gso_max_segs is read from among the device's attributes."""
    answer = bytes.fromhex(f"{_LINK} {_WIRE} 08002800ffff0000")
    assert rtnetlink.gso_max_segs(answer) == 65535


def test_the_kind_of_a_qdisc() -> None:
    """The name of the device's queueing discipline is read from among its attributes."""
    answer = bytes.fromhex(f"{_LINK} {_WIRE} 0700060066710000")
    assert rtnetlink.qdisc(answer) == "fq"
