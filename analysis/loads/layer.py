"""The layers in which the first byte of the focal resource waits."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Layer(StrEnum):
    """The layers, which are also the parts of the first byte's wait. analysis/loads/ledger.py explains each layer."""

    SECOND = "second_front"
    SECOND_UNSENT = "second_unsent"
    BETWEEN_QUEUE = "between_queue"
    BETWEEN = "between_propagation"
    PENDING = "front_pending"
    COMMITTED = "front_committed"
    SERVICE = "front_service"
    FLOW = "flow_control"
    UNSENT = "kernel_unsent"
    RECEIVE_WINDOW = "receive_window"
    QUEUE = "bottleneck_queue"
    CROSS = "cross_traffic"
    PROPAGATION = "propagation"
    RECOVERY = "recovery"
    RECORD = "tls_record"
    UNEXPLAINED = "unexplained"

    @property
    def words(self) -> str:
        """A phrase that can follow "waited 0.3 s"."""
        return _WORDS[self]


_WORDS: Mapping[Layer, str] = MappingProxyType(
    {
        Layer.SECOND: "in the second front",
        Layer.SECOND_UNSENT: "unsent in the second front's kernel",
        Layer.BETWEEN_QUEUE: "in the queue between the fronts",
        Layer.BETWEEN: "in propagation between the fronts",
        Layer.PENDING: "in the front, still reorderable",
        Layer.COMMITTED: "in the front's output queue",
        Layer.SERVICE: "in the front while its server was at work",
        Layer.FLOW: "for the client's flow-control window",
        Layer.UNSENT: "unsent in the kernel",
        Layer.RECEIVE_WINDOW: "for the client's receive window",
        Layer.QUEUE: "in the bottleneck queue",
        Layer.CROSS: "behind packets of other flows in the bottleneck",
        Layer.PROPAGATION: "in propagation",
        Layer.RECOVERY: "for retransmissions",
        Layer.RECORD: "for its TLS record to be complete",
        Layer.UNEXPLAINED: "unexplained",
    }
)
