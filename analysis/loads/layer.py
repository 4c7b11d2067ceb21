"""The layers in which the first byte of the focal resource waits."""

from enum import StrEnum


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
