"""Checks that during the loads the link carried all bytes of the client's connection, and no other bytes."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from priolab.common.errors import QUIETER, InvalidRun
from priolab.common.formats.counters import FrontReading
from priolab.common.formats.files import read_json
from priolab.common.formats.plan import Disturbance
from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import FEWEST_LOOKS, CrossSample, QueueSample, SocketSample
from priolab.common.formats.scenario import ClientKind
from priolab.common.packets import INITIAL_WINDOW_SEGMENTS, PACKET_BYTES, SEGMENT_BYTES
from priolab.experiments.results.run_folder import RunFolder, last_line
from priolab.experiments.run.checks.rate_steps import Span
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.calibration import Tolerance
from priolab.netem.interface_counters import Received

_MARGIN_BYTES = 1024
"""Tolerance for what is no stream of the client's connection: longer TCP headers (8 bytes in a SYN, 12 in a packet with
SACK), other protocols' short packets (ARP, neighbour discovery), and TLS's and HTTP/2's farewells after the client has
read the last byte. In 60 honest runs it was 8 to 44 bytes. It is less than a full packet, so a single packet shows."""

_OTHERS_MARGIN_BYTES = _CROSS_MARGIN_BYTES = 16 * 1024
"""Tolerance for connections that are not sampled, and for cross traffic's SYN and FIN.

Such connections are a browser's spare ones, and the other one of a disturbed probe, on which a server sends its
handshake and some 2 KiB of responses: with a front on rustls 3,645 bytes."""


_WINDOW_MARGIN_BYTES = INITIAL_WINDOW_SEGMENTS * SEGMENT_BYTES
"""Tolerance without samples for what was sent again after the last reading: an initial window."""

_TICKS_US = 2 * 10**4
"""Two ticks of a kernel that has a hundred a second."""

_DATAGRAM_MARGIN_BYTES = 16 * 1024
"""Tolerance for datagrams that came after the client had all responses."""


def check_carried(
    came: Received,
    folder: RunFolder,
    scenario: Scenario,
    sockets: Sequence[SocketSample],
    readings: Sequence[FrontReading],
) -> None:
    """Checks that the link carried the bytes that the client received and the front retransmitted. Raises InvalidRun.

    came: what the link carried from the front during the loads. sockets: the samples of the front's socket. readings:
    those of the front's counters, which tell what was retransmitted if there are too few samples.
    """
    again_bytes: int | None
    if len(sockets) < FEWEST_LOOKS:
        again_bytes = readings[-1].counts.retransmitted_bytes
        on_the_way_bytes = _WINDOW_MARGIN_BYTES
    else:
        again_bytes = sockets[-1].bytes_retrans
        # What was on its way when the socket was sampled last may have been sent again since.
        on_the_way_bytes = sockets[-1].unacked_segments * sockets[-1].mss_bytes
    if again_bytes is None:
        return
    expected_bytes = _arrived_bytes(folder, scenario.client) + again_bytes
    has_others = scenario.client.is_browser or scenario.disturb is Disturbance.CONNECTION
    margin_bytes = on_the_way_bytes + (_OTHERS_MARGIN_BYTES if has_others else _MARGIN_BYTES)
    if abs(came.payload_bytes - expected_bytes) > margin_bytes:
        raise InvalidRun(
            "bytes that the link carried from the front during the loads",
            f"the {expected_bytes} that the client received or the front retransmitted",
            came.payload_bytes,
        )


def check_datagrams(came: Received, folder: RunFolder, scenario: Scenario) -> None:
    """Checks that the link carried what the client received or the bottleneck dropped. Raises InvalidRun.

    A client that its machine keeps from reading loses datagrams at its socket. came: what the link carried from the
    front during the loads. Not checked with LOSS, whose lost packets nobody counts, without samples of the link's
    queue, and for a browser.
    """
    lines = [line for line in read_journal(folder.link / "queue.jsonl", QueueSample) if line.direction == "down"]
    if scenario.link.loss or not lines or scenario.client.is_browser:
        return
    told = read_json(folder.client / "socket.json")
    received_bytes = told["datagram_bytes"]
    if dropped := told.get("datagrams_dropped"):
        raise InvalidRun("datagrams that the client's full receive buffer dropped", "none", dropped, QUIETER)
    dropped_bytes = PACKET_BYTES * (lines[-1].dropped - lines[0].dropped)
    if not -_DATAGRAM_MARGIN_BYTES <= came.datagram_bytes - received_bytes <= dropped_bytes + _DATAGRAM_MARGIN_BYTES:
        raise InvalidRun(
            "bytes of datagrams that the link carried from the front during the loads",
            f"the {received_bytes} that the client received, and at most {dropped_bytes} that the bottleneck dropped",
            came.datagram_bytes,
        )


def observed_cross(came: Received, journal: Path) -> dict[str, Any]:
    """Returns run.json's entries about cross traffic, for `observed`.

    came: what the link has received from the cross traffic. journal: the samples of what arrived. The entries are the
    payload that entered the link, the payload that arrived, the packets that arrived, and (time, open flows) of each
    sample at which the number of open flows had changed.
    """
    samples = read_journal(journal, CrossSample)
    flows = [samples[0], *(later for earlier, later in pairwise(samples) if later.flows != earlier.flows)]
    return {
        "cross_sent_bytes": came.payload_bytes,
        "cross_arrived_bytes": samples[-1].bytes,
        "cross_packets": samples[-1].packets,
        "cross_flows": [(each.t_ns, each.flows) for each in flows],
    }


def check_cross(scenario: Scenario, observed: Mapping[str, Any], span: Span) -> None:
    """Checks that all flows of the cross traffic were open during the measured load, and carried bytes.

    Also checks that no more arrived than entered the link. Raises InvalidRun.
    """
    held = [flows for t_ns, flows in observed["cross_flows"] if t_ns <= span.began_ns][-1:]
    held += [flows for t_ns, flows in observed["cross_flows"] if span.began_ns < t_ns <= span.ended_ns]
    if held != [scenario.cross]:
        raise InvalidRun("flows of cross traffic during the measured load", scenario.cross, held)
    arrived, sent = observed["cross_arrived_bytes"], observed["cross_sent_bytes"]
    if not 0 < arrived <= sent + _CROSS_MARGIN_BYTES:
        raise InvalidRun("bytes of cross traffic that arrived", f"at most the {sent} that entered the link", arrived)


def check_sending(passed_ns: int, before_us: Sequence[int], after_us: Sequence[int], tolerance: Tolerance) -> None:
    """Checks that every flow of the cross traffic always had bytes to send.

    passed_ns: the time between two readings of ActiveCross.sending_us, which are before_us and after_us, in the flows'
    order. The kernel counts in ticks. Raises InvalidRun.
    """
    least_us = (passed_ns - tolerance.round_trip_ns) // 1000 - _TICKS_US
    for first_us, last_us in zip(sorted(before_us), sorted(after_us), strict=False):
        if last_us - first_us < least_us:
            what = "time in us for which a flow of the cross traffic had bytes to send"
            raise InvalidRun(what, f"at least {least_us}", last_us - first_us)


def _arrived_bytes(folder: RunFolder, client: ClientKind) -> int:
    """Returns the bytes that arrived on all connections of the client. A browser opens spare connections."""
    if client.is_browser:
        connections = read_json(folder.client / "browser.json")["connections"]
        return sum(int(connection["received_bytes"]) for connection in connections)
    return int(last_line(folder.client / "arrivals.jsonl")["tcp_bytes"])
