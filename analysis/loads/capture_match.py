"""Finds the times at which a byte of the TCP stream crossed the link, in captures at both ends (CAPTURE=yes). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from priolab.common.formats.segments import Segment


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """The way of a byte. Of the copies that the front sent, the one that arrived first counts.

    first_sent_ns: when the front first sent the byte. sent_ns, arrived_ns: when the copy that counts was sent, and when
    it arrived. complete_ns: when the byte and all bytes before it had arrived. packet_bytes: bytes of the stream in the
    packet that arrived.
    """

    first_sent_ns: int
    sent_ns: int
    arrived_ns: int
    complete_ns: int
    packet_bytes: int

    @property
    def was_lost(self) -> bool:
        """True if another copy than the first arrived first."""
        return self.sent_ns > self.first_sent_ns

    @property
    def recovery_ns(self) -> int:
        """The time for which the byte waited to be sent again, and at the client for bytes before it."""
        return self.sent_ns - self.first_sent_ns + self.complete_ns - self.arrived_ns


def crossing(segments: Sequence[Segment], position: int, shortest_ns: int) -> Crossing | None:
    """Returns the way of the byte before a position of the stream; None if the captures do not have it.

    shortest_ns: the shortest time that a packet takes. If fewer copies arrived than were sent, the first to arrive is
    taken for the last that was sent so long before.
    """
    sent = [each.t_ns for each in segments if each.end == "server" and _has(each, position)]
    came = [each for each in segments if each.end == "client" and _has(each, position)]
    if not sent or not came:
        return None
    first = came[0]
    in_time = [t_ns for t_ns in sent if t_ns <= first.t_ns - shortest_ns] or sent[:1]
    return Crossing(
        first_sent_ns=sent[0],
        sent_ns=sent[0] if len(came) == len(sent) else in_time[-1],
        arrived_ns=first.t_ns,
        complete_ns=_complete_ns(segments, position),
        packet_bytes=first.size_bytes,
    )


def _has(segment: Segment, position: int) -> bool:
    return segment.position_bytes < position <= segment.end_bytes


def _complete_ns(segments: Sequence[Segment], position: int) -> int:
    """Returns when the client had all bytes before a position, which are all in the capture at some time."""
    have_bytes, waiting = 0, list[Segment]()
    t_ns = 0
    for segment in segments:
        if segment.end != "client":
            continue
        waiting.append(segment)
        t_ns = segment.t_ns
        while fitting := [each for each in waiting if each.position_bytes <= have_bytes]:
            have_bytes = max(have_bytes, *(each.end_bytes for each in fitting))
            waiting = [each for each in waiting if each.end_bytes > have_bytes]
        if have_bytes >= position:
            break
    return t_ns
