"""The grid in which the gain of LOWAT and its price are measured, in the guest; and the law for wake-ups.

Every server of SERVERS at every network of NETWORKS with every value of LOWATS is one run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from priolab import Measure, Run
from priolab.common.amounts import rate
from priolab.common.packets import PACKET_BYTES, SEGMENT_BYTES
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.studies.in_guest import run_in_guest

SERVERS = ("nginx", "h2o", "caddy")
LOWATS = ("none", "524288", "262144", "131072", "65536", "16384", "4096")
ROUND_TRIPS_MS = (5, 50, 200)
RATES: Mapping[str, Mapping[str, str]] = {
    "10mbit": {"SIZE": "4500K"},
    "100mbit": {"SIZE": "6M"},
    "1gbit": {"SIZE": "10M", "SNDBUF": "8M"},
}
"""The rates, each with its knobs: image and script are larger than the send buffer, and a run takes some seconds."""

ALWAYS = {"WINDOW": "256M", "JS_DELAY": "20ms", "RELOADS": "1"}
"""The knobs of all runs. The second load is measured: the first one has made the congestion window large."""

PACKET_BUFFER_BYTES = 45 * SEGMENT_BYTES
"""The most bytes that the kernel puts into a packet buffer: the whole segments in 64 KiB."""

_LEAST_QUEUE = int(KNOBS["QUEUE"].default)
_MB = 10**6
_FILLED = 0.9
"""The part of the link's rate at which the link counts as filled: packets have headers, and TLS records, too."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network of the grid. rate: as in RATE. round_trip_ms: half of it in each direction."""

    rate: str
    round_trip_ms: int

    def knobs(self) -> dict[str, str]:
        """Returns the knobs of the network and of its page. The queue holds what is on its way in a round trip."""
        delay = f"{self.round_trip_ms * 500}us"
        queue = max(_LEAST_QUEUE, round(self.rate_bit_s * self.round_trip_ms / 8000 / PACKET_BYTES))
        return {"RATE": self.rate, "DELAY": delay, "DELAY_UP": delay, "QUEUE": str(queue), **RATES[self.rate], **ALWAYS}

    @property
    def rate_bit_s(self) -> int:
        """The link's rate."""
        rate_bit_s: int = KNOBS["RATE"].parse(self.rate)
        return rate_bit_s

    def __str__(self) -> str:
        return f"{rate(self.rate_bit_s)}, {self.round_trip_ms} ms"


NETWORKS = tuple(Network(rate=name, round_trip_ms=trip_ms) for name in RATES for trip_ms in ROUND_TRIPS_MS)


@dataclass(frozen=True, kw_only=True)
class Price:
    """The gain of a run, and its cost for the front, in the measured load.

    lowat: in bytes; None: unset. first_byte_ms: of the script. wakeups_per_mb: per MB that the server handed to the
    kernel. memory_bytes: the most in the send buffer, bytes on their way included.
    """

    server: str
    network: Network
    lowat: int | None
    first_byte_ms: float
    goodput_bit_s: float
    wakeups_per_mb: float
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A price with a fixed LOWAT, compared with the price of the same server and network with LOWAT unset.

    first_byte: the time of the script's first byte as a part of that with LOWAT unset; memory: likewise. lost: the part
    of the goodput that is lost; less than 0 if there is more. fills: True if the connection with LOWAT unset fills the
    link, so that neither windows nor buffers limit it.
    """

    price: Price
    lowat: int
    first_byte: float
    memory: float
    lost: float
    fills: bool


def compared(found: Sequence[Price]) -> list[Compared]:
    """Compares each price with a fixed LOWAT. found: with the prices with LOWAT unset."""
    unset = {(each.server, each.network): each for each in found if each.lowat is None}
    pairs = [(each, unset[each.server, each.network], each.lowat) for each in found if each.lowat is not None]
    return [
        Compared(
            price=price,
            lowat=lowat,
            first_byte=price.first_byte_ms / other.first_byte_ms,
            memory=price.memory_bytes / other.memory_bytes,
            lost=1 - price.goodput_bit_s / other.goodput_bit_s,
            fills=other.goodput_bit_s >= _FILLED * price.network.rate_bit_s,
        )
        for price, other, lowat in pairs
    ]


def arm(server: str, network: Network, lowat: str) -> Arm:
    """Returns the arm of a server, a network and a LOWAT, as text."""
    name = f"{server}-{network.rate}-{network.round_trip_ms}ms-{lowat}"
    return Arm(name=name, knobs=with_defaults({"SERVER": server, **network.knobs(), "LOWAT": lowat}))


def measure(
    results: Path,
    report: Report,
    *,
    servers: Sequence[str] = SERVERS,
    networks: Sequence[Network] = NETWORKS,
    lowats: Sequence[str] = LOWATS,
) -> list[Price]:
    """Runs the grid in the guest, and returns what each run gained and cost. Raises LabError, also if one is not ok."""
    grid = [(server, network, lowat) for network in networks for server in servers for lowat in lowats]
    runs = run_in_guest("cost", [arm(*point) for point in grid], results, report).check().runs
    return [price(server, network, run) for (server, network, _), run in zip(grid, runs, strict=True)]


def price(server: str, network: Network, run: Run) -> Price:
    """Returns what a run in the guest gained and cost."""
    measured, cost, lowat = run.measures, run.record.measured.cost, run.scenario.lowat
    assert not isinstance(lowat, str), "the grid has no LOWAT=auto"
    first_byte_ms, goodput_bit_s = measured[Measure.FIRST_BYTE], measured[Measure.GOODPUT]
    assert first_byte_ms is not None
    assert goodput_bit_s is not None
    assert cost is not None, "in the guest every load has its costs"
    assert cost.wakeups is not None
    assert cost.handed_bytes
    assert cost.memory_most_bytes is not None
    return Price(
        server=server,
        network=network,
        lowat=lowat,
        first_byte_ms=first_byte_ms,
        goodput_bit_s=goodput_bit_s,
        wakeups_per_mb=cost.wakeups * _MB / cost.handed_bytes,
        memory_bytes=cost.memory_most_bytes,
    )


def law(lowat: int) -> float:
    """Returns the wake-ups per MB with a LOWAT: one whenever the unsent bytes fall below half of LOWAT.

    A server that fills whole packet buffers stops at the first one with which at least LOWAT bytes are unsent.
    """
    return _MB / (_filled_bytes(lowat) - lowat / 2)


def law_of_whole_buffers(lowat: int) -> float:
    """Returns the wake-ups per MB if the kernel sends whole packet buffers, as at high rates.

    Then the unsent bytes fall below half of LOWAT when a buffer leaves, so perhaps far below it.
    """
    left = ceil(lowat / 2 / PACKET_BUFFER_BYTES) - 1
    return _MB / (_filled_bytes(lowat) - left * PACKET_BUFFER_BYTES)


def _filled_bytes(lowat: int) -> int:
    return PACKET_BUFFER_BYTES * ceil(lowat / PACKET_BUFFER_BYTES)
