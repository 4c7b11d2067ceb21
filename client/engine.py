"""The interface of client engines. An engine speaks a protocol on one connection, without socket and clock.

The caller gives the engine the received plaintext and the time. The engine returns events and the plaintext to send.

Rules:
1. An engine has one connection. client/load_scheduler.py decides which requests are due.
2. An engine raises LoadFailed if the front violates the protocol, resets a stream, or sends GOAWAY while streams are
   open.
"""

from typing import Protocol

from priolab.client.records import Record
from priolab.common.formats.events import Event


class Engine(Protocol):
    """The client's end of a connection, from the end of the TLS handshake on."""

    @property
    def loading(self) -> bool:
        """True while the current load has open streams, or requests that wait for their time."""

    @property
    def next_due_ns(self) -> int | None:
        """The time at which the caller must call `wake`, CLOCK_MONOTONIC; None if no request waits for its time."""

    def wake(self, now_ns: int) -> list[Event]:
        """Requests the resources whose time has come; returns the events. Raises LoadFailed."""

    @property
    def unfinished(self) -> list[str]:
        """Names of the requested resources whose streams have not ended."""

    def begin_load(self, now_ns: int) -> list[Event]:
        """Begins the next load by requesting the page; returns the events. Raises LoadFailed."""

    def data_to_send(self) -> bytes:
        """Returns the plaintext to send to the front now."""

    def quiet(self, now_ns: int) -> list[Event]:
        """Enlarges flow-control windows if the load is a probe (client/flow_control_probe.py); returns the events.

        The caller calls this method when nothing has arrived for the time `steps.quiet_ns` of the plan.
        """

    def receive(self, data: bytes, now_ns: int, record: Record | None = None) -> list[Event]:
        """Handles plaintext from the front; returns the events. Raises LoadFailed.

        now_ns: the arrival time, CLOCK_MONOTONIC. record: the TLS record of the plaintext, if known.
        """
