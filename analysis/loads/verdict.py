"""Judges whether bytes arrived in the order that the client asked for: the verdict.

The order is that of the client's signals on the wire (order.py), not the page's word `important`. Each important
resource is judged by itself, against its *rivals*: the resources that it should precede or, if there are none, the
unimportant ones that should precede it. A resource is no rival if one of the two waits for the other, if it was
complete when the origin had the important resource, or if it was requested when the important resource was complete.
The *high* side was asked for first, the other side is *low*.

For each important resource, the first rule that applies decides:
1. undecided: no order was asked for between this resource and any other.
2. nothing-to-prioritize: there are no rivals, or they had left the front when the origin had the important resource.
   Precisely: at most a twentieth of their bytes arrived later than one delay of the link after that instant.
3. kept: the last byte of high came before the last byte of low, and at most half of low had arrived before high's first
   byte. If high consists of several resources, this is the first byte of the one that the origin had last.
4. inverted: the last byte of high came after the last byte of low, and at least nine tenths of low had arrived before
   the same first byte.
5. undecided: none of the above, because the two sides shared the link.

The load's verdict is that of the important resource that fares worst: inverted, undecided, kept, nothing-to-prioritize,
in this order. Among equal verdicts the resource that came latest counts. This resource is the load's focal resource.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from priolab.analysis.loads.metrics import PageLoad, ResourceTimes, Traffic
from priolab.analysis.loads.order import AskedOrder
from priolab.common.formats.page import called
from priolab.common.formats.run import Verdict

NO_ORDER = "the client asked for no order"
"""The reason of rule 1 if the client sent no signals, or signals that put no resource before another."""

NOTHING_IMPORTANT = "the page marks no resource as important, so there is no order to judge"

_STILL_THERE_AT_MOST = 0.05
_KEPT_AT_MOST = 0.5
_INVERTED_FROM = 0.9
_ALL_BUT_ALONE = 0.95
_WORST_FIRST = (Verdict.INVERTED, Verdict.UNDECIDED, Verdict.KEPT, Verdict.NOTHING)

Lateness = Callable[[ResourceTimes], int]
"""Returns how late a resource's first byte came, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A verdict, and the reason for it in words.

    focal: the name of the important resource that it is about. favoured: True if the client asked for this resource
    before others.
    """

    verdict: Verdict
    reason: str
    focal: str
    favoured: bool


def waited_ns(times: ResourceTimes) -> int:
    """Returns the time from when the origin had a resource to the resource's first byte."""
    return times.first_byte_ns - times.available_ns


def judge(load: PageLoad, order: AskedOrder, one_way_ns: int, late_ns: Lateness = waited_ns) -> Judgement:
    """Returns the verdict on one load.

    order: the order that the client asked for in this load. one_way_ns: the delay toward the client. late_ns: decides
    between important resources that fare alike.
    """
    if not load.page.is_judged:
        focal = max(load.page.important, key=lambda each: each.size_bytes)
        return Judgement(verdict=Verdict.UNDECIDED, reason=NOTHING_IMPORTANT, focal=focal.name, favoured=False)
    judged = [_judge(load, load.resources[each.name], order, one_way_ns) for each in load.page.important]
    return min(judged, key=lambda each: (_WORST_FIRST.index(each.verdict), -late_ns(load.resources[each.focal])))


def _judge(load: PageLoad, important: ResourceTimes, order: AskedOrder, one_way_ns: int) -> Judgement:
    company = [each for each in load.resources.values() if not _is_chained(load, important, each)]
    after = [each for each in company if order.puts_first(important.name, each.name)]
    others = [each for each in company if not each.resource.important]
    ahead = [each for each in others if order.puts_first(each.name, important.name)]
    asked = after or ahead
    if not asked:
        reason = _no_order(important, company, order)
        return Judgement(verdict=Verdict.UNDECIDED, reason=reason, focal=important.name, favoured=False)
    rivals = [
        each
        for each in asked
        if each.last_byte_ns > important.available_ns and each.requested_ns < important.last_byte_ns
    ]
    told = _nothing(load, important, asked, rivals, one_way_ns)
    if told is None:
        told = _compared(load, [important], rivals) if after else _compared(load, rivals, [important])
    verdict, reason = told
    if not after and verdict in (Verdict.KEPT, Verdict.UNDECIDED):
        reason = f"the {_words(rivals)} {_be(rivals)} asked for first: {reason}"
    return Judgement(verdict=verdict, reason=reason, focal=important.name, favoured=bool(after))


def _is_chained(load: PageLoad, one: ResourceTimes, other: ResourceTimes) -> bool:
    """True if the two are the same resource, or one of them waits for the other, also through further resources."""
    before = load.page.before
    return one is other or other.resource in before(one.resource) or one.resource in before(other.resource)


def _no_order(important: ResourceTimes, company: Sequence[ResourceTimes], order: AskedOrder) -> str:
    if not company:
        return f"nothing was loaded beside the {important.name}, so there is nothing to compare"
    against = [each for each in company if (found := order.between(important.name, each.name)) and found.disagrees]
    if against:
        words = _words(against)
        return f"{NO_ORDER}: its tree and its priority fields disagree about the {important.name} and the {words}"
    if not order.spoken:
        return NO_ORDER
    return f"{NO_ORDER}: its signals put the {important.name} neither before nor after the {_words(company)}"


def _nothing(
    load: PageLoad,
    important: ResourceTimes,
    asked: Sequence[ResourceTimes],
    rivals: Sequence[ResourceTimes],
    one_way_ns: int,
) -> tuple[Verdict, str] | None:
    """Returns the verdict of rule 2; None if the rule does not apply."""
    available_ns = important.available_ns
    had = f"the origin had the {important.name}"
    if not rivals:
        early = [each for each in asked if each.last_byte_ns <= available_ns]
        if not early:
            return Verdict.NOTHING, f"the {_words(asked)} {_be(asked)} requested after the {important.name} came"
        early_ms = (available_ns - max(each.last_byte_ns for each in early)) / 10**6
        return Verdict.NOTHING, f"the {_words(early)} {_be(early)} complete {early_ms:.0f} ms before {had}"
    rest = load.traffic(each.name for each in rivals)
    had_left = rest.bytes_until(available_ns + one_way_ns)
    if rest.size_bytes - had_left > _STILL_THERE_AT_MOST * rest.size_bytes:
        return None
    left = _percent(had_left, rest.size_bytes)
    return Verdict.NOTHING, f"{left} of the {_words(rivals)} had left the front before {had}"


def _compared(load: PageLoad, high: Sequence[ResourceTimes], low: Sequence[ResourceTimes]) -> tuple[Verdict, str]:
    """Returns the verdict of the rules 3 to 5. high, low: the two sides; the client asked for high first."""
    focal = max(high, key=lambda each: each.available_ns)
    of_high, of_low = (load.traffic(each.name for each in side) for side in (high, low))
    high_words, low_words = _words(high), _words(low)
    before_bytes = of_low.bytes_before(focal.first_byte_ns)
    before = before_bytes / of_low.size_bytes
    arrived = _percent(before_bytes, of_low.size_bytes)
    already = f"{arrived} of the {low_words} arrived before the {possessive(focal.name)} first byte"
    if of_high.last_byte_ns < of_low.last_byte_ns and before <= _KEPT_AT_MOST:
        lead_s = (of_low.last_byte_ns - of_high.last_byte_ns) / 10**9
        return Verdict.KEPT, f"{already}; the {high_words} {_be(high)} complete {lead_s:.1f} s before the {low_words}"
    if of_high.last_byte_ns >= of_low.last_byte_ns and before >= _INVERTED_FROM:
        return Verdict.INVERTED, f"{already}, though the {high_words} {_be(high)} asked for first"
    share = share_of_link(of_high, of_low, focal.first_byte_ns)
    if share >= _ALL_BUT_ALONE:
        alone = "itself" if len(high) == 1 else "themselves"
        after = f"after that the {high_words} had the link to {alone}: in order, but late"
    else:
        after = f"after that both shared the link, and the {high_words} got {share:.0%} of it"
    return Verdict.UNDECIDED, f"{already}; {after}"


def _words(resources: Sequence[ResourceTimes]) -> str:
    return called([each.resource for each in resources], "other resources")


def _be(resources: Sequence[ResourceTimes]) -> str:
    return "was" if len(resources) == 1 else "were"


def possessive(name: str) -> str:
    """Returns the possessive form of a name."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _percent(part: int, whole: int) -> str:
    """Returns a percentage, rounded down, so that 100 % means all bytes."""
    return f"{100 * part // whole}%"


def share_of_link(high: Traffic, low: Traffic, from_ns: int) -> float:
    """Returns high's share of the payload that arrived from `from_ns` until one of the two sides was complete.

    high, low: the payload of the side that the client asked to get first, and of the other side.
    """
    until_ns = min(high.last_byte_ns, low.last_byte_ns)
    own, others = (each.bytes_until(until_ns) - each.bytes_before(from_ns) for each in (high, low))
    return own / (own + others) if own + others else 1.0
