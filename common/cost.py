"""The cost of an instrument: the events it has recorded, and the time spent on that by its own clock."""

from dataclasses import dataclass


@dataclass(kw_only=True)
class Cost:
    """Sums up events and time. spent_ns means nothing where the clock stands still while a program works."""

    events: int = 0
    spent_ns: int = 0

    def add(self, events: int, spent_ns: int) -> None:
        """Adds events, and the time it took to handle them."""
        self.events += events
        self.spent_ns += spent_ns
