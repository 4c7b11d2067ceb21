"""Shapes the link for SHAPER_AT=front: the bottleneck is on the front's own wire (netem/sender_bottleneck.py).

No real network has its bottleneck at the sender's own interface.
"""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from priolab.experiments.scenario.scenario import Scenario, ShaperAt
from priolab.netem import link_probe, sender_bottleneck, tc
from priolab.netem.link import Link
from priolab.netem.queue_journal import Qdiscs, QueueJournal
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.errors import InvalidRun, Unavailable
from priolab.testbed.topology.active import ActiveLink
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.wiring import TO_CLIENT, TO_FRONT, WIRE


@contextmanager
def shaping(
    front: Namespace, middle: Namespace, link: Link, folder: Path, interval_ns: int | None
) -> Iterator[ActiveLink]:
    """Puts the bottleneck on the front's wire, and the rest of the link into the link's place. Raises StepFailed.

    front, middle: the places of the front and of the link. folder: for the journal of the queue. interval_ns: the
    interval of the queue's samples; None for no samples.
    """
    gate, rest = sender_bottleneck.gate(link, WIRE), sender_bottleneck.rest(link, TO_CLIENT, TO_FRONT)
    front.run_all(gate)
    middle.run_all(rest)

    def counters() -> Mapping[str, Any]:
        found = json.loads(middle.run(tc.COUNTERS))
        return {
            "front": [qdisc for qdisc in json.loads(front.run(tc.COUNTERS)) if qdisc["dev"] == WIRE],
            "down": [qdisc for qdisc in found if qdisc["dev"] == TO_CLIENT],
            "up": [qdisc for qdisc in found if qdisc["dev"] == TO_FRONT],
        }

    with front.entered():
        at_front = Qdiscs()
    with middle.entered():
        places = (at_front, Qdiscs())
    stages = sender_bottleneck.stages(link, WIRE, TO_CLIENT, TO_FRONT)
    with QueueJournal(stages, places, folder / "queue.jsonl", interval_ns) as queues:
        yield ActiveLink(
            shaper=Shaper.NETEM,
            instead_of_netem=None,
            pid=None,
            commands=gate + rest,
            check_alive=lambda: None,
            counters=counters,
            carried=partial(middle.received, TO_FRONT),
            look=queues.look,
            begin=lambda _: None,
            in_batches=queues,
        )


def make_room(far: socket.socket, link: Link) -> None:
    """Enlarges the send buffer of `far`, the front's calibration socket, so that its packets can fill the queue.

    Raises Unavailable.
    """
    try:
        link_probe.make_room(far, link)
    except PermissionError:
        reason = "the packets that fill this queue do not fit into the largest send buffer that this user may have"
        remedy = "use a smaller QUEUE or FABRIC=virtual, or run as root"
        raise Unavailable(f"SHAPER_AT=front with QUEUE={link.queue_packets}", reason, remedy) from None


def observed_at(counters: Mapping[str, Any]) -> ShaperAt:
    """Returns the place that had the bottleneck, as the link's counters show it.

    This is the front if the counters show that packets passed a tbf on the front's wire; otherwise the link.
    """
    gates = [qdisc for qdisc in counters.get("front", []) if qdisc["kind"] == "tbf" and qdisc["packets"]]
    return ShaperAt.FRONT if gates else ShaperAt.LINK


def check_at(scenario: Scenario, counters: Mapping[str, Any]) -> None:
    """Checks that the bottleneck was at the requested place, with the requested rate. Raises InvalidRun."""
    if (found := observed_at(counters)) is not scenario.shaper_at:
        raise InvalidRun("the place of the bottleneck", str(scenario.shaper_at), str(found))
    if found is ShaperAt.FRONT:
        (rate_bit_s,) = (qdisc["options"]["rate"] * 8 for qdisc in counters["front"] if qdisc["kind"] == "tbf")
        if rate_bit_s != (asked := (scenario.link.rate_bit_s or 0) // 8 * 8):
            raise InvalidRun("the rate of the front's own egress, in bit/s", asked, rate_bit_s)
