"""Starts and ends priority-tuner 1,000 times, and kills it 200 times under load: `make tuner-kills`.

    python -m priolab.extras.tuner.tests.kills [KILLS]

Clients on loopback talk to a server all the time. After each end and each kill, the kernel must have no program, map or
link of the tuner, and no connection may have broken. The next tuner must tune within a second. The table is written to
RELIABILITY.md. Needs root.
"""

import argparse
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from priolab.extras.tuner.tests.service import is_gone, tuning
from priolab.testbed import cgroup
from tests.support.echo import lowat_of, serving, talk
from tests.support.waiting import until
from tools.campaigns.reliability import write

_KILLS, _ENDS_FOR_A_KILL = 200, 5
_CLIENTS = 20


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


class _Trial:
    """Tuners of one cgroup, one after the other. begun_ms: how long each took until it tuned a new connection."""

    def __init__(self, folder: Path, group: Path, port: int) -> None:
        self._folder, self._group, self._port = folder, group, port
        self.begun_ms: list[float] = []
        self.left = self.broken = 0

    def run(self, stop: Callable[..., object], clients: list[socket.socket]) -> None:
        """Start a tuner, and stop it while the clients talk."""
        began = time.monotonic()
        with tuning(self._folder, "--cgroup", self._group, "--quiet") as tuner:
            with _connected(self._port) as client:
                until(lambda: lowat_of(client) > 0)
            self.begun_ms.append((time.monotonic() - began) * 1000)
            held = tuner.objects()
            self._talk(clients)
            stop(tuner)
            self._talk(clients)
            tuner.process.wait()
        try:
            until(lambda: is_gone(held), limit_s=5)
        except AssertionError:
            self.left += 1

    def _talk(self, clients: list[socket.socket]) -> None:
        for client in list(clients):
            try:
                talk(client)
            except (OSError, AssertionError):
                self.broken += 1
                clients.remove(client)

    def row(self, name: str) -> str:
        """Return the row of the table."""
        slow = sum(begun > 1000 for begun in self.begun_ms)
        times = f"{statistics.median(self.begun_ms):.0f} ms | {max(self.begun_ms):.0f} ms | {slow}"
        return f"| {name} | {len(self.begun_ms)} | {self.left} | {self.broken} | {times} |\n"


def main() -> int:
    """Make all trials, and write the table. Return 1 if anything was left, or a connection broke."""
    parser = argparse.ArgumentParser(prog="priolab.extras.tuner.tests.kills", allow_abbrev=False)
    parser.add_argument("kills", nargs="?", type=int, default=_KILLS)
    kills = parser.parse_args().kills
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="priority-tuner-")))
        group = stack.enter_context(cgroup.own_group(f"priolab-tuner-{os.getpid()}"))
        _, port = stack.enter_context(serving(folder, group))
        clients = [stack.enter_context(_connected(port)) for _ in range(_CLIENTS)]
        ended, killed = _Trial(folder, group, port), _Trial(folder, group, port)
        for _ in range(kills):
            for _ in range(_ENDS_FOR_A_KILL):
                ended.run(lambda tuner: tuner.end(), [])
            killed.run(lambda tuner: tuner.process.kill(), clients)
    text = (
        f"{len(ended.begun_ms)} ends and {kills} kills by `make tuner-kills`, with {_CLIENTS} connections; load"
        f" {os.getloadavg()[2]:.0f} on {os.cpu_count()} processors.\n\n"
        "| | tuners | left something | connections broken | median time until it tuned | longest | over a second |\n"
        "|---|---:|---:|---:|---:|---:|---:|\n" + ended.row("ended by SIGTERM") + killed.row("killed by SIGKILL")
    )
    write("tuner", text)
    print(text)
    return int(bool(ended.left or killed.left or killed.broken))


if __name__ == "__main__":
    sys.exit(main())
