"""The other checks of a gate, and what they showed of a server. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from priolab.analysis.judgement.order import Sharing, sharing
from priolab.analysis.judgement.sequence import Relation, expected, priorities_of
from priolab.analysis.loads.probe import Probe
from priolab.client.dialects import Part
from priolab.extras.gate.checks import Check, Question
from priolab.extras.gate.seen import Seen, Trials

BASIC = "urgency"
"""The kind of check that is basic to most others."""


def basic_of(check: Check, kind: str, checks: Sequence[Check]) -> Check | None:
    """Returns the check of a basic kind whose dialect has the most parts in common with this check's dialect.

    All parts of that dialect must be in this check's dialect; pages with updates need no part for these. None without
    such a check.
    """
    parts = {*check.dialect.split("+"), *([Part.UPDATE] if check.kind == "updates" else [])}
    fitting = [each for each in checks if each.kind == kind and set(each.dialect.split("+")) <= parts]
    return max(fitting, key=lambda each: len(each.dialect.split("+")), default=None)


def turns(probe: Probe) -> Sharing:
    """Returns the order of a probe's two streams, of which the second is the important one."""
    return sharing(1 - probe.important_share)


@dataclass(frozen=True, kw_only=True)
class Others:
    """The checks of a gate beside one check, and the observations of all trials."""

    check: Check
    checks: Sequence[Check]
    seen: Trials

    def _observed(self, kind: str) -> Seen | None:
        """Returns the observation of the check of a kind that fits this check's dialect; None without a result."""
        found = basic_of(self.check, kind, self.checks)
        observed = [] if found is None else [self.seen.get((found.name, role)) for role, _ in found.trials()]
        return next((each for each in observed if each is not None and each.failure is None), None)

    @property
    def levels(self) -> Seen | None:
        """The observation of the check `levels`, in which no stream that can go on begins before the others."""
        return self._observed("levels")

    @property
    def overtake(self) -> bool:
        """True if a more urgent request that was late, so that its window was never closed, came first (`preemption`).

        Streams with incremental show nothing: a server that ignores urgency may serve all others before them.
        """
        late = self._observed("preemption")
        asked = {} if late is None else priorities_of(late.page)
        return late is not None and any(
            expected(pair, asked, Relation.ANY) is Relation.SECOND and Relation.SECOND.fits(share)
            for pair, share in late.competition.shares.items()
            if not any(asked[name].incremental for name in pair)
        )

    @property
    def wait_for_begun(self) -> bool:
        """True if urgent requests that were late did not come first in the check `preemption`."""
        late = self._observed("preemption")
        return late is not None and bool(late.competition.wrong(priorities_of(late.page), Relation.ANY))

    @property
    def come_in_turn(self) -> bool:
        """True if a check of sharing showed that streams of one priority are sent one after the other."""
        asking = (each for each in self.checks if each.row.question is Question.SHARING)
        found = [self.seen.get((each.name, role)) for each in asking for role, _ in each.trials()]
        return any(each.probe and turns(each.probe).in_turn for each in found if each and not each.failure)

    @property
    def share_later(self) -> bool:
        """True if incremental streams share in the check `fair`, where all of them are requested beside another one."""
        fair = self._observed("fair")
        return (
            fair is not None
            and fair.competition.stalled is None
            and bool(fair.competition.shares)
            and not (fair.competition.wrong(priorities_of(fair.page), Relation.ANY))
        )

    @property
    def have_one_priority(self) -> bool:
        """True if incremental streams share, and come in the order of their requests if the first request has no i."""
        twins, fair = (self._observed(kind) for kind in ("incremental", "fair"))
        if twins is None or twins.probe is None or fair is None:
            return False
        shares = fair.competition.shares
        in_order = bool(shares) and all(map(Relation.FIRST.fits, shares.values()))
        return turns(twins.probe) is Sharing.SHARED and in_order
