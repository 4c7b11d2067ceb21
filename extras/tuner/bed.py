"""Measures the tuner's values on this machine's clocks, where the rates are known: `make tuner-bed`, as root.

    client ==== a class of HTB for each connection ==== a server that always has data (bed_writer.py)

Rules:
1. Each connection has a class of HTB with a known rate, and a queue. So the law's value is known: by rate x target.
2. Each arm has new namespaces, a new server and a new tuner: the law alone, or with the rules of caution.h.
3. All samples of an arm count, also those of slow start. They are taken at even intervals, so that shares of samples
   are shares of time.
4. build/bed/ARM/ gets `decisions.jsonl`, and `samples.txt` with the lines of bed_writer.py.
"""

import os
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from priolab.analysis.reports.markdown import Table
from priolab.common.errors import LabError, StepFailed, Unavailable
from priolab.common.formats.decisions import writing
from priolab.common.home import ROOT
from priolab.common.packets import PACKET_BUFFER_BYTES
from priolab.common.process.processes import ProcessSettings
from priolab.experiments.hosts.real_fronts import ENDS, FIRST_PORT, FRONT_ADDRESS, Places, places
from priolab.extras.tuner import bed_writer
from priolab.extras.tuner.scale_trials import FIRST_CLIENT_PORT, Group, shape
from priolab.proxy.tuner.in_kernel import InKernel, Rule
from priolab.proxy.tuner.libbpf import CannotTune
from priolab.testbed import cgroup

CROWD = Group(name="bed", count=10, rate="20mbit", file_bytes=0, queue_packets=200)
RATE_BYTES_S = 20_000_000 / 8 * 1448 / 1514
"""A connection's rate of payload: of each packet's 1514 bytes, as HTB counts them, 1448 are."""

ARMS = {"the law alone": Rule(), "with caution": Rule(cautious=True)}
DURATION_S = 25.0
_STEP = "the tuner's bed"
_LOOK_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample of a connection. lowat_bytes: 0 if no value is set."""

    lowat_bytes: int
    unsent_bytes: int

    @property
    def expected_s(self) -> float:
        """The longest time that a byte stays unsent with this value."""
        return (self.lowat_bytes + PACKET_BUFFER_BYTES) / RATE_BYTES_S

    @property
    def wait_s(self) -> float:
        """The time that the unsent bytes take to send."""
        return self.unsent_bytes / RATE_BYTES_S


def law_bytes(rule: Rule) -> float:
    """Returns the law's value at the link's rate, which is above its floor."""
    return RATE_BYTES_S * rule.target_us / 10**6 - PACKET_BUFFER_BYTES


def read(text: str) -> Sequence[Sample]:
    """Reads the lines of bed_writer.py, without a last one that was cut off."""
    rows = [[int(word) for word in line.split()] for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [Sample(lowat_bytes=row[2], unsent_bytes=row[3]) for row in rows]


def table(found: dict[str, Sequence[Sample]]) -> Table:
    """Returns a line for each arm: medians and 99th percentiles, and the shares of time above twice the law."""
    rows = []
    for arm, samples in found.items():
        twice_bytes, twice_s = 2 * law_bytes(ARMS[arm]), 2 * ARMS[arm].target_us / 10**6
        above = sum(one.lowat_bytes > twice_bytes for one in samples) / len(samples)
        waited = sum(one.wait_s > twice_s for one in samples) / len(samples)
        rows.append(
            (
                arm,
                _both(samples, lambda one: one.lowat_bytes / 1000, "KB"),
                _both(samples, lambda one: one.expected_s * 1000, "ms"),
                _both(samples, lambda one: one.wait_s * 1000, "ms"),
                f"{above:.1%}",
                f"{waited:.1%}",
            )
        )
    head = ("tuner", "LOWAT:", "expected wait:", "measured wait:", "LOWAT above twice the law's:")
    return Table(head=(*head, "wait above twice the target:"), rows=tuple(rows))


def _both(samples: Sequence[Sample], value: Callable[[Sample], float], unit: str) -> str:
    numbers = [value(one) for one in samples]
    return f"{median(numbers):.0f}, {quantiles(numbers, n=100)[-1]:.0f} {unit}"


def measure(rule: Rule, folder: Path, duration_s: float = DURATION_S) -> Sequence[Sample]:
    """Measures an arm, with its files in the folder. Raises LabError, CannotTune, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    log, decisions = folder / "samples.txt", folder / "decisions.jsonl"
    decisions.unlink(missing_ok=True)
    with ExitStack() as stack:
        made = stack.enter_context(places())
        shape(made, [CROWD])
        group = stack.enter_context(cgroup.own_group(f"priolab-bed-{os.getpid()}"))
        note = stack.enter_context(writing(decisions))
        tuner = stack.enter_context(InKernel(group, rule, note))
        where = FRONT_ADDRESS, str(FIRST_PORT), str(CROWD.count)
        command = [sys.executable, "-m", bed_writer.__name__, *where]
        server = stack.enter_context(made.front.start("the server", command, log, ProcessSettings(cgroup=group)))
        clients = stack.enter_context(_clients(made))
        end = time.monotonic() + duration_s
        while time.monotonic() < end:
            _read(clients)
            tuner.look(0)
            server.check_alive()
        server.stop()
    return read(log.read_text())


@contextmanager
def _clients(made: Places) -> Iterator[Sequence[socket.socket]]:
    """Connects all clients. Each has the port that is the number of its class."""
    own = ENDS.wire("client").address
    with ExitStack() as stack:
        with made.client.entered():
            clients = [
                stack.enter_context(_connected((own, port)))
                for port in range(FIRST_CLIENT_PORT, FIRST_CLIENT_PORT + CROWD.count)
            ]
        yield clients


def _connected(own: tuple[str, int]) -> socket.socket:
    end = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection((FRONT_ADDRESS, FIRST_PORT), source_address=own, timeout=5)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(_LOOK_S)


def _read(clients: Sequence[socket.socket]) -> None:
    """Reads what comes within a short time. Raises StepFailed if the server has closed a connection."""
    end = time.monotonic() + _LOOK_S
    while (left_s := end - time.monotonic()) > 0:
        for client in select.select(clients, [], [], left_s)[0]:
            if not client.recv(1 << 18):
                raise StepFailed(_STEP, "the server closed a connection")


def main() -> int:
    """Measures all arms and prints the table."""
    try:
        if os.geteuid() != 0:
            raise Unavailable(_STEP, "only root can start the tuner in the kernel", "run as root")
        folder = ROOT / "build" / "bed"
        found = {arm: measure(rule, folder / arm.replace(" ", "-")) for arm, rule in ARMS.items()}
    except (LabError, CannotTune, OSError) as error:
        print(f"make tuner-bed: {error}", file=sys.stderr)
        return 1
    print(f"median, 99th percentile; by the law LOWAT is {law_bytes(Rule()) / 1000:.0f} KB at the links' rate")
    print(table(found).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
