"""What every client engine does: plaintext bytes and the time in, events and bytes to send out. No socket, no clock.

Rules:
1. One connection; loads.py says which requests are due.
2. The peer's misbehaviour, a reset stream and a GOAWAY while streams are open are one exception: LoadFailed.
"""

from typing import Protocol

from client.records import Record
from common.formats.events import Event


class Engine(Protocol):
    """One client connection, from its first byte on."""

    @property
    def loading(self) -> bool:
        """Whether the current load still has streams open."""

    @property
    def unfinished(self) -> list[str]:
        """Names of the resources that have not ended."""

    def begin_load(self, now_ns: int) -> list[Event]:
        """Ask for the page of the next load. Raises LoadFailed."""

    def data_to_send(self) -> bytes:
        """Plaintext that has to go to the front now."""

    def quiet(self, now_ns: int) -> list[Event]:
        """Nothing has come for as long as the plan's steps say: a probe opens its window. Without steps, nothing."""

    def receive(self, data: bytes, now_ns: int, record: Record | None = None) -> list[Event]:
        """Plaintext from the front, with the TLS record it came in where that is known. Raises LoadFailed."""
