"""The link of a run as the ledger sees it: how long a packet takes, and how many packets may wait. Pure."""

from dataclasses import dataclass
from typing import Self

from priolab.analysis.loads.estimate import Estimate
from priolab.analysis.records.rate import Rate, TraceRate
from priolab.analysis.records.runs import Layers
from priolab.common.formats.scenario import FIFO, ScenarioRecord
from priolab.common.packets import PACKET_BYTES


@dataclass(frozen=True, kw_only=True)
class Pipe:
    """The link of a run, toward the client.

    rate: None if it is unlimited. delay: with JITTER and REORDER packets have different delays. most_bytes: the most
    bytes in the bottleneck and of the packet that enters next; None if unknown, because the bottleneck does not hold
    packets in a single queue.
    """

    rate: Rate | None
    delay: Estimate
    most_bytes: int | None

    @classmethod
    def of(cls, scenario: ScenarioRecord, began_ns: int) -> Self:
        """Returns the link of a scenario. began_ns: the start of the measured load."""
        delay_ns = scenario.delay_ns
        return cls(
            rate=Rate.of(scenario, began_ns),
            delay=Estimate(ns=delay_ns, least_ns=scenario.shortest_delay_ns, most_ns=delay_ns + scenario.jitter_ns),
            most_bytes=scenario.most_queue_bytes + PACKET_BYTES if scenario.qdisc == FIFO else None,
        )

    def transmission_ns(self, frame_bytes: float, until_ns: int) -> int:
        """Returns the transmission time of a packet of `frame_bytes` whose transmission ends at `until_ns`."""
        return 0 if self.rate is None else max(0, round(until_ns - self.rate.begun_ns(until_ns, frame_bytes)))

    def own(self, packet_bytes: float, least_bytes: float, arrived_ns: int) -> Estimate:
        """Returns the delay and transmission time of a packet.

        packet_bytes, least_bytes: the packet's probable and its least size, as a frame. A trace sends a packet at an
        instant, so its packets have no shortest transmission time.
        """
        packet_ns = self.transmission_ns(packet_bytes, arrived_ns)
        least_ns = 0 if isinstance(self.rate, TraceRate) else self.transmission_ns(least_bytes, arrived_ns)
        return self.delay.plus(Estimate(ns=packet_ns, least_ns=least_ns, most_ns=packet_ns))

    def through_ns(self, begins_ns: int, frames_bytes: float) -> int:
        """Returns when `frames_bytes` are transmitted if their transmission begins at `begins_ns`."""
        return begins_ns if self.rate is None else round(self.rate.through_ns(begins_ns, frames_bytes))

    def longest_queue_ns(self, until_ns: int) -> int | None:
        """Returns the longest wait in the bottleneck of a packet that leaves it at `until_ns`; None if unknown."""
        if self.rate is None:
            return 0
        return None if self.most_bytes is None else self.transmission_ns(self.most_bytes, until_ns)

    def cross_ns(self, layers: Layers, from_ns: int, until_ns: int) -> int:
        """Returns the transmission time of the cross traffic that left the link between two instants."""
        if not layers.cross:
            return 0
        return self.through_ns(from_ns, layers.cross_packets(from_ns, until_ns) * PACKET_BYTES) - from_ns
