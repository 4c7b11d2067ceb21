"""Cross traffic: a place of its own behind a link, whose flows share the bottleneck with those of the far end.

    near end ==== link ==== far end
                   |
                   +======= cross

The receiver of the flows is a process in the place of the near end.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import CrossSample
from priolab.common.process.processes import module, wait_until
from priolab.common.socket_diag import Connections
from priolab.common.timeouts import HELPER_S
from priolab.netem.shaper import also_from
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.topology.active import ActiveCross
from priolab.testbed.topology.end_settings import ECN, ECN_ON, WMEM
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.topology import Topology
from priolab.testbed.topology.wiring import connect

JOURNAL = "cross.jsonl"
_PORT = 5201
_WMEM = f"4096 {4 * 2**20} {8 * 2**20}"
_USUAL_INTERVAL_NS = 10**8
_HANDSHAKES = 4  # round trips within which all flows are open, unless packets are lost


@contextmanager
def crossing(
    topology: Topology,
    hosts: Mapping[str, Namespace],
    shaper: Shaper,
    *,
    folder: Path,
    interval_ns: int | None,
) -> Iterator[ActiveCross]:
    """Runs the flows of a topology, which must have some, while the context is open. Raises StepFailed.

    hosts: those of the topology. shaper: the running shaper of the link. folder: for the journal of the packets that
    arrived. interval_ns: the sampling interval of this journal; None for a long one.
    """
    journal = folder / JOURNAL
    name = "the cross traffic"
    cross = topology.cross
    assert cross is not None, "the caller has looked"
    traffic, device, place = cross.traffic, cross.wire.device, hosts[cross.wire.router]
    link, client = topology.links[cross.wire.router].link, hosts[cross.receiver]
    with Namespace(cross.wire.host) as sending:
        connect(cross.wire, place, sending)
        place.portrait.declare_device(device)
        sending.portrait.begin(sending.picture())
        place.run_all(also_from(shaper, link, device))
        sending.write_sysctl("net.ipv4.tcp_no_metrics_save", "1")
        sending.write_sysctl(WMEM, _WMEM)
        if link.ecn:
            sending.write_sysctl(ECN, ECN_ON)
        ends = (topology.wire(cross.receiver).address, str(_PORT))
        receive = (
            *module("priolab.netem.cross"),
            "receive",
            *ends,
            str(interval_ns or _USUAL_INTERVAL_NS),
            str(journal),
        )
        send = (*module("priolab.netem.cross"), "send", *ends, str(traffic.flows), traffic.congestion_control)
        with client.start(f"{name}'s receiver", receive, folder / "cross-receiver.log") as received:
            wait_until(journal.exists, HELPER_S, received.check_alive, name)
            with sending.start(name, send, folder / "cross-sender.log") as sender:

                def is_open() -> bool:
                    return any(sample.flows == traffic.flows for sample in read_journal(journal, CrossSample))

                patience_s = HELPER_S + _HANDSHAKES * traffic.flows * link.round_trip_ns / 10**9
                wait_until(is_open, patience_s, sender.check_alive, name)
                with sending.entered():
                    connections = Connections()
                with connections:
                    yield ActiveCross(
                        processes=(sender, received),
                        carried=partial(place.received, device),
                        sending_us=partial(_sending_us, connections),
                        portrayed=sending.portrayed,
                    )


def _sending_us(connections: Connections) -> Sequence[int]:
    return [flow.busy_us for _, flow in connections.sample(0)]
