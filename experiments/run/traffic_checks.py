"""Checks that the link carried the client's connection, all of it and nothing else, during the loads."""

from collections.abc import Sequence

from analysis.loads.bookkeeping import FEWEST_LOOKS
from common.formats.samples import SocketSample
from experiments.errors import InvalidRun
from experiments.results.run_folder import RunFolder, last_line, read_json
from experiments.scenario.scenario import ClientKind, Scenario, ShaperAt
from netem.carried import Received

_MARGIN_BYTES = 16 * 1024
"""Room for what is sent again after the last sample of the socket, and for TCP options that few packets have."""


def check_carried(came: Received, folder: RunFolder, scenario: Scenario, sockets: Sequence[SocketSample]) -> None:
    """Compares what came from the front with what the client received and what was sent again. Raises InvalidRun.

    With SHAPER_AT=front, packets are lost before the link: what was sent again may have come once.
    """
    if len(sockets) < FEWEST_LOOKS:
        return  # too few samples to know what was sent again
    arrived_bytes = _arrived_bytes(folder, scenario.client)
    most_bytes = arrived_bytes + sockets[-1].bytes_retrans
    least_bytes = arrived_bytes if scenario.shaper_at is ShaperAt.FRONT else most_bytes
    if not least_bytes - _MARGIN_BYTES <= came.payload_bytes <= most_bytes + _MARGIN_BYTES:
        raise InvalidRun(
            "bytes that the link carried from the front during the loads",
            f"the connection's {most_bytes}",
            came.payload_bytes,
        )


def _arrived_bytes(folder: RunFolder, client: ClientKind) -> int:
    """Bytes that arrived, over all connections; a browser makes some to spare."""
    if client is ClientKind.CHROMIUM:
        connections = read_json(folder.client / "browser.json")["connections"]
        return sum(int(connection["received_bytes"]) for connection in connections)
    return int(last_line(folder.client / "arrivals.jsonl")["tcp_bytes"])
