"""Judges the checks of a gate, and names the faults. Pure.

Rules:
1. A check passes if its own trials show what its expectation says, and fails otherwise.
2. A failed check names a fault, unless a more basic check failed: a server that ignores urgency cannot keep the order
   after a RST_STREAM, either. Such a check says from which check its failure follows. The check `urgency` is basic to
   all others whose dialect contains its dialect. It is basic to `incremental` only if the server serves by stream id.
3. A server serves by stream id if it ignores urgency and, in the check `incremental`, sends the streams one after the
   other, too.
4. A trial that has no result makes its check fail without a fault, except a load in which the important resources are
   complete and the others got nothing: then the server starves them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from priolab.analysis.judgement.order import Reading, Reply, word
from priolab.analysis.loads.probe import Probe
from priolab.analysis.loads.requested_share import Asked
from priolab.common.formats.run import Verdict
from priolab.experiments.scenario.stimuli import Stimulus, asked_by
from priolab.extras.gate.expectations import Check, Incremental, Late, Order, Sharing, Trial, Urgency, dialect_of
from priolab.extras.gate.faults import MEANING, Fault
from priolab.extras.gate.seen import Seen

_SHARED_FROM, _SHARED_TO = 0.2, 0.8
_ALONE = 0.05
_NEVER_OPENED = "the client never opened its window"

_OF_PAIRS = {
    "update": Fault.FORGETS_UPDATES,
    "reset": Fault.LOST_BY_RESET,
    "connections": Fault.MIXES_CONNECTIONS,
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of a check.

    passed: True if the expectation holds; None if the check could not be made. reason: the observation, or why there is
    none. error: True if a trial had no result. faults: the faults that the check names. frames: the frames that prove
    it, or those until a trial failed. ledger: the ledger of a load, in words. folders: the run folders with all frames.
    follows: the name of the check from whose failure this one follows; None if it does not. took_s: how long the trials
    took.
    """

    check: Check
    passed: bool | None
    reason: str
    error: bool = False
    faults: tuple[Fault, ...] = ()
    frames: tuple[str, ...] = ()
    ledger: str | None = None
    folders: tuple[str, ...] = ()
    follows: str | None = None
    took_s: float = 0.0

    @property
    def text(self) -> str:
        """The faults with their meanings, and the observation."""
        return "; ".join([*(f"{fault}: {MEANING[fault]}" for fault in self.faults), self.reason])


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a gate. target: the server, as it was given. findings: in the order of the checks."""

    target: str
    title: str
    findings: tuple[Finding, ...]
    took_s: float

    @property
    def passed(self) -> bool:
        """True if every check that could be made passed, and at least one could be made."""
        made = [each.passed for each in self.findings if each.passed is not None]
        return bool(made) and all(made)

    @property
    def faults(self) -> list[Fault]:
        """The faults named, each once."""
        return list(dict.fromkeys(fault for each in self.findings for fault in each.faults))


Trials = Mapping[tuple[str, str], Seen]
"""The observations by the name of the check and the role of the trial."""


def judged(checks: Sequence[Check], seen: Trials) -> tuple[Finding, ...]:
    """Judges the checks. seen: an observation of every trial of every check that can be made."""
    basics = {each.name: _found(each, seen, checks) for each in checks if isinstance(each, Urgency)}
    return tuple(basics.get(each.name) or _found(each, seen, checks, _basic(each, basics)) for each in checks)


def _basic(check: Check, basics: Mapping[str, Finding]) -> Finding | None:
    """Returns the finding of the check `urgency` whose dialect has the most parts in common with this check's dialect.

    All parts of that dialect must be in this check's dialect. None without such a check.
    """
    parts = set(check.dialect.split("+"))
    fitting = [each for each in basics.values() if set(each.check.dialect.split("+")) <= parts]
    return max(fitting, key=lambda each: len(each.check.dialect.split("+")), default=None)


def trial_key(check: Check, trial: Trial) -> tuple[str, str]:
    """Returns the key of a trial's observation in Trials."""
    return check.name, trial.role


def _found(check: Check, seen: Trials, checks: Sequence[Check], basic: Finding | None = None) -> Finding:
    trials = [seen.get(trial_key(check, trial)) for trial in check.trials()]
    made = [each for each in trials if each is not None]
    if len(made) < len(trials):
        return Finding(check=check, passed=None, reason="needs the lab's link, which a running server at a URL lacks")
    folders = tuple(each.folder for each in made if each.folder)
    if isinstance(check, Late):
        finding = _late(check, made[0], is_read=basic is not None and basic.passed is True)
    elif failed := [each for each in made if each.failure]:
        frames = tuple(failed[0].frames())
        finding = Finding(check=check, passed=False, error=True, reason=str(failed[0].failure), frames=frames)
    elif isinstance(check, Incremental):
        finding = _incremental(check, made[0])
    else:
        finding = _pair(check, made, in_turn=_in_turn(checks, seen))
    if finding.passed is False and not finding.error and basic is not None and _is_cause(basic, check):
        reason = f"{finding.reason}; this follows from the failure of the check urgency"
        finding = replace(finding, reason=reason, faults=(), frames=(), follows=basic.check.name)
    return replace(finding, folders=folders, took_s=sum(each.took_s for each in made))


def _is_cause(basic: Finding, check: Check) -> bool:
    """True if the failure of the basic check explains a failure of this check."""
    if basic.passed is not False:
        return False
    return not isinstance(check, Incremental) or Fault.BY_STREAM_ID in basic.faults


def _in_turn(checks: Sequence[Check], seen: Trials) -> bool:
    """True if a check `incremental` showed that incremental streams are sent one after the other."""
    for check in checks:
        if isinstance(check, Incremental):
            for trial in check.trials():
                found = seen.get(trial_key(check, trial))
                if found and not found.failure and found.probe and _share(found.probe) is Sharing.IN_TURN:
                    return True
    return False


def _share(probe: Probe) -> Sharing | None:
    share = probe.important_share
    if _SHARED_FROM <= share <= _SHARED_TO:
        return Sharing.SHARED
    return Sharing.IN_TURN if share <= _ALONE or share >= 1 - _ALONE else None


def _pair(check: Check, made: Sequence[Seen], *, in_turn: bool) -> Finding:
    probes = [each.probe for each in made if each.probe is not None]
    if len(probes) < len(made):
        return Finding(check=check, passed=False, error=True, reason=_NEVER_OPENED)
    stimuli = [_stimulus(check, each) for each in made[::2]]
    replies = [Reply.of(*each) for each in zip(stimuli, probes[::2], probes[1::2], strict=True)]
    found = word(replies)
    passed = found is Reading.STRICT or (check.must is Order.FOLLOWED and found is Reading.PROPORTIONAL)
    reason = f"{found}: {'; '.join(map(str, replies))}"
    if passed:
        return Finding(check=check, passed=True, reason=reason)
    if check.kind == "urgency":
        by_id = in_turn and all(max(reply.shares) <= _ALONE for reply in replies)
        fault = {
            Reading.CONTRARY: Fault.INVERTS,
            Reading.PROPORTIONAL: Fault.SHARES,
            Reading.IGNORED: Fault.BY_STREAM_ID if by_id else Fault.IGNORES_URGENCY,
        }[found]
    else:
        fault = _OF_PAIRS[check.kind]
    # In the second trial of each pair the client asks for the first resource first.
    favoured = [share for reply in replies for share in (reply.shares[0], 1 - reply.shares[1])]
    worse = made[favoured.index(min(favoured))]
    return _fails(check, reason, fault, worse)


def _stimulus(check: Check, seen: Seen) -> tuple[Asked, ...]:
    """Returns what the client asks for in a probe that asks for the second resource first."""
    return asked_by(Stimulus(seen.trial.page), dialect_of(check.dialect))


def _incremental(check: Incremental, seen: Seen) -> Finding:
    if seen.probe is None:
        return Finding(check=check, passed=False, error=True, reason=_NEVER_OPENED)
    share, found = seen.probe.important_share, _share(seen.probe)
    stimulus = ", ".join(map(str, _stimulus(check, seen)))
    reason = f"of two incremental streams of one urgency, the second got {share:.0%} of the window; {stimulus}"
    if found is check.must:
        return Finding(check=check, passed=True, reason=reason)
    fault = Fault.IGNORES_INCREMENTAL if check.must is Sharing.SHARED else Fault.TAKES_TURNS
    return _fails(check, reason, fault, seen)


def _fails(check: Check, reason: str, fault: Fault, seen: Seen) -> Finding:
    return Finding(check=check, passed=False, reason=reason, faults=(fault,), frames=tuple(seen.frames()))


def _late(check: Late, seen: Seen, *, is_read: bool) -> Finding:
    """Judges the loads. is_read: True if probes have shown that the server reads the order; a load may not tell."""
    if seen.failure:
        frames = tuple(seen.frames(seen.events[-1].load)) if seen.events else ()
        if not _starved(seen):
            return Finding(check=check, passed=False, error=True, reason=seen.failure, frames=frames)
        return Finding(check=check, passed=False, reason=seen.failure, faults=(Fault.STARVES,), frames=frames)
    for index, (load, told) in enumerate(seen.loads):
        number = load.number
        where = f"load {number} of {len(seen.loads)}: "
        fault: Fault | None
        if load.others.first_byte_ns > load.important.last_byte_ns:
            fault = Fault.STARVES
            idle_ms = (load.others.first_byte_ns - load.focal.requested_ns) / 10**6
            told_reason = (
                f"the other resources got nothing for {idle_ms:.0f} ms, until the {load.focal.name} was complete"
            )
        elif told.verdict is Verdict.KEPT or (is_read and not told.tells):
            continue
        else:
            fault = (Fault.ONLY_FIRST_LOAD if index else Fault.BUFFERS) if told.tells else None
            told_reason = f"{told.verdict}: {told.reason}"
        return Finding(
            check=check,
            passed=False,
            reason=f"{where}{told_reason}",
            faults=(fault,) if fault else (),
            frames=tuple(seen.frames(number)),
            ledger=seen.ledger,
        )
    last = seen.loads[-1][1]
    return Finding(
        check=check, passed=True, reason=f"kept in {len(seen.loads)} loads; the last: {last.reason}", ledger=seen.ledger
    )


def _starved(seen: Seen) -> bool:
    """True if, in the last load, all important resources are complete, and another one got no payload."""
    last = [event for event in seen.events if event.load == seen.events[-1].load] if seen.events else []
    ended = {event.resource for event in last if event.kind == "ended"}
    served = {event.resource for event in last if event.kind == "data"}
    done = all(each.name in ended for each in seen.page.important)
    return done and any(each.name not in served for each in seen.page.others)
