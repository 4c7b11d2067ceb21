"""Measures the front's processor time on this machine's clocks, with h2load as the client.

    client ==== link (tbf, no delay) ==== front

All servers are started once (real_fronts.py). All measurements, of each server with each number of connections and each
LOWAT, are in one random order, several times. Only ratios are compared: processor times depend on the machine, and on
what else it does.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median

from priolab import StepFailed, Unavailable
from priolab.common.process.processes import die_with_parent
from priolab.common.process.search_path import find, program_environment
from priolab.common.running import ProgramFailed, finished
from priolab.experiments.commands.console import Report
from priolab.experiments.hosts.real_fronts import ENDS, FIRST_PORT, LOWAT_SYSCTL, LOWAT_UNSET, fronts, places
from priolab.proxy.counters import FrontCounters
from priolab.testbed import Namespace

CONNECTIONS: Mapping[int, int] = {1: 64_000_000, 64: 1_500_000, 1000: 200_000}
"""The numbers of connections, each with the size of the file that every connection requests, in bytes."""

LOWATS = (None, 131_072, 65_536, 16_384, 4096)
RATE = "500mbit"
REPEAT = 3
_STEP = "processor time"
_SHAPER = f"qdisc add dev {ENDS.wire('client').device} root tbf rate {RATE} burst 256k limit 64m"
_SEED = 1
_LIMIT_S = 60.0
_MB = 10**6
_TIME = re.compile(r"finished in (?P<time>[\d.]+)(?P<unit>us|ms|s|m|h)\b")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, kw_only=True)
class Point:
    """A measurement to make. lowat: in bytes; None: unset."""

    server: str
    connections: int
    lowat: int | None


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The expense of a front in a measurement. cpu_ms: per MB of the files. goodput_bit_s: of all connections."""

    cpu_ms: float
    goodput_bit_s: float


@dataclass(frozen=True, kw_only=True)
class Spending:
    """The results of all measurements. load: the mean number of processes that wanted to run (getloadavg(3)).

    processors: how many this machine has.
    """

    by_point: Mapping[Point, Sequence[Spent]]
    load: float
    processors: int

    def cpu_ms(self, point: Point) -> float:
        """Returns the median of the front's processor time per MB."""
        return median(each.cpu_ms for each in self.by_point[point])

    def ratio(self, point: Point) -> float:
        """Returns the processor time as a multiple of that with LOWAT unset."""
        return self.cpu_ms(point) / self.cpu_ms(replace(point, lowat=None))

    def goodput_bit_s(self, point: Point) -> float:
        """Returns the median of the goodput."""
        return median(each.goodput_bit_s for each in self.by_point[point])


def measure(
    servers: Sequence[str],
    folder: Path,
    report: Report,
    *,
    connections: Sequence[int] = tuple(CONNECTIONS),
    lowats: Sequence[int | None] = LOWATS,
    repeat: int = REPEAT,
) -> Spending:
    """Makes all measurements. folder: for the servers' files. Raises LabError, Unavailable if they cannot be made."""
    if not (h2load := find("h2load")):
        raise Unavailable(_STEP, "h2load is not installed", "run `apt-get install nghttp2-client`")
    if os.geteuid() != 0:
        raise Unavailable(_STEP, "only root can read the processor time of servers behind a link here", "run as root")
    points = [Point(server=s, connections=c, lowat=w) for s in servers for c in connections for w in lowats]
    order = points * repeat
    Random(_SEED).shuffle(order)
    found: dict[Point, list[Spent]] = {point: [] for point in points}
    loads = [os.getloadavg()[0]]
    files = {str(count): size_bytes for count, size_bytes in CONNECTIONS.items()}
    with places() as made, fronts(servers, folder, made.front, files) as counters:
        made.link.run(["tc", *_SHAPER.split()])

        def measured(point: Point) -> Spent:
            port = FIRST_PORT + servers.index(point.server)
            return _measured(point, made.client, counters[point.server], h2load, port)

        for point in points:
            if point.lowat is None:  # the first reading of a file costs more
                measured(point)
        for number, point in enumerate(order, start=1):
            if number % len(points) == 1:
                report.say(f"processor time: measurement {number} of {len(order)}")
            made.front.write_sysctl(LOWAT_SYSCTL, LOWAT_UNSET if point.lowat is None else str(point.lowat))
            found[point].append(measured(point))
            loads.append(os.getloadavg()[0])
    return Spending(by_point=found, load=sum(loads) / len(loads), processors=os.cpu_count() or 1)


def _measured(point: Point, client: Namespace, counters: FrontCounters, h2load: str, port: int) -> Spent:
    """Has h2load request the file once over each connection. Raises StepFailed."""
    url = f"https://{ENDS.wire('front').address}:{port}/{point.connections}"
    count = str(point.connections)
    before = counters.read(1).counts.cpu_ns
    said = _said(client, [h2load, "-n", count, "-c", count, "-m", "1", url])
    after = counters.read(2).counts.cpu_ns
    if f" {count} succeeded" not in said:
        raise StepFailed(_STEP, f"h2load did not get all of {count} files from {point.server}: {said.strip()[-300:]}")
    if before is None or after is None:
        raise StepFailed(_STEP, f"a process of {point.server} ended meanwhile")
    size_bytes = point.connections * CONNECTIONS[point.connections]
    return Spent(
        cpu_ms=(after - before) / 10**6 / (size_bytes / _MB),
        goodput_bit_s=size_bytes * 8 / finished_in_s(said),
    )


def _said(client: Namespace, command: Sequence[str]) -> str:
    """Runs h2load, which ends with this process, and returns its output. Raises StepFailed."""
    try:
        with client.entered():
            return finished(command, _LIMIT_S, environment=program_environment(), begin=die_with_parent).checked().out
    except ProgramFailed as error:
        raise StepFailed(_STEP, str(error)) from None


def finished_in_s(said: str) -> float:
    """Returns the time that all requests took, from what h2load says. Raises StepFailed."""
    if (found := _TIME.search(said)) is None:
        raise StepFailed(_STEP, f"h2load does not say how long it took: {said.strip()[-300:]}")
    return float(found["time"]) * _SECONDS[found["unit"]]
