"""The faults that the gate names."""

from enum import StrEnum
from typing import Self


class Fault(StrEnum):
    """A fault of a server's scheduler, by its name, and its meaning in words."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        """Makes a member of its name and its meaning."""
        made = str.__new__(cls, name)
        made._value_, made.meaning = name, meaning
        return made

    IGNORES_URGENCY = "ignores urgency", "the order of the streams does not depend on their urgency"
    IGNORES_INCREMENTAL = "ignores incremental", "incremental streams of one urgency are sent one after the other"
    INVERTS = "inverts", "a stream gets less if it is asked for first"
    STARVES = "starves", "a stream gets nothing although no other stream has bytes to send"
    FORGETS_UPDATES = "forgets updates", "a change of an open stream's priority has no effect"
    BUFFERS = "buffers", "the scheduler is right, but bytes chosen long before are sent first"
    BY_STREAM_ID = "serves by stream id", "the stream with the smallest number is sent first, whatever its priority"
    LOST_BY_RESET = "loses the priority after a RST_STREAM", "the order is right until the client resets a stream"
    MIXES_CONNECTIONS = "mixes up connections", "priorities of another connection count"
    ONLY_FIRST_LOAD = (
        "honours only the first load",
        "the order is right in a connection's first page load, and not in later ones",
    )
    SHARES = "shares by urgency", "the more urgent stream gets more, but not all"
    TAKES_TURNS = "shares instead of serving in turn", "incremental streams of one urgency share the window"
