"""Writes the client's files: events.jsonl and arrivals.jsonl line by line, socket.json at the end."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, TextIO

from priolab.client.limits import Limits
from priolab.common.cost import Cost
from priolab.common.descriptors import read_beginning
from priolab.common.formats.events import Arrival, Event


class Journal:
    """The files events.jsonl and arrivals.jsonl of a connection, open for writing.

    cost: the time that the client has spent on handling and recording events. limits: the limits on what the front may
    make the current load record; None before the first load, and while the last events of a failed load are recorded.
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
        """Yields a Journal that writes its files into the folder `out`. Raises OSError."""
        with (out / "events.jsonl").open("w") as events, (out / "arrivals.jsonl").open("w") as arrivals:
            yield cls(events, arrivals)

    def add(self, events: Sequence[Event]) -> None:
        """Records events. Raises LoadFailed if the load exceeds a limit."""
        self._events.writelines(event.to_json() + "\n" for event in events)
        if self.limits:
            self.limits.noted(events)

    def arrived(self, t_ns: int, tcp_bytes: int) -> None:
        """Records that tcp_bytes of the TCP stream had arrived by t_ns. Raises LoadFailed if a limit is exceeded."""
        self._arrivals.write(Arrival(t_ns=t_ns, tcp_bytes=tcp_bytes).to_json() + "\n")
        size_bytes, self._tcp_bytes = tcp_bytes - self._tcp_bytes, tcp_bytes
        if self.limits:
            self.limits.read(size_bytes)

    def begin_load(self) -> None:
        """Discards the waiting times of the previous load: socket.json has only those of the last load."""
        self._waited_ns.clear()

    def waited(self, waited_ns: int | None) -> None:
        """Records how long a packet waited in the kernel until the client read it; None if unknown."""
        if waited_ns is not None:
            self._waited_ns.append(waited_ns)

    def conclude(self, out: Path, **socket_state: Any) -> None:
        """Writes socket.json into the folder `out`. socket_state: further keys of the file. Raises OSError."""
        waited_ns = sorted(self._waited_ns)
        document = {
            **socket_state,
            "instrument": asdict(self.cost),
            "reads": len(waited_ns),
            "waited_p50_ns": waited_ns[len(waited_ns) // 2] if waited_ns else None,
            "waited_p90_ns": waited_ns[len(waited_ns) * 9 // 10] if waited_ns else None,
            "waited_longest_ns": waited_ns[-1] if waited_ns else None,
            "run_delay_ns": _run_delay_ns(),
        }
        (out / "socket.json").write_text(json.dumps(document) + "\n")


def _run_delay_ns() -> int | None:
    """Returns how long this process was ready to run and had no processor; None if the kernel does not tell."""
    told = read_beginning("/proc/self/schedstat").split()
    return int(told[1]) if told else None
