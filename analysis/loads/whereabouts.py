"""The places of a TCP stream's bytes at a sample of the front's socket, as positions in the stream. Pure.

Both ends count the same stream, and TCP keeps its order, so five positions are enough. Bytes up to `arrived` are at the
client. Bytes up to `far_from` were sent, and are neither on the link nor readable: lost, or behind a loss. Bytes up to
`near_from` are on the link's farther stage, up to `sent` on its nearer one, up to `handed` unsent in the front's
kernel. The rest is in the front.

The link's stages are the delay line and the bottleneck queue. Seen from the front the delay line is the nearer one,
unless the link is shaped on the front's own egress.
"""

from dataclasses import dataclass

from analysis.records.runs import Layers
from common.formats.samples import QueueSample, SocketSample
from common.packets import unframed


@dataclass(frozen=True, kw_only=True)
class Whereabouts:
    """Positions in the TCP stream, none larger than the one before it."""

    handed_bytes: int
    sent_bytes: int
    near_from_bytes: int
    far_from_bytes: int
    arrived_bytes: int


def whereabouts(sample: SocketSample, layers: Layers, *, queue_first: bool) -> Whereabouts:
    """The positions at a sample. queue_first: the bottleneck queue is the nearer stage."""
    sent = sample.sent_bytes
    arrived = min(layers.arrived_bytes(sample), sent)
    in_queue, in_line = _on_link(layers.held(sample.t_ns), sample)
    return Whereabouts(
        handed_bytes=sample.handed_bytes,
        sent_bytes=sent,
        near_from_bytes=max(arrived, sent - (in_queue if queue_first else in_line)),
        far_from_bytes=max(arrived, sent - in_line - in_queue),
        arrived_bytes=arrived,
    )


def _on_link(held: QueueSample | None, sample: SocketSample) -> tuple[int, int]:
    """Bytes of the stream in the bottleneck and in the delay line."""
    if held is None:
        return 0, 0
    in_queue, in_line = (unframed(size, sample.mss_bytes) for size in (held.bytes, held.delay_line_bytes))
    return round(in_queue), round(in_line)
