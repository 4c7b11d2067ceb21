"""The interface of client engines: plaintext and the time in, events and bytes to send out. No socket, no clock.

Rules:
1. An engine has one connection. client/loads.py decides which requests are due.
2. An engine raises LoadFailed if the front violates the protocol, resets a stream, or sends GOAWAY while streams are
   open.
"""

from typing import Protocol

from client.records import Record
from common.formats.events import Event


class Engine(Protocol):
    """A client connection, from its first byte on."""

    @property
    def loading(self) -> bool:
        """True while the current load has open streams."""

    @property
    def unfinished(self) -> list[str]:
        """Names of the resources that have not ended."""

    def begin_load(self, now_ns: int) -> list[Event]:
        """Requests the page of the next load; returns the events. Raises LoadFailed."""

    def data_to_send(self) -> bytes:
        """Returns the plaintext to send to the front now."""

    def quiet(self, now_ns: int) -> list[Event]:
        """Enlarges windows if the load is a probe (client/valve.py); returns the events.

        Called when nothing has arrived for the plan's `steps.quiet_ns`.
        """

    def receive(self, data: bytes, now_ns: int, record: Record | None = None) -> list[Event]:
        """Handles plaintext from the front; returns the events. Raises LoadFailed.

        now_ns: the arrival time, CLOCK_MONOTONIC. record: the TLS record of the plaintext, if known.
        """
