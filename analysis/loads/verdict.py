"""Judges whether bytes arrived in the order that the client asked for: the verdict.

The order is that of the client's signals on the wire (requested_order.py), not the page's word `important`. Each
important resource is judged by itself, against its *rivals*: the resources that it should precede or, if there are
none, the unimportant ones that should precede it. A document, for which an important resource waits, is as important as
that resource; it is judged if the client asked for it before another resource. A resource is no rival if one of the two
waits for the other, if it was complete when the origin had the important resource, or if it was requested when the
important resource was complete. The *high* side was asked for first, the other side is *low*.

For each of these resources, the first rule that applies decides:
1. undecided: no order was asked for between this resource and any other.
2. nothing-to-prioritize: there are no rivals, or they had left the front when the origin had the important resource.
   Precisely: at most a twentieth of their bytes arrived later than one delay of the link after that instant.
3. inverted: at least nine tenths of low arrived before high's first byte. If high consists of several resources, this
   is the first byte of the one that the origin had last.
4. undecided: more than half of low arrived before that first byte, or before that of another resource of high that the
   origin had when low began to arrive; or while the front had bytes of both sides, low got more than the share asked
   for and a tenth (competition.py).
5. undecided: the important resource was requested after its rivals, and a server that ignores the order would have
   got the same answer. Two loads can tell, the second one with PRIORITY=swap.
6. kept: none of the above.

The load's verdict is that of the resource that fares worst: inverted, undecided by the rules 1 and 4, kept, undecided
by rule 5, nothing-to-prioritize, in this order. Among equal verdicts an important resource counts before a document,
and then the one that came latest. This resource is the load's focal resource.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from priolab.analysis.loads.competition import Competition, competition
from priolab.analysis.loads.interleaving import Interleaving
from priolab.analysis.loads.metrics import PageLoad, ResourceTimes, Traffic
from priolab.analysis.loads.requested_order import AskedOrder
from priolab.common.amounts import percent
from priolab.common.formats.page import called
from priolab.common.formats.run import Verdict

NO_ORDER = "the client asked for no order"
"""The reason of rule 1 if the client sent no signals, or signals that put no resource before another."""

NOTHING_IMPORTANT = "the page marks no resource as important, so there is no order to judge"

_STILL_THERE_AT_MOST = 0.05
_KEPT_AT_MOST = 0.5
_INVERTED_FROM = 0.9
_ALL_BUT_ALONE = 0.95
_WORST_FIRST = ((Verdict.INVERTED, True), (Verdict.UNDECIDED, True), (Verdict.KEPT, True), (Verdict.UNDECIDED, False))
"""Verdicts with Judgement.tells, the worst first; the last one, nothing-to-prioritize, is not in the list."""

Lateness = Callable[[ResourceTimes], int]
"""Returns how late a resource's first byte came, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A verdict, and the reason for it in words.

    focal: the name of the resource that it is about. favoured: True if the client asked for this resource before
    others. tells: False if the load cannot show whether the server read the order (rule 5). sooner: the resources that
    the client asked for before this one.
    """

    verdict: Verdict
    reason: str
    focal: str
    favoured: bool
    tells: bool = True
    sooner: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """The place of the verdict among all, the worst first."""
        key = self.verdict, self.tells
        return _WORST_FIRST.index(key) if key in _WORST_FIRST else len(_WORST_FIRST)


def waited_ns(times: ResourceTimes) -> int:
    """Returns the time from when the origin had a resource to the resource's first byte."""
    return times.first_byte_ns - times.available_ns


def judge(
    load: PageLoad,
    order: AskedOrder,
    one_way_ns: int,
    late_ns: Lateness = waited_ns,
    scene: Interleaving | None = None,
) -> Judgement:
    """Returns the verdict on one load.

    order: the order that the client asked for in this load. one_way_ns: the delay toward the client. late_ns: decides
    between resources that fare alike. scene: the order in which the front wrote; None if only the arrivals are known.
    """
    if not load.page.is_judged:
        focal = max(load.page.important, key=lambda each: each.size_bytes)
        return Judgement(verdict=Verdict.UNDECIDED, reason=NOTHING_IMPORTANT, focal=focal.name, favoured=False)
    scene = scene or Interleaving.of_arrivals(load)
    important = [_judge(load, load.resources[each.name], order, one_way_ns, scene) for each in load.page.important]
    awaited = [_judge(load, load.resources[each.name], order, one_way_ns, scene) for each in load.page.documents]
    judged = [*important, *(each for each in awaited if each.favoured)]
    return min(judged, key=lambda each: (each.rank, each not in important, -late_ns(load.resources[each.focal])))


def _judge(
    load: PageLoad, important: ResourceTimes, order: AskedOrder, one_way_ns: int, scene: Interleaving
) -> Judgement:
    company = [each for each in load.resources.values() if not _is_chained(load, important, each)]
    after = [each for each in company if order.puts_first(important.name, each.name)]
    others = [each for each in company if each.resource in load.page.others]
    ahead = [each for each in others if order.puts_first(each.name, important.name)]
    asked = after or ahead
    if not asked:
        reason = _no_order(important, company, order, scene)
        return Judgement(verdict=Verdict.UNDECIDED, reason=reason, focal=important.name, favoured=False)
    rivals = [
        each
        for each in asked
        if each.last_byte_ns > important.available_ns and each.requested_ns < important.last_byte_ns
    ]
    told, tells = _nothing(load, important, asked, rivals, one_way_ns), True
    if told is None:
        high, low = ([important], rivals) if after else (rivals, [important])
        sides = _Sides(load=load, scene=scene, high=high, low=low, beside=competition(scene, high, low, order))
        told = sides.compared()
        if after and told[0] is Verdict.KEPT and (sides.beside.is_small or sides.beside.is_short):
            told, tells = sides.untold(), False
    verdict, reason = told
    if not after and verdict in (Verdict.KEPT, Verdict.UNDECIDED):
        reason = f"the {_words(rivals)} {_be(rivals)} asked for first: {reason}"
    return Judgement(verdict=verdict, reason=reason, focal=important.name, favoured=bool(after), tells=tells)


def _is_chained(load: PageLoad, one: ResourceTimes, other: ResourceTimes) -> bool:
    """True if the two are the same resource, or one of them waits for the other, also through further resources."""
    before = load.page.before
    return one is other or other.resource in before(one.resource) or one.resource in before(other.resource)


def _no_order(
    important: ResourceTimes, company: Sequence[ResourceTimes], order: AskedOrder, scene: Interleaving
) -> str:
    if not company:
        return f"nothing was loaded beside the {important.name}, so there is nothing to compare"
    against = [each for each in company if (found := order.between(important.name, each.name)) and found.disagrees]
    if against:
        words = _words(against)
        return f"{NO_ORDER}: its tree and its priority fields disagree about the {important.name} and the {words}"
    if not order.spoken:
        return NO_ORDER
    reason = f"{NO_ORDER}: its signals put the {important.name} neither before nor after the {_words(company)}"
    equal = [each for each in company if order.share((important.name,), (each.name,)) is not None]
    beside = competition(scene, [important], equal, order)
    if not beside.low_bytes:
        return reason
    return f"{reason}; beside the {_words(equal)} it got {beside.share:.0%}, and {beside.asked:.0%} was asked for"


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
    left = percent(had_left / rest.size_bytes)
    return Verdict.NOTHING, f"{left} of the {_words(rivals)} had left the front before {had}"


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """The two sides of a comparison; the client asked for high first. beside: what they got beside each other."""

    load: PageLoad
    scene: Interleaving
    high: Sequence[ResourceTimes]
    low: Sequence[ResourceTimes]
    beside: Competition

    @cached_property
    def _of_low(self) -> Traffic:
        return self.load.traffic(each.name for each in self.low)

    @property
    def _latest(self) -> ResourceTimes:
        """The resource of high that the origin had last."""
        return max(self.high, key=lambda each: each.available_ns)

    def _late(self) -> ResourceTimes | None:
        """Returns a resource of high before which more than half of low came; None without one.

        The origin must have had it when low began to arrive. If the order of what came at one instant is unknown, half
        of low must not have come until this instant.
        """
        waited = [each for each in self.high if each.available_ns <= self._of_low.first_byte_ns]
        late = max([self._latest, *waited], key=lambda each: each.first_byte_ns)
        count = self._of_low.bytes_before if self.scene.is_exact else self._of_low.bytes_until
        return late if count(late.first_byte_ns) > _KEPT_AT_MOST * self._of_low.size_bytes else None

    def _before(self, resource: ResourceTimes) -> str:
        arrived = percent(self._of_low.bytes_before(resource.first_byte_ns) / self._of_low.size_bytes)
        return f"{arrived} of the {_words(self.low)} arrived before the {possessive(resource.name)} first byte"

    def compared(self) -> tuple[Verdict, str]:
        """Returns the verdict of the rules 3, 4 and 6."""
        high, low, beside = _words(self.high), _words(self.low), self.beside
        already = self._before(self._latest)
        if self._of_low.bytes_before(self._latest.first_byte_ns) >= _INVERTED_FROM * self._of_low.size_bytes:
            return Verdict.INVERTED, f"{already}, though the {high} {_be(self.high)} asked for first"
        shared = f"both shared the link, and the {high} got {{:.0%}} of it, and {beside.asked:.0%} was asked for"
        late = self._late()
        if late is None and beside.is_in_order:
            lead_ns = self._of_low.last_byte_ns - max(each.last_byte_ns for each in self.high)
            when = "before" if lead_ns >= 0 else "after"
            reason = f"{already}; the {high} {_be(self.high)} complete {abs(lead_ns) / 10**9:.1f} s {when} the {low}"
            if max(beside.share, beside.asked) < _ALL_BUT_ALONE:
                reason += f"; {shared.format(beside.share)}"
            return Verdict.KEPT, reason
        if beside.share_afterwards < _ALL_BUT_ALONE:
            after = f"after that {shared.format(beside.share_afterwards)}"
        elif late is not None:
            alone = "itself" if len(self.high) == 1 else "themselves"
            after = f"after that the {high} had the link to {alone}: in order, but late"
        else:
            after = f"the front had the {high}, and wrote {beside.behind_bytes / 1024:,.0f} KiB of the {low} first"
        return Verdict.UNDECIDED, f"{self._before(late or self._latest)}; {after}"

    def untold(self) -> tuple[Verdict, str]:
        """Returns the verdict of rule 5."""
        (only,) = self.high
        why = f"too few bytes of the {_words(self.low)} competed with the {only.name}"
        if self.beside.is_small:
            at_once = f"a front may hand over {(self.scene.burst_bytes or 0) / 1024:,.0f} KiB at once"
            why = f"{at_once}, and the {only.name} has {only.size_bytes / 1024:,.0f}"
        same = "so a server that ignores the order looks the same; PRIORITY=swap tells"
        return Verdict.UNDECIDED, f"{self._before(only)}; but {why}, {same}"


def _words(resources: Sequence[ResourceTimes]) -> str:
    return called([each.resource for each in resources], "other resources")


def _be(resources: Sequence[ResourceTimes]) -> str:
    return "was" if len(resources) == 1 else "were"


def possessive(name: str) -> str:
    """Returns the possessive form of a name."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"
