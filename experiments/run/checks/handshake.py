"""Compares what the client's connection has from its handshake with the settings of both ends. Pure.

A connection keeps for life what was negotiated, and a setting that was another for the handshake alone shows in no
later picture.
"""

from collections.abc import Iterator, Mapping

from priolab.common.errors import InvalidRun
from priolab.common.formats.counters import Negotiated
from priolab.common.packets import INITIAL_WINDOW_SEGMENTS, SEGMENT_BYTES

_OPTIONS = {
    "timestamps": (1, "net.ipv4.tcp_timestamps"),
    "selective acknowledgments": (2, "net.ipv4.tcp_sack"),
    "window scaling": (4, "net.ipv4.tcp_window_scaling"),
}
"""The bits TCPI_OPT_* of <linux/tcp.h>, and the sysctls that both ends must have."""
_ECN, _TIMESTAMP_BYTES = 8, 12
_NO_SLOW_START_END = 2**31 - 1  # TCP_INFINITE_SSTHRESH
_HYSTART_SEGMENTS = 16  # the default of the module parameter hystart_low_window
_REORDERING = "net.ipv4.tcp_reordering"
_RMEM = "net.ipv4.tcp_rmem"
_SCALED_BITS = 15
"""A window of this many bits needs no scaling (tcp_output.c, tcp_select_initial_window)."""


def check_handshake(
    negotiated: Negotiated, client: Mapping[str, str], front: Mapping[str, str], *, ecn: bool, own: bool
) -> None:
    """Checks that the connection was made with the settings of its ends. Raises InvalidRun.

    client, front: the settings of both places by name (common/snapshot). ecn: True if it was asked for. own: True if
    the front is a user's, which may set the sizes of its own socket.
    """
    of_sizes = () if own else _sizes(negotiated, client, front)
    # A lost SYN, or a mark on one, makes the first congestion window smaller.
    of_start = () if negotiated.retransmitted_segments or ecn else _start(negotiated, front)
    for what, asked, seen in (*_options(negotiated, client, front, ecn=ecn), *of_sizes, *of_start):
        raise InvalidRun(f"{what} of the client's connection, from its handshake", asked, seen)


def _options(
    negotiated: Negotiated, client: Mapping[str, str], front: Mapping[str, str], *, ecn: bool
) -> Iterator[tuple[str, str, str]]:
    wanted = {"ECN": (_ECN, ecn)}
    wanted |= {what: (bit, client[name] != "0" != front[name]) for what, (bit, name) in _OPTIONS.items()}
    for what, (bit, is_asked) in wanted.items():
        if is_asked != bool(negotiated.options & bit):
            yield what, "on" if is_asked else "off", "off" if is_asked else "on"


def _sizes(
    negotiated: Negotiated, client: Mapping[str, str], front: Mapping[str, str]
) -> Iterator[tuple[str, object, object]]:
    """Yields what differs in the sizes of segments, and in the scales of windows.

    The machine may have a net.core.rmem_max of its own, which makes scales larger.
    """
    full_bytes = SEGMENT_BYTES + (0 if negotiated.options & _OPTIONS["timestamps"][0] else _TIMESTAMP_BYTES)
    for size_bytes in (negotiated.mss_bytes, negotiated.advertised_mss_bytes):
        if size_bytes != full_bytes:
            yield "the segment size", f"{full_bytes} bytes", f"{size_bytes} bytes"
    for what, place, scale in (
        ("client", client, negotiated.send_scale),
        ("front", front, negotiated.receive_scale),
    ):
        least = max(0, int(place[_RMEM].split()[2]).bit_length() - 1 - _SCALED_BITS)
        if negotiated.options & _OPTIONS["window scaling"][0] and scale < least:
            yield f"the scale of the {what}'s window", f"at least {least}", scale


def _start(negotiated: Negotiated, front: Mapping[str, str]) -> Iterator[tuple[str, object, object]]:
    """Yields what differs in the congestion control's first state.

    Before the first load the front has sent no more than its part of TLS's handshake, so slow start has just begun. On
    a busy machine the load may have begun when the connection is read: then CUBIC may have ended slow start by itself,
    but not with a smaller window than HyStart needs (tcp_cubic.c, hystart_low_window).
    """
    most = INITIAL_WINDOW_SEGMENTS + negotiated.delivered_segments
    if not INITIAL_WINDOW_SEGMENTS <= negotiated.cwnd_segments <= most:
        yield "the congestion window", f"from {INITIAL_WINDOW_SEGMENTS} to {most} segments", negotiated.cwnd_segments
    has_grown = negotiated.cwnd_segments >= _HYSTART_SEGMENTS
    if negotiated.ssthresh_segments != _NO_SLOW_START_END and not has_grown:
        yield "the end of slow start", "none", f"{negotiated.ssthresh_segments} segments"
    if negotiated.reordering_segments != int(front[_REORDERING]):
        yield "the reordering", front[_REORDERING], negotiated.reordering_segments
