"""The verdict: did bytes arrive in the order that the client asked for?

The verdict compares two groups of resources: the important resources, and the others. *High* is the group that the
client asked to get first, *low* is the other group. A group's *focal* resource is the one that the origin had last.

The first rule that applies decides:
1. nothing-to-prioritize: the others had left the front when the origin had the focal important resource. Precisely: at
   most a twentieth of the others' bytes arrived later than one delay of the link after that instant.
2. undecided: no order was asked for.
3. kept: the last byte of high came before the last byte of low, and at most half of low had arrived before the first
   byte of high's focal resource.
4. inverted: the last byte of high came after the last byte of low, and at least nine tenths of low had arrived before
   the first byte of high's focal resource.
5. undecided: none of the above, because the two groups shared the link.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.loads.metrics import PageLoad, ResourceTimes, Traffic
from common.formats.page import Resource, called
from common.formats.run import Verdict

NO_ORDER = "the client asked for no order"
"""The reason of rule 2."""

_STILL_THERE_AT_MOST = 0.05
_KEPT_AT_MOST = 0.5
_INVERTED_FROM = 0.9
_ALL_BUT_ALONE = 0.95


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A verdict, and the reason for it in words."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class _Group:
    """The important resources, or the others. words: the group's name in the reason of a verdict."""

    words: str
    focal: ResourceTimes
    traffic: Traffic

    @classmethod
    def of(cls, load: PageLoad, resources: Sequence[Resource], several: str) -> "_Group":
        times = [load.resources[each.name] for each in resources]
        focal = max(times, key=lambda each: each.available_ns)
        words = called(resources, several)
        return cls(words=words, focal=focal, traffic=load.traffic(each.name for each in resources))


def judge(load: PageLoad, favoured: Sequence[str], one_way_ns: int) -> Judgement:
    """Returns the verdict on one load.

    favoured: names of the resources that the client asked to get first. one_way_ns: the delay toward the client.
    """
    important = _Group.of(load, load.page.important, "important resources")
    others = _Group.of(load, load.page.others, "other resources")
    available_ns, rest = important.focal.available_ns, others.traffic
    be = "was" if len(load.page.others) == 1 else "were"
    if rest.last_byte_ns <= available_ns:
        early_ms = (available_ns - rest.last_byte_ns) / 10**6
        had = f"the origin had the {important.focal.name}"
        reason = f"the {others.words} {be} complete {early_ms:.0f} ms before {had}"
        return Judgement(verdict=Verdict.NOTHING, reason=reason)
    had_left = rest.bytes_until(available_ns + one_way_ns)
    if rest.size_bytes - had_left <= _STILL_THERE_AT_MOST * rest.size_bytes:
        left = _percent(had_left, rest.size_bytes)
        had = f"the origin had the {important.focal.name}"
        reason = f"{left} of the {others.words} had left the front before {had}"
        return Judgement(verdict=Verdict.NOTHING, reason=reason)
    if not favoured:
        return Judgement(verdict=Verdict.UNDECIDED, reason=NO_ORDER)
    high, low = (important, others) if important.focal.name in favoured else (others, important)
    first_ns = high.focal.first_byte_ns
    before_bytes = low.traffic.bytes_before(first_ns)
    before = before_bytes / low.traffic.size_bytes
    arrived = _percent(before_bytes, low.traffic.size_bytes)
    already = f"{arrived} of the {low.words} arrived before the {possessive(high.focal.name)} first byte"
    be = "was" if high.words == high.focal.name else "were"
    if high.traffic.last_byte_ns < low.traffic.last_byte_ns and before <= _KEPT_AT_MOST:
        lead_s = (low.traffic.last_byte_ns - high.traffic.last_byte_ns) / 10**9
        reason = f"{already}; the {high.words} {be} complete {lead_s:.1f} s before the {low.words}"
        return Judgement(verdict=Verdict.KEPT, reason=reason)
    if high.traffic.last_byte_ns >= low.traffic.last_byte_ns and before >= _INVERTED_FROM:
        reason = f"{already}, though the {high.words} {be} asked for first"
        return Judgement(verdict=Verdict.INVERTED, reason=reason)
    share = share_of_link(high.traffic, low.traffic, first_ns)
    if share >= _ALL_BUT_ALONE:
        alone = "itself" if be == "was" else "themselves"
        after = f"after that the {high.words} had the link to {alone}: in order, but late"
    else:
        after = f"after that both shared the link, and the {high.words} got {share:.0%} of it"
    return Judgement(verdict=Verdict.UNDECIDED, reason=f"{already}; {after}")


def possessive(name: str) -> str:
    """Returns the possessive form of a name."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _percent(part: int, whole: int) -> str:
    """Returns a percentage, rounded down, so that 100 % means all bytes."""
    return f"{100 * part // whole}%"


def share_of_link(high: Traffic, low: Traffic, from_ns: int) -> float:
    """Returns high's share of the payload that arrived from `from_ns` until one of the two groups was complete.

    high, low: the payload of the group that the client asked to get first, and of the other group.
    """
    until_ns = min(high.last_byte_ns, low.last_byte_ns)
    own, others = (each.bytes_until(until_ns) - each.bytes_before(from_ns) for each in (high, low))
    return own / (own + others) if own + others else 1.0
