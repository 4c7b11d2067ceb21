"""Judges from the shares of probes how a server takes the priorities that a client sends, and its own order. Pure.

Rules:
1. The client asks for the important resource first in one probe, and for the other one first in another probe. Only a
   difference between the two shows that the server read the order.
2. A server that reads weights is asked twice, with weights that differ little and with weights that differ much. One
   word for both is `together`.
3. Two streams of the same priority either share the window, or one comes before the other (`Sharing`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from priolab.analysis.judgement.thresholds import DIFFERENCE, DOUBT_STEPS, EVENLY, FIRST
from priolab.analysis.loads.probe import ALONE, Probe
from priolab.analysis.loads.requested_share import Asked

NOT_MEASURED = "not measured"
"""The word for a dialect of which nothing is known."""


class Reading(StrEnum):
    """A server's interpretation of a dialect."""

    STRICT = "strict"
    """The resource asked for first gets the whole window."""
    PROPORTIONAL = "proportional"
    """The resources share the window. Each resource gets more of the window if it is asked for first."""
    IGNORED = "ignored"
    """The result does not depend on which resource is asked for first."""
    CONTRARY = "contrary"
    """A resource gets less of the window if it is asked for first."""

    @property
    def honoured(self) -> bool:
        """True if the server follows the dialect."""
        return self in (Reading.STRICT, Reading.PROPORTIONAL)


class Sharing(StrEnum):
    """The order in which a server sends two streams of the same priority."""

    SHARED = "shared"
    UNEVEN = "shared unevenly"
    REQUESTED_FIRST = "the first, then the second"
    REQUESTED_LAST = "the second, then the first"

    @property
    def in_turn(self) -> bool:
        """True if one stream comes before the other."""
        return self in (Sharing.REQUESTED_FIRST, Sharing.REQUESTED_LAST)


class OwnOrder(StrEnum):
    """A server's order if the client sends no priorities."""

    SHARED = "shared"
    FIRST_COME = "first come, first served"
    LAST_COME = "last come, first served"
    SCRIPT_FIRST = "the script first, by itself"
    OTHER = "another"


def reading(asked: float, swapped: float, *, doubt: float = 0.0) -> Reading:
    """Returns a server's interpretation of a dialect, from two shares of the window that the important resource got.

    asked: the share if the client asks for this resource first. swapped: the share if the client asks for the other one
    first. doubt: the possible error of a share.
    """
    alone = min(ALONE, 1 - doubt)
    if asked >= alone and swapped <= 1 - alone:
        return Reading.STRICT
    if abs(asked - swapped) < max(DIFFERENCE, doubt):
        return Reading.IGNORED
    return Reading.PROPORTIONAL if asked > swapped else Reading.CONTRARY


def together(usual: Reading, strong: Reading | None) -> Reading:
    """Returns the one word for two readings of the same dialect.

    usual: the reading with weights that differ little. strong: the reading with weights that differ much; None without
    probes of such weights. A server is contrary if it is so once, because a client does not know which weights turn it.
    It ignores a dialect if weights that differ much change nothing.
    """
    if strong is None or strong is usual:
        return usual
    both = (usual, strong)
    if Reading.CONTRARY in both:
        return Reading.CONTRARY
    return Reading.IGNORED if strong is Reading.IGNORED else Reading.PROPORTIONAL


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A server's reply to a stimulus, in two probes.

    asked: what the signals ask for, if the client asks for the important resource first. shares: the important
    resource's share of the window if the client asks for this resource first, and if it asks for the other one first.
    The important resource is requested second. doubt: the uncertainty of the shares.
    """

    asked: tuple[Asked, ...]
    shares: tuple[float, float]
    doubt: float

    @classmethod
    def of(cls, stimulus: tuple[Asked, ...], asked: Probe, swapped: Probe) -> Self:
        """Returns the reply in two probes: the important resource is asked for first, and the other one is."""
        shares = asked.important_share, swapped.important_share
        return cls(asked=stimulus, shares=shares, doubt=DOUBT_STEPS / min(asked.steps, swapped.steps))

    @property
    def reading(self) -> Reading:
        """The server's interpretation of the signals."""
        return reading(*self.shares, doubt=self.doubt)

    @property
    def stimulus(self) -> str:
        """The signals, and the share that they ask for, in words."""
        return ", ".join(map(str, self.asked))

    def __str__(self) -> str:
        return (
            f"{self.stimulus}; the stream asked for first got {self.shares[0]:.0%} of the window if it was requested"
            f" second, and {1 - self.shares[1]:.0%} if it was requested first"
        )


def word(replies: Sequence[Reply]) -> Reading:
    """Returns the one word for the replies to a usual stimulus and, if there is one, to a strong one, in this order."""
    usual, *strong = (reply.reading for reply in replies)
    return together(usual, strong[0] if strong else None)


def equal(one: float, other: float) -> bool:
    """True if two shares of the window count as equal."""
    return abs(one - other) < DIFFERENCE


def sharing(share: float) -> Sharing:
    """Returns the order of two streams of the same priority. share: that of the window which the first request got."""
    if share >= FIRST:
        return Sharing.REQUESTED_FIRST
    if share <= 1 - FIRST:
        return Sharing.REQUESTED_LAST
    return Sharing.SHARED if 1 - EVENLY <= share <= EVENLY else Sharing.UNEVEN


def own_order(share: float, turned: float) -> OwnOrder:
    """Returns a server's own order, from the script's shares without priorities.

    share: the script's share of the window if the image is requested first. turned: its share if the script is
    requested first.
    """
    orders = (sharing(1 - share), sharing(turned))
    if not any(each.in_turn for each in orders):
        return OwnOrder.SHARED
    return _OWN_ORDERS.get(orders, OwnOrder.OTHER)


_OWN_ORDERS = {
    (Sharing.REQUESTED_FIRST, Sharing.REQUESTED_FIRST): OwnOrder.FIRST_COME,
    (Sharing.REQUESTED_LAST, Sharing.REQUESTED_LAST): OwnOrder.LAST_COME,
    (Sharing.REQUESTED_LAST, Sharing.REQUESTED_FIRST): OwnOrder.SCRIPT_FIRST,
}
