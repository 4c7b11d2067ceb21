"""Judges a late urgent resource in the loads of a connection: does it overtake, do the others get the rest? Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.verdict import Judgement
from priolab.common.formats.events import Event
from priolab.common.formats.page import Page
from priolab.common.formats.run import Verdict


class Late(StrEnum):
    """The fate of a late urgent resource."""

    KEPT = "kept"
    """It overtakes in every load, or a load cannot tell although probes have."""
    STARVED = "starved"
    """It comes, and the others get nothing until it is complete, though the link is idle."""
    LOST = "lost"
    """It does not overtake in the first load: bytes that were chosen long before are sent first."""
    LOST_LATER = "lost in a later load"
    """It overtakes in the first load, and not in a later one."""
    EXCEEDS = "later than allowed"
    """It overtakes, but not within the limits that were given."""
    UNDECIDED = "undecided"
    """A load cannot tell."""


@dataclass(frozen=True, kw_only=True)
class LateReply:
    """The judgement on the loads of a connection. load: the number of the load that decides, from 1."""

    word: Late
    load: int
    reason: str


def late_reply(loads: Sequence[tuple[PageLoad, Judgement]], *, is_read: bool) -> LateReply:
    """Judges complete loads, of which there is one at least, with the verdict on each.

    is_read: True if probes have shown that the server reads the order; then a load need not tell.
    """
    for index, (load, told) in enumerate(loads):
        if load.others.first_byte_ns > load.important.last_byte_ns:
            word = Late.STARVED
            idle_ms = (load.others.first_byte_ns - load.focal.requested_ns) / 10**6
            reason = f"the other resources got nothing for {idle_ms:.0f} ms, until the {load.focal.name} was complete"
        elif told.verdict is Verdict.KEPT or (is_read and not told.tells):
            continue
        else:
            word = (Late.LOST_LATER if index else Late.LOST) if told.tells else Late.UNDECIDED
            reason = f"{told.verdict}: {told.reason}"
        return LateReply(word=word, load=load.number, reason=f"load {load.number} of {len(loads)}: {reason}")
    load, told = loads[-1]
    reason = f"kept in {len(loads)} loads; the last: {told.reason}"
    return LateReply(word=Late.KEPT, load=load.number, reason=reason)


def is_starved(events: Sequence[Event], page: Page) -> bool:
    """True if, in the last load, all important resources are complete, and another one got no payload.

    events: those of a client whose load did not end.
    """
    last = [event for event in events if event.load == events[-1].load]
    complete = {event.resource for event in last if event.kind == "ended"}
    served = {event.resource for event in last if event.kind == "data"}
    done = bool(last) and all(each.name in complete for each in page.important)
    return done and any(each.name not in served for each in page.others)
