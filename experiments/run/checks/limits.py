"""Finds what limited the transfer other than link and server: the client's TCP window, or the memory for TCP. Pure."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from priolab.common.errors import InvalidRun
from priolab.common.formats.samples import SocketSample

_REMEDY = "a smaller SNDBUF needs less memory; net.ipv4.tcp_mem is the bound for all connections together"


def observed_limits(sockets: Sequence[SocketSample], load: range) -> dict[str, Any]:
    """Returns run.json's entries `observed` for the measured load: busy_us, rwnd_limited_us, unacked_most_bytes.

    The front's kernel had data to send for busy_us, and for rwnd_limited_us of this time the client's TCP window was
    the limit. At most unacked_most_bytes were on their way. sockets: all samples, in order. load: the times from the
    load's first payload to its last. Without two samples in these times the entries are None.
    """
    within = [sample for sample in sockets if sample.t_ns in load]
    if len(within) < 2:
        return {"busy_us": None, "rwnd_limited_us": None, "unacked_most_bytes": None}
    first, last = within[0], within[-1]
    return {
        "busy_us": last.busy_us - first.busy_us,
        "rwnd_limited_us": last.rwnd_limited_us - first.rwnd_limited_us,
        "unacked_most_bytes": max(sample.unacked_segments * sample.mss_bytes for sample in within),
    }


def check_memory(sockets: Sequence[SocketSample]) -> None:
    """Checks that the kernel never reduced the front's send buffer. Raises InvalidRun.

    sockets: samples of one connection, in order. A browser has several, and before the measured load the sampler may
    go from one to another.
    The kernel enlarges a send buffer. It reduces one only if the memory for TCP is short (sk_stream_moderate_sndbuf).
    Then it also lets clients offer windows of no more than a few segments, and the transfer is slow for that reason.
    """
    sizes_bytes = [sample.sndbuf_bytes for sample in sockets]
    for most_bytes, size_bytes in zip(accumulate(sizes_bytes, max), sizes_bytes, strict=True):
        if size_bytes < most_bytes:
            what = "the front's send buffer, which the kernel reduces if the memory for TCP is short, in bytes"
            raise InvalidRun(what, f"at least {most_bytes}", size_bytes, _REMEDY)
