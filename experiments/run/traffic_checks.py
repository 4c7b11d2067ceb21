"""Checks that during the loads the link carried all bytes of the client's connection, and no other bytes."""

from collections.abc import Sequence

from common.formats.samples import FEWEST_LOOKS, SocketSample
from experiments.errors import InvalidRun
from experiments.results.run_folder import RunFolder, last_line, read_json
from experiments.scenario.scenario import ClientKind, Scenario, ShaperAt
from netem.carried import Received

_MARGIN_BYTES = 16 * 1024
"""Tolerance for retransmissions after the last sample of the socket, and for TCP options that only few packets have."""


def check_carried(came: Received, folder: RunFolder, scenario: Scenario, sockets: Sequence[SocketSample]) -> None:
    """Checks that the link carried the bytes that the client received and the front retransmitted. Raises InvalidRun.

    came: what the link carried from the front during the loads. sockets: the samples of the front's socket. With
    SHAPER_AT=front, packets are lost before they reach the link, so retransmitted bytes may have crossed the link only
    once.
    """
    if len(sockets) < FEWEST_LOOKS:
        return  # too few samples to know how many bytes were retransmitted
    arrived_bytes = _arrived_bytes(folder, scenario.client)
    most_bytes = arrived_bytes + sockets[-1].bytes_retrans
    least_bytes = arrived_bytes if scenario.shaper_at is ShaperAt.FRONT else most_bytes
    if not least_bytes - _MARGIN_BYTES <= came.payload_bytes <= most_bytes + _MARGIN_BYTES:
        raise InvalidRun(
            "bytes that the link carried from the front during the loads",
            f"the {most_bytes} that the client received or the front retransmitted",
            came.payload_bytes,
        )


def _arrived_bytes(folder: RunFolder, client: ClientKind) -> int:
    """Returns the bytes that arrived on all connections of the client. A browser opens spare connections."""
    if client is ClientKind.CHROMIUM:
        connections = read_json(folder.client / "browser.json")["connections"]
        return sum(int(connection["received_bytes"]) for connection in connections)
    return int(last_line(folder.client / "arrivals.jsonl")["tcp_bytes"])
