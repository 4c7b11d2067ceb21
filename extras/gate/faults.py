"""The faults that the gate names."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Fault(StrEnum):
    """A fault of a server's scheduler, by its name."""

    IGNORES_URGENCY = "ignores urgency"
    IGNORES_INCREMENTAL = "ignores incremental"
    INVERTS = "inverts"
    STARVES = "starves"
    FORGETS_UPDATES = "forgets updates"
    BUFFERS = "buffers"
    BY_STREAM_ID = "serves by stream id"
    LOST_BY_RESET = "loses the priority after a RST_STREAM"
    MIXES_CONNECTIONS = "mixes up connections"
    ONLY_FIRST_LOAD = "honours only the first load"
    SHARES = "shares by urgency"
    TAKES_TURNS = "shares instead of serving in turn"


MEANING: Mapping[Fault, str] = MappingProxyType(
    {
        Fault.IGNORES_URGENCY: "the order of the streams does not depend on their urgency",
        Fault.IGNORES_INCREMENTAL: "incremental streams of one urgency are sent one after the other",
        Fault.INVERTS: "a stream gets less if it is asked for first",
        Fault.STARVES: "a stream gets nothing although no other stream has bytes to send",
        Fault.FORGETS_UPDATES: "a change of an open stream's priority has no effect",
        Fault.BUFFERS: "the scheduler is right, but bytes chosen long before are sent first",
        Fault.BY_STREAM_ID: "the stream with the smallest number is sent first, whatever its priority",
        Fault.LOST_BY_RESET: "the order is right until the client resets a stream",
        Fault.MIXES_CONNECTIONS: "priorities of another connection count",
        Fault.ONLY_FIRST_LOAD: "the order is right in a connection's first page load, and not in later ones",
        Fault.SHARES: "the more urgent stream gets more, but not all",
        Fault.TAKES_TURNS: "incremental streams of one urgency share the window",
    }
)
"""The meaning of each fault, in words."""
