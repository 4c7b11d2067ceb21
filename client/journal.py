"""What a client writes down as it happens: events.jsonl and arrivals.jsonl; and what it says of itself at the end."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, TextIO

from client.limits import Limits
from common.cost import Cost
from common.formats.events import Arrival, Event


class Journal:
    """The files of a connection, open.

    cost: what writing them takes of the client's time. limits: of the load that is under way, None for none.
    """

    def __init__(self, events: TextIO, arrivals: TextIO) -> None:
        self._events = events
        self._arrivals = arrivals
        self.cost = Cost()
        self.limits: Limits | None = None
        self._tcp_bytes = 0
        self._waited_ns: list[int] = []

    @classmethod
    @contextmanager
    def writing(cls, out: Path) -> Iterator[Self]:
        """In that folder."""
        with (out / "events.jsonl").open("w") as events, (out / "arrivals.jsonl").open("w") as arrivals:
            yield cls(events, arrivals)

    def add(self, events: Sequence[Event]) -> None:
        """These have happened. Raises LoadFailed beyond a limit."""
        self._events.writelines(event.to_json() + "\n" for event in events)
        if self.limits:
            self.limits.noted(events)

    def arrived(self, t_ns: int, tcp_bytes: int) -> None:
        """So many bytes of the TCP stream had arrived by then. Raises LoadFailed beyond a limit."""
        self._arrivals.write(Arrival(t_ns=t_ns, tcp_bytes=tcp_bytes).to_json() + "\n")
        size_bytes, self._tcp_bytes = tcp_bytes - self._tcp_bytes, tcp_bytes
        if self.limits:
            self.limits.read(size_bytes)

    def begin_load(self) -> None:
        """What is said at the end of reads is said of the last load's."""
        self._waited_ns.clear()

    def waited(self, waited_ns: int | None) -> None:
        """So long had a packet been there when the client read it; None if that is not known."""
        if waited_ns is not None:
            self._waited_ns.append(waited_ns)

    def conclude(self, out: Path, **socket_state: Any) -> None:
        """Write socket.json."""
        waited_ns = sorted(self._waited_ns)
        document = {
            **socket_state,
            "instrument": asdict(self.cost),
            "reads": len(waited_ns),
            "waited_p50_ns": waited_ns[len(waited_ns) // 2] if waited_ns else None,
        }
        (out / "socket.json").write_text(json.dumps(document) + "\n")
