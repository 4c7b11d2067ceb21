"""Samples the TCP sockets of the places, and reads the journal of the link's queue."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Self

from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import QueueSample
from priolab.experiments.testbed.namespaces.namespace import Namespace
from priolab.proxy.socket_diag import Connections


class SocketJournal:
    """Writes a line for each TCP connection of the places at each interval. A context manager."""

    def __init__(self, places: Mapping[str, Namespace], file: Path, interval_ns: int, *, ipv6: bool = False) -> None:
        """places: the places by name. file: for the lines. ipv6: True if they have IPv6, too."""
        self._ipv6 = ipv6
        self._places = places
        self._file = file
        self._interval_ns = interval_ns
        self._next_ns = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._lines = stack.enter_context(self._file.open("w"))
            self._sockets: dict[str, Connections] = {}
            for name, place in self._places.items():
                with place.entered():
                    self._sockets[name] = stack.enter_context(Connections(ipv6=self._ipv6))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def look(self, now_ns: int) -> int:
        """Takes a sample if one is due; returns the time of the next one."""
        if now_ns < self._next_ns:
            return self._next_ns
        self._next_ns = max(self._next_ns, now_ns) + self._interval_ns
        for place, sockets in self._sockets.items():
            for port, sample in sockets.sample(now_ns):
                self._lines.write(json.dumps({"place": place, "port": port, **asdict(sample)}) + "\n")
        return self._next_ns


def longest_queue(journal: Path) -> int | None:
    """Returns the most packets that the bottleneck toward the client held at a sample; None without a journal."""
    if not journal.exists():
        return None
    return max((each.packets for each in read_journal(journal, QueueSample) if each.direction == "down"), default=0)
