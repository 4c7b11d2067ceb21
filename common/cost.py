"""What an instrument costs: the events it has noted down, and the time it has spent on that, by its own clock."""

from dataclasses import dataclass


@dataclass(kw_only=True)
class Cost:
    """Counts up. spent_ns means nothing where the clock stands still while a program works."""

    events: int = 0
    spent_ns: int = 0

    def add(self, events: int, spent_ns: int) -> None:
        """So many events more, handled in that time."""
        self.events += events
        self.spent_ns += spent_ns
