"""Judges where an order is lost: by the effect of asking for it over a slow link, and with nothing in the way. Pure."""

from enum import StrEnum

from priolab.analysis.judgement.order import OwnOrder
from priolab.analysis.judgement.thresholds import ARRIVES, FIRST, MUCH, NOTHING


class Outcome(StrEnum):
    """The effect that the client's order of priority has on the slow link."""

    ARRIVES = "arrives"
    """Asking has at least a third of the expected effect."""
    WEAK = "weak"
    """Asking has an effect, but less than a third of the expected effect."""
    LOST = "lost"
    """Asking has no effect, or less than a tenth of the expected effect."""
    TURNED = "turned round"
    """A resource is complete later if it is asked for first than if the other resource is asked for first."""


class Layer(StrEnum):
    """The layer where the order was lost."""

    NOWHERE = "nowhere"
    SERVER = "server"
    """The server does not follow the dialect."""
    FRONT = "front"
    """The order is lost between the server's scheduler and the socket. LOWAT does not help."""
    SOCKET = "socket"
    """The order is lost in the kernel's send buffer. LOWAT helps."""


def expected_effect(asked: float, swapped: float) -> float:
    """Returns the effect of asking for the script first on resources of the same size, if nothing is in the way.

    An effect is the difference of the script's leads: the times by which it is complete before the image, as fractions
    of a load. asked, swapped: its shares of the window if the client asks for the script, and for the image, first.
    """
    return _lead(asked) - _lead(swapped)


def _lead(share: float) -> float:
    """Returns a resource's lead over a resource of the same size, from its share of the link while the two load."""
    return 1 - 1 / (2 * share) if share >= 0.5 else 1 / (2 * (1 - share)) - 1


def outcome(arriving: float) -> Outcome:
    """Returns the outcome of two loads. arriving: the fraction of the expected effect that they have."""
    if arriving >= ARRIVES:
        return Outcome.ARRIVES
    if arriving >= NOTHING:
        return Outcome.WEAK
    return Outcome.LOST if arriving > -NOTHING else Outcome.TURNED


def layer(control: Outcome | None, lowat: Outcome | None, *, honoured: bool) -> Layer:
    """Returns the layer where the order was lost. control, lowat: the outcomes with LOWAT unset, and with LOWAT.

    honoured: True if the server follows the dialect with nothing in the way.
    """
    if not honoured:
        return Layer.SERVER
    if control is Outcome.ARRIVES:
        return Layer.NOWHERE
    return Layer.SOCKET if lowat is Outcome.ARRIVES else Layer.FRONT


def begins_early(control: float, lowat: float) -> bool:
    """True if much less of the image arrives before the script with LOWAT set than with LOWAT unset.

    control, lowat: the fractions of the image that arrive before the script's first byte.
    """
    return lowat < control - MUCH


def own_order_on_link(before: float, lead: float) -> OwnOrder:
    """Returns a server's own order from a load over the slow link, without priorities, the image requested first.

    before: the fraction of the image that arrived before the script's first byte. lead: the script's lead.
    """
    if before >= FIRST:
        return OwnOrder.FIRST_COME
    return OwnOrder.SCRIPT_FIRST if lead > MUCH else OwnOrder.SHARED
