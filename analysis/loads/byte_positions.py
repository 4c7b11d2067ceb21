"""Finds where each byte of the TCP stream is when the front's socket is sampled. Pure.

Front and client count positions in the same stream, and TCP keeps the order of its bytes, so five positions are enough:

    bytes up to `arrived`            at the client
    from `arrived` to `far_from`     sent, but neither on the link nor readable: lost, or received behind a lost packet
    from `far_from` to `near_from`   in the bottleneck queue
    from `near_from` to `sent`       in the delay line
    from `sent` to `handed`          unsent in the front's kernel
    bytes behind `handed`            in the front

With cross traffic the parts of the link hold packets of other flows, too. Then the front's bytes on the link are all
that were sent and have not arrived, at most as many as the link holds. Both parts hold the same share of them. So lost
bytes count as on the link.
"""

from dataclasses import dataclass

from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import QueueSample, SocketSample
from priolab.common.packets import unframed


@dataclass(frozen=True, kw_only=True)
class Whereabouts:
    """Positions in the TCP stream at a sample of the front's socket, the largest first.

    handed_bytes, sent_bytes, arrived_bytes: the end of the bytes that the front handed to its kernel, that the kernel
    sent, and that are at the client. near_from_bytes, far_from_bytes: the beginning of the bytes in the delay line,
    and in the bottleneck queue behind it.
    """

    handed_bytes: int
    sent_bytes: int
    near_from_bytes: int
    far_from_bytes: int
    arrived_bytes: int


def whereabouts(sample: SocketSample, layers: Layers) -> Whereabouts:
    """Returns the positions at a sample."""
    sent = sample.sent_bytes
    arrived = min(layers.arrived_bytes(sample), sent)
    in_queue, in_line = _on_link(layers.held(sample.t_ns), sample)
    if layers.cross:
        # Only a part of what the link holds is the front's.
        own_share = min(1.0, (sent - arrived) / max(1, in_queue + in_line))
        in_queue, in_line = round(in_queue * own_share), round(in_line * own_share)
    return Whereabouts(
        handed_bytes=sample.handed_bytes,
        sent_bytes=sent,
        near_from_bytes=max(arrived, sent - in_line),
        far_from_bytes=max(arrived, sent - in_line - in_queue),
        arrived_bytes=arrived,
    )


def _on_link(held: QueueSample | None, sample: SocketSample) -> tuple[int, int]:
    """Returns the bytes of the stream in the bottleneck queue, and those in the delay line."""
    if held is None:
        return 0, 0
    in_queue, in_line = (unframed(size, sample.mss_bytes) for size in (held.bytes, held.delay_line_bytes))
    return round(in_queue), round(in_line)
