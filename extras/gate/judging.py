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

from priolab.analysis.judgement.late import is_starved, late_reply
from priolab.analysis.judgement.order import Sharing, sharing, word
from priolab.analysis.loads.probe import Probe
from priolab.experiments.scenario.stimuli import asked_by
from priolab.extras.gate.checks import HOLDS, Check, Question
from priolab.extras.gate.faults import Fault
from priolab.extras.gate.seen import Seen

_BASIC = "urgency"
"""The kind of check that is basic to others."""


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
        return "; ".join([*(f"{fault}: {fault.meaning}" for fault in self.faults), self.reason])


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
    basics = {each.name: _found(each, seen, checks) for each in checks if each.kind == _BASIC}
    return tuple(basics.get(each.name) or _found(each, seen, checks, _basic(each, basics)) for each in checks)


def _basic(check: Check, basics: Mapping[str, Finding]) -> Finding | None:
    """Returns the finding of the check `urgency` whose dialect has the most parts in common with this check's dialect.

    All parts of that dialect must be in this check's dialect. None without such a check.
    """
    parts = set(check.dialect.split("+"))
    fitting = [each for each in basics.values() if set(each.check.dialect.split("+")) <= parts]
    return max(fitting, key=lambda each: len(each.check.dialect.split("+")), default=None)


def _found(check: Check, seen: Trials, checks: Sequence[Check], basic: Finding | None = None) -> Finding:
    trials = [seen.get((check.name, role)) for role, _ in check.trials()]
    made = [each for each in trials if each is not None]
    if len(made) < len(trials):
        return Finding(check=check, passed=None, reason="needs the lab's link, which a running server at a URL lacks")
    finding = _judged(check, made, checks, seen, is_read=basic is not None and basic.passed is True)
    if finding.passed is False and not finding.error and basic is not None and _is_cause(basic, check):
        reason = f"{finding.reason}; this follows from the failure of the check {_BASIC}"
        finding = replace(finding, reason=reason, faults=(), frames=(), follows=basic.check.name)
    folders = tuple(each.folder for each in made if each.folder)
    return replace(finding, folders=folders, took_s=sum(each.took_s for each in made))


def _is_cause(basic: Finding, check: Check) -> bool:
    """True if the failure of the basic check explains a failure of this check."""
    if basic.passed is not False:
        return False
    return check.row.question is not Question.SHARING or Fault.BY_STREAM_ID in basic.faults


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """The answer of a check's trials. word: a word of analysis/judgement. shown, load: the trial and load with proof.

    by_id: True if the stream that was requested first always comes first.
    """

    word: str
    reason: str
    shown: Seen
    load: int = 1
    by_id: bool = False


def _judged(check: Check, made: Sequence[Seen], checks: Sequence[Check], seen: Trials, *, is_read: bool) -> Finding:
    """Judges a check all of whose trials were made. is_read: True if probes have shown that the order is read."""
    if failed := next((each for each in made if each.failure), None):
        return _failed(check, failed)
    if check.row.question is Question.LATE:
        reply = late_reply(made[0].loads, is_read=is_read)
        answer = _Answer(word=reply.word, reason=reply.reason, shown=made[0], load=reply.load)
    else:
        probes = [each.probe for each in made if each.probe is not None]
        if len(probes) < len(made):
            return Finding(check=check, passed=False, error=True, reason="the client never opened its window")
        answer = (_order if check.row.question is Question.ORDER else _sharing)(made, probes)
    ledger = answer.shown.ledger
    if answer.word in HOLDS[check.must]:
        return Finding(check=check, passed=True, reason=answer.reason, ledger=ledger)
    fault = check.row.faults[check.must].get(answer.word)
    if fault is Fault.IGNORES_URGENCY and answer.by_id and _in_turn(checks, seen):
        fault = Fault.BY_STREAM_ID
    return Finding(
        check=check,
        passed=False,
        reason=answer.reason,
        faults=(fault,) if fault else (),
        frames=tuple(answer.shown.frames(answer.load)),
        ledger=ledger,
    )


def _failed(check: Check, failed: Seen) -> Finding:
    """Judges a trial that has no result. Of page loads the frames are those of the load that failed."""
    is_load = check.row.question is Question.LATE and failed.events
    frames = tuple(failed.frames(failed.events[-1].load if is_load else 1))
    if is_load and is_starved(failed.events, failed.page):
        faults = (Fault.STARVES,)
        return Finding(check=check, passed=False, reason=str(failed.failure), faults=faults, frames=frames)
    return Finding(check=check, passed=False, error=True, reason=str(failed.failure), frames=frames)


def _order(made: Sequence[Seen], probes: Sequence[Probe]) -> _Answer:
    pairs = zip(made[::2], probes[::2], probes[1::2], strict=True)
    replies = [each.trial.reply(asked, swapped) for each, asked, swapped in pairs]
    found = word(replies)
    # In the second trial of each pair the client asks for the first resource first.
    favoured = [share for reply in replies for share in (reply.shares[0], 1 - reply.shares[1])]
    return _Answer(
        word=found,
        reason=f"{found}: {'; '.join(map(str, replies))}",
        shown=made[favoured.index(min(favoured))],
        by_id=all(_turns(probe) is Sharing.REQUESTED_FIRST for probe in probes),
    )


def _sharing(made: Sequence[Seen], probes: Sequence[Probe]) -> _Answer:
    asked = ", ".join(map(str, asked_by(made[0].trial.page, made[0].trial.dialect)))
    share = probes[0].important_share
    reason = f"of two incremental streams of one urgency, the second got {share:.0%} of the window; {asked}"
    return _Answer(word=_turns(probes[0]), reason=reason, shown=made[0])


def _turns(probe: Probe) -> Sharing:
    """Returns the order of a probe's two streams, of which the second is the important one."""
    return sharing(1 - probe.important_share)


def _in_turn(checks: Sequence[Check], seen: Trials) -> bool:
    """True if a check of sharing showed that streams of one priority are sent one after the other."""
    asking = (each for each in checks if each.row.question is Question.SHARING)
    found = [seen.get((each.name, role)) for each in asking for role, _ in each.trials()]
    return any(each.probe and _turns(each.probe).in_turn for each in found if each and not each.failure)
