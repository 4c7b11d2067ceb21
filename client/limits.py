"""Limits on the data that a front can make the client record in a page load. Pure.

Rules:
1. Limits are generous. An honest front sends TLS records of at least 512 bytes, and at most a few kilobytes of headers.
2. A load fails if the front exceeds a limit, with every protocol.
"""

from collections.abc import Sequence

from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Plan, Protocol

MOST_RESOURCE_BYTES = 2**27
"""The most payload bytes allowed per request of the plan: twice the largest resource of the lab's origin."""

FREE_PIECES = 10_000
"""The number of events that a load may have whatever their size. As many reads of the socket are allowed, too."""

PIECE_BYTES = 64
"""The bytes that must arrive for each event or read beyond FREE_PIECES."""

FREE_BYTES = 2**20
"""The bytes allowed in addition to twice the payload: headers, frames without payload, padding, TLS."""


class Limits:
    """The limits of a page load, and the counts of bytes, events and reads that are compared with the limits."""

    def __init__(self, plan: Plan) -> None:
        self._most_bytes = MOST_RESOURCE_BYTES * len(plan.requests)
        # QUIC holds back data behind a gap until the gap is filled: at most a flow-control window of data.
        held_bytes = min(plan.whole_window_bytes, self._most_bytes) if plan.protocol is Protocol.HTTP3 else 0
        self._free_bytes = FREE_BYTES + held_bytes
        self._payload_bytes = 0
        self._bytes = 0
        self._events = 0
        self._reads = 0

    def noted(self, events: Sequence[Event]) -> None:
        """Counts recorded events. Raises LoadFailed if the load exceeds a limit."""
        self._payload_bytes += sum(event.size_bytes or 0 for event in events if event.kind is Kind.DATA)
        self._events += len(events)
        if self._payload_bytes > self._most_bytes:
            raise LoadFailed(f"the front sent more than {self._most_bytes} bytes of DATA")
        most = FREE_PIECES + self._payload_bytes // PIECE_BYTES
        if self._events > most:
            raise LoadFailed(
                f"the front sent {self._payload_bytes} bytes of DATA in more than {most} frames and pieces"
            )

    def read(self, size_bytes: int) -> None:
        """Counts a read of the socket and its bytes. Raises LoadFailed if the load exceeds a limit."""
        self._bytes += size_bytes
        self._reads += 1
        most_bytes = self._free_bytes + self._payload_bytes
        if self._bytes - self._payload_bytes > most_bytes:
            raise LoadFailed(
                f"the front sent more than {most_bytes} bytes in addition to {self._payload_bytes} bytes of DATA"
            )
        most = FREE_PIECES + self._bytes // PIECE_BYTES
        if self._reads > most:
            raise LoadFailed(f"the front sent {self._bytes} bytes in more than {most} packets")
