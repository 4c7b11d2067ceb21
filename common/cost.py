"""The cost of an instrument, such as the client or a sampler: the time that it spends on recording, by its clock."""

from dataclasses import dataclass


@dataclass(kw_only=True)
class Cost:
    """The number of recorded events and the time spent on them.

    spent_ns means nothing in a guest, whose clock stands still while a program computes.
    """

    events: int = 0
    spent_ns: int = 0

    def add(self, events: int, spent_ns: int) -> None:
        """Adds events and the time that recording them took."""
        self.events += events
        self.spent_ns += spent_ns
