"""Samples the TCP sockets of the hosts, and reads the journal of the link's queue.

While nothing changes samples are further and further apart, up to ten seconds, so that hours of waiting cost little.
The next packet brings the samples back to their interval.
"""

import json
import selectors
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Self

from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import QueueSample
from priolab.common.socket_diag import Connections
from priolab.testbed.topology.active import Look
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.packet_socket import ALL_PACKETS, packet_socket
from priolab.testbed.topology.topology import WIRE

_QUIET = 100
"""Samples without a change, after which they may be further apart."""
_LONGEST_NS = 10**10


class SocketJournal:
    """Writes a line for each TCP connection of the hosts at each interval. A context manager.

    unchanged: how many samples in a row, up to the last, found what the one before them had found.
    """

    def __init__(self, hosts: Mapping[str, Namespace], file: Path, interval_ns: int, *, ipv6: bool = False) -> None:
        """hosts: by name. file: for the lines. ipv6: True if they have IPv6, too."""
        self._ipv6 = ipv6
        self._hosts = hosts
        self._file = file
        self._interval_ns = interval_ns
        self._next_ns = 0
        self._last: list[tuple[object, ...]] = []
        self.unchanged = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._lines = stack.enter_context(self._file.open("w"))
            self._sockets: dict[str, Connections] = {}
            for name, host in self._hosts.items():
                with host.entered():
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
        seen: list[tuple[object, ...]] = []
        for host, sockets in self._sockets.items():
            for port, sample in sockets.sample(now_ns):
                fields = asdict(sample)
                self._lines.write(json.dumps({"place": host, "port": port, **fields}) + "\n")
                seen.append((host, port, *(value for name, value in fields.items() if name != "t_ns")))
        self.unchanged = self.unchanged + 1 if seen == self._last else 0
        self._last = seen
        return self._next_ns


class Pace:
    """The times of the samples and of the link's rate steps: a function that looks, and tells when to look again."""

    def __init__(
        self,
        journal: SocketJournal,
        looks: Sequence[Look],
        hosts: Iterable[Namespace],
        selector: selectors.BaseSelector,
        steps_ns: Iterable[int],
    ) -> None:
        """looks: those that are called at each sample, the journal's among them. hosts: whose packets count.

        selector: wakes this process when one of its descriptors is readable, and calls its data then. steps_ns: times
        at which to look in any case.
        """
        self._journal = journal
        self._looks = looks
        self._hosts = hosts
        self._selector = selector
        self._steps_ns = sorted(steps_ns)
        self._taps: list[socket.socket] = []
        self._pause_ns = self._due_ns = 0

    def look(self, now_ns: int) -> int:
        """Calls the functions that look, if it is time; returns when to look again."""
        if now_ns < self._due_ns:
            return self._due_ns
        due_ns = min(at_ns for look in self._looks if (at_ns := look(now_ns)) is not None)
        if self._journal.unchanged < _QUIET:
            self._listen(on=False)
            self._pause_ns = due_ns - now_ns
        elif self._taps:
            self._pause_ns = min(2 * self._pause_ns, max(_LONGEST_NS, due_ns - now_ns))
            due_ns = now_ns + self._pause_ns
        else:
            self._listen(on=True)
        self._due_ns = min([due_ns, *(at_ns for at_ns in self._steps_ns if at_ns > now_ns)])
        return self._due_ns

    def _listen(self, *, on: bool) -> None:
        """Begins to wait for packets of the hosts, or ends it."""
        for tap in self._taps:
            self._selector.unregister(tap)
            tap.close()
        self._taps = []
        for host in self._hosts if on else ():
            tap = packet_socket(host, socket.SOCK_DGRAM)
            tap.bind((WIRE, ALL_PACKETS))
            self._taps.append(tap)
            self._selector.register(tap, selectors.EVENT_READ, self._wake)

    def _wake(self) -> None:
        """Goes on at the interval."""
        if self._taps:
            self._listen(on=False)
            self._journal.unchanged = 0
            self._due_ns = 0


def longest_queue(journal: Path) -> int | None:
    """Returns the most packets that the bottleneck toward the client held at a sample; None without a journal."""
    if not journal.exists():
        return None
    return max((each.packets for each in read_journal(journal, QueueSample) if each.direction == "down"), default=0)
