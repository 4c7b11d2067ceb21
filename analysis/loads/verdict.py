"""Was the order that the client asked for the order in which bytes arrived?

Rules, the first that applies decides:
1. nothing-to-prioritize: when the origin had the script to give, the image had left: no more than a twentieth of it
   arrived later than a byte sent at that instant could have.
2. undecided: no order was asked for.
3. kept: of the resource asked to come first, the last byte came before the other's last byte, and at its first byte
   at most half of the other had arrived.
4. inverted: its last byte came after the other's, and at its first byte nine tenths or more of the other had arrived.
5. undecided: anything between; the two shared the link.
"""

from dataclasses import dataclass
from enum import StrEnum

from analysis.loads.metrics import IMAGE, SCRIPT, PageLoad, ResourceTimes

_STILL_THERE_AT_MOST = 0.05
_KEPT_AT_MOST = 0.5
_INVERTED_FROM = 0.9
_ALL_BUT_ALONE = 0.95


class Verdict(StrEnum):
    """The closed set."""

    KEPT = "kept"
    INVERTED = "inverted"
    NOTHING = "nothing-to-prioritize"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A verdict and its reason in a sentence."""

    verdict: Verdict
    reason: str


def judge(load: PageLoad, favoured: str | None, one_way_ns: int) -> Judgement:
    """Judge one load. favoured: the resource asked to come first. one_way_ns: delay from the front to the client."""
    if load.image.last_byte_ns <= load.script_available_ns:
        early_ms = (load.script_available_ns - load.image.last_byte_ns) / 10**6
        reason = f"the image was complete {early_ms:.0f} ms before the script existed"
        return Judgement(verdict=Verdict.NOTHING, reason=reason)
    had_left = load.image.bytes_until(load.script_available_ns + one_way_ns)
    if load.image.size_bytes - had_left <= _STILL_THERE_AT_MOST * load.image.size_bytes:
        reason = f"{_percent(had_left, load.image.size_bytes)} of the image had left before the script existed"
        return Judgement(verdict=Verdict.NOTHING, reason=reason)
    if favoured is None:
        return Judgement(verdict=Verdict.UNDECIDED, reason="no order was asked for")
    other = IMAGE if favoured == SCRIPT else SCRIPT
    times = {IMAGE: load.image, SCRIPT: load.script}
    high, low = times[favoured], times[other]
    before = low.bytes_before(high.first_byte_ns) / low.size_bytes
    arrived = _percent(low.bytes_before(high.first_byte_ns), low.size_bytes)
    already = f"{arrived} of the {other} arrived before the {favoured}'s first byte"
    if high.last_byte_ns < low.last_byte_ns and before <= _KEPT_AT_MOST:
        lead_s = (low.last_byte_ns - high.last_byte_ns) / 10**9
        return Judgement(verdict=Verdict.KEPT, reason=f"{already}; the {favoured} was complete {lead_s:.1f} s sooner")
    if high.last_byte_ns >= low.last_byte_ns and before >= _INVERTED_FROM:
        return Judgement(verdict=Verdict.INVERTED, reason=f"{already}, though the {favoured} was asked for first")
    share = share_of_link(high, low)
    if share >= _ALL_BUT_ALONE:
        after = f"after that the {favoured} had the link to itself: in order, but late"
    else:
        after = f"after that they shared the link, {share:.0%} of it the {favoured}'s"
    return Judgement(verdict=Verdict.UNDECIDED, reason=f"{already}; {after}")


def _percent(part: int, whole: int) -> str:
    """Rounded down: 100 % means all of it."""
    return f"{100 * part // whole}%"


def share_of_link(high: ResourceTimes, low: ResourceTimes) -> float:
    """Part of the payload that was `high`'s, from its first byte until either was complete."""
    from_ns, until_ns = high.first_byte_ns, min(high.last_byte_ns, low.last_byte_ns)
    own, others = (times.bytes_until(until_ns) - times.bytes_before(from_ns) for times in (high, low))
    return own / (own + others) if own + others else 1.0
