"""Tests of what limited a transfer: the client's window, or the memory for TCP."""

import pytest

from priolab.common.errors import InvalidRun
from priolab.experiments.run.checks.limits import check_memory, observed_limits
from tests.support.builders import socket_sample


def test_limits_of_the_measured_load() -> None:
    """The times are those of the measured load alone."""
    sockets = [
        socket_sample(t_ns=1, busy_us=100, rwnd_limited_us=90, unacked_segments=99, mss_bytes=1448),
        socket_sample(t_ns=10, busy_us=1000, rwnd_limited_us=100, unacked_segments=3, mss_bytes=1448),
        socket_sample(t_ns=20, busy_us=4000, rwnd_limited_us=2100, unacked_segments=7, mss_bytes=1448),
    ]
    assert observed_limits(sockets, range(10, 21)) == {
        "busy_us": 3000,
        "rwnd_limited_us": 2000,
        "unacked_most_bytes": 7 * 1448,
    }
    for few in ([], sockets[:1], sockets[2:]):
        assert set(observed_limits(few, range(10, 21)).values()) == {None}


def test_a_send_buffer_that_the_kernel_reduced() -> None:
    """A send buffer that becomes smaller at any time is told: what it was, and what it was then."""
    sizes = [4096, 8192, 8192, 16_384]
    check_memory([socket_sample(t_ns=number, sndbuf_bytes=size) for number, size in enumerate(sizes)])
    with pytest.raises(InvalidRun, match="TCP is short, in bytes: asked for at least 16384, observed 16383;"):
        check_memory(
            [socket_sample(t_ns=number, sndbuf_bytes=size) for number, size in enumerate([*sizes, 16_383, 20_000])]
        )
