"""Tests of what a connection has from its handshake."""

from dataclasses import replace

import pytest

from priolab.common.errors import InvalidRun
from priolab.common.formats.counters import Negotiated
from priolab.experiments.run.checks.handshake import check_handshake

PLACE = {
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_reordering": "3",
}
FOUND = Negotiated(
    options=7,
    send_scale=7,
    receive_scale=7,
    mss_bytes=1448,
    advertised_mss_bytes=1448,
    cwnd_segments=10,
    ssthresh_segments=2**31 - 1,
    reordering_segments=3,
    retransmitted_segments=0,
    delivered_segments=2,
)


def checked(found: Negotiated = FOUND, *, ecn: bool = False, own: bool = False, **sysctls: str) -> str | None:
    """Returns the reason why the connection is not as requested; None if it is. sysctls: those of the client."""
    client = PLACE | {f"net.ipv4.{name}": value for name, value in sysctls.items()}
    try:
        check_handshake(found, client, PLACE, ecn=ecn, own=own)
    except InvalidRun as error:
        return str(error)
    return None


def test_a_connection_as_its_ends_have_it() -> None:
    """Slow start may have begun, and the machine may have a larger window."""
    assert checked() is None
    assert checked(replace(FOUND, cwnd_segments=12, receive_scale=9)) is None


def test_a_connection_that_is_read_late() -> None:
    """When the load has begun, CUBIC may have ended slow start: HyStart needs a window of sixteen segments."""
    late = replace(FOUND, cwnd_segments=57, ssthresh_segments=56, delivered_segments=60)
    assert checked(late) is None
    assert checked(replace(late, cwnd_segments=15)) is not None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"options": 5},
            "selective acknowledgments of the client's connection, from its handshake: asked for on, observ",
        ),
        ({"options": 6, "mss_bytes": 1460, "advertised_mss_bytes": 1460}, "timestamps of the client's"),
        ({"options": 3, "send_scale": 0, "receive_scale": 0}, "window scaling of the client's"),
        ({"options": 15}, "ECN of the client's connection, from its handshake: asked for off, observed on"),
        ({"send_scale": 2}, "the scale of the client's window of the"),
        ({"receive_scale": 2}, "the scale of the front's window of the"),
        (
            {"mss_bytes": 536},
            "the segment size of the client's connection, from its handshake: asked for 1448 bytes, ob",
        ),
        ({"advertised_mss_bytes": 536}, "the segment size of the"),
        (
            {"cwnd_segments": 2},
            "the congestion window of the client's connection, from its handshake: asked for from 10",
        ),
        ({"cwnd_segments": 60}, "the congestion window of the"),
        ({"ssthresh_segments": 5}, "the end of slow start of the"),
        ({"reordering_segments": 30}, "the reordering of the"),
    ],
)
def test_a_setting_that_was_another_for_the_handshake(changes: dict[str, int], reason: str) -> None:
    """Each is found in the connection itself, whatever pictures show."""
    assert (checked(replace(FOUND, **changes)) or "").startswith(reason)


def test_what_was_asked_for() -> None:
    """ECN may be asked for, and a machine may have no timestamps."""
    assert checked(replace(FOUND, options=15), ecn=True) is None
    assert checked(ecn=True) is not None
    without = replace(FOUND, options=6, mss_bytes=1460, advertised_mss_bytes=1460)
    assert checked(without, tcp_timestamps="0") is None


def test_a_handshake_that_lost_a_packet() -> None:
    """Then the congestion window begins smaller."""
    assert checked(replace(FOUND, cwnd_segments=1, ssthresh_segments=2, retransmitted_segments=1)) is None


def test_a_users_own_front() -> None:
    """It may choose sizes for its socket, and no options of the handshake."""
    assert checked(replace(FOUND, mss_bytes=536, advertised_mss_bytes=536), own=True) is None
    assert checked(replace(FOUND, options=5), own=True) is not None
