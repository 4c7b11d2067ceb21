"""Cross traffic (CROSS): a place of its own behind the link, whose flows share the bottleneck with the front's.

    client ==== link ==== front
                 |
                 +======= cross

The receiver of the flows is a process in the client's place.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import CrossSample
from priolab.common.process.processes import module, wait_until
from priolab.common.socket_diag import Connections
from priolab.common.timeouts import HELPER_S
from priolab.netem.link import Link
from priolab.netem.shaper import also_from
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.topology.active import ActiveCross
from priolab.testbed.topology.end_settings import CrossTraffic
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.wiring import ADDRESSES, TO_CROSS, wire_cross

JOURNAL = "cross.jsonl"
_PORT = 5201
_WMEM = f"4096 {4 * 2**20} {8 * 2**20}"
_USUAL_INTERVAL_NS = 10**8
_HANDSHAKES = 4  # round trips within which all flows are open, unless packets are lost


@contextmanager
def crossing(
    client: Namespace,
    place: Namespace,
    link: Link,
    traffic: CrossTraffic,
    shaper: Shaper,
    *,
    folder: Path,
    interval_ns: int | None,
) -> Iterator[ActiveCross]:
    """Runs the flows while the context is open. Raises StepFailed.

    client, place: the places of the client and of the link. shaper: the running shaper of the link. folder: for the
    journal of the packets that arrived. interval_ns: the sampling interval of this journal; None for a long one.
    """
    journal = folder / JOURNAL
    name = "the cross traffic"
    with Namespace("cross") as cross:
        wire_cross(place, cross)
        place.portrait.declare_device(TO_CROSS)
        cross.portrait.begin(cross.picture())
        place.run_all(also_from(shaper, link, TO_CROSS))
        cross.write_sysctl("net.ipv4.tcp_no_metrics_save", "1")
        cross.write_sysctl("net.ipv4.tcp_wmem", _WMEM)
        if link.ecn:
            cross.write_sysctl("net.ipv4.tcp_ecn", "1")
        ends = (ADDRESSES.client, str(_PORT))
        receive = (
            *module("priolab.netem.cross"),
            "receive",
            *ends,
            str(interval_ns or _USUAL_INTERVAL_NS),
            str(journal),
        )
        send = (*module("priolab.netem.cross"), "send", *ends, str(traffic.flows), traffic.congestion_control)
        with client.start(f"{name}'s receiver", receive, folder / "cross-receiver.log") as receiver:
            wait_until(journal.exists, HELPER_S, receiver.check_alive, name)
            with cross.start(name, send, folder / "cross-sender.log") as sender:

                def is_open() -> bool:
                    return any(sample.flows == traffic.flows for sample in read_journal(journal, CrossSample))

                patience_s = HELPER_S + _HANDSHAKES * traffic.flows * link.round_trip_ns / 10**9
                wait_until(is_open, patience_s, sender.check_alive, name)
                with cross.entered():
                    connections = Connections()
                with connections:
                    yield ActiveCross(
                        processes=(sender, receiver),
                        carried=partial(place.received, TO_CROSS),
                        sending_us=partial(_sending_us, connections),
                        portrayed=cross.portrayed,
                    )


def _sending_us(connections: Connections) -> Sequence[int]:
    return [flow.busy_us for _, flow in connections.sample(0)]
