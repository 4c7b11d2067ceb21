"""The kinds of shapers."""

from enum import StrEnum


class Shaper(StrEnum):
    """The shapers: the kernel's netem, or the lab's ferry, gives the link its rate, delay, queue, loss and jitter."""

    NETEM = "netem"
    FERRY = "ferry"
