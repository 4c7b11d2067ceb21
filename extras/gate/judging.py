"""Judges the checks of a gate, and names the faults. Pure.

Rules:
1. A check passes if its own trials show what its expectation says, and fails otherwise.
2. A failed check names a fault, unless a more basic check failed: a server that ignores urgency cannot keep the order
   after a RST_STREAM, either. Such a check says from which check its failure follows. `Kind.basics` has the basic
   kinds; the basic check's dialect must be part of this one's. The check `urgency` is basic to those of sharing only if
   the server sends streams one after the other, for one of the two reasons of rule 3.
3. A server that ignores urgency in the check `urgency`, where one stream has begun before the window opens, and not in
   the check `levels`, finishes less urgent streams first, or keeps the order in part. Otherwise it serves by stream id
   if, in the check `incremental`, it sends the streams one after the other, too.
4. A trial that has no result makes its check fail without a fault, except a load in which the important resources are
   complete and the others got nothing, and a probe in which nothing came any more: then the server starves streams; and
   a server that ends the connection or a stream at unusual signals, and not in a basic check.
5. A fault that another one explains is left out in the end (findings.py).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from priolab.analysis.judgement.late import Late, is_starved, late_reply
from priolab.analysis.judgement.order import Sharing, word
from priolab.analysis.judgement.sequence import (
    Competition,
    Pair,
    Priority,
    Relation,
    Whole,
    bytes_before_end,
    expected,
    ignores_urgency,
    mistakes_in,
    priorities_of,
    whole_mistake,
)
from priolab.analysis.judgement.thresholds import STALLED_STEPS
from priolab.analysis.loads.probe import Probe
from priolab.client.transport import OVERDUE
from priolab.common.formats.events import Event, Kind
from priolab.experiments.commands.target import is_refused
from priolab.experiments.scenario.stimuli import asked_by
from priolab.extras.gate.checks import HOLDS, KINDS, Check, Question, Several
from priolab.extras.gate.checks import Kind as Row
from priolab.extras.gate.faults import Fault
from priolab.extras.gate.findings import Finding, without_explained
from priolab.extras.gate.others import BASIC, Others, basic_of, turns
from priolab.extras.gate.seen import Seen, Trials

_ARRIVAL, _LEVELS = "arrival", "levels"
_OF_LEVELS = {Fault.BITS, Fault.COARSE, Fault.WRONG_DEFAULT}
"""The faults that the check `levels` would show."""


def judged(checks: Sequence[Check], seen: Trials, *, unmade: str | None = None) -> tuple[Finding, ...]:
    """Judges the checks. seen: an observation of every trial of every check that can be made.

    unmade: why trials that can be made were not made; None if all were.
    """
    found: dict[str, Finding] = {}

    def finding(check: Check) -> Finding:
        if check.name not in found:
            in_turn = check.kind != _ARRIVAL and (check.row.mistakes or check.row.wholes)
            kinds = dict.fromkeys((*check.row.basics, *((_ARRIVAL,) if in_turn else ())))
            basics = {kind: finding(basic) for kind in kinds if (basic := basic_of(check, kind, checks)) is not None}
            found[check.name] = _found(check, seen, checks, basics, unmade)
        return found[check.name]

    return tuple(without_explained([*map(finding, checks)]))


def _found(
    check: Check, seen: Trials, checks: Sequence[Check], basics: Mapping[str, Finding], unmade: str | None
) -> Finding:
    trials = [seen.get((check.name, role)) for role, _ in check.trials()]
    made = [each for each in trials if each is not None]
    if len(made) < len(trials) and not any(each.failure for each in made):
        absent = "needs the lab's link or origin, which a running server at a URL lacks"
        return Finding(check=check, passed=None, reason=unmade or absent)
    hold = {kind for kind, finding in basics.items() if finding.passed}
    finding = _judged(check, made, Others(check=check, checks=checks, seen=seen), hold)
    cause = next(
        (basic for kind, basic in basics.items() if kind in check.row.basics and _is_cause(basic, check)), None
    )
    if finding.passed is False and not finding.error and cause is not None:
        reason = f"{finding.reason}; this follows from the failure of the check {cause.check.kind}"
        finding = replace(finding, reason=reason, faults=(), frames=(), follows=cause.check.name)
    folders = tuple(each.folder for each in made if each.folder and each.events)
    return replace(finding, folders=folders, took_s=sum(each.took_s for each in made))


def _is_cause(basic: Finding, check: Check) -> bool:
    """True if the failure of the basic check explains a failure of this check."""
    if basic.passed is not False or basic.error:
        return False
    if basic.check.kind == "late":
        return Fault.STARVES in basic.faults
    shares = Sharing.SHARED in HOLDS[check.must]
    in_turn = {Fault.BY_STREAM_ID, Fault.NO_PREEMPTION} & set(basic.faults)
    if basic.check.kind == "patience" and not {Fault.AGES, Fault.STARVES} & set(basic.faults):
        return False
    return basic.check.kind != BASIC or not shares or bool(in_turn)


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """The answer of a check's trials. word: a word of analysis/judgement. shown, load: the trial and load with proof.

    faults: those that explain the answer, instead of the kind's. by_id: True if the stream that was requested first
    always comes first. is_late: True if the stream asked for first came alone, once it had begun.
    """

    word: str
    reason: str
    shown: Seen
    load: int = 1
    by_id: bool = False
    is_late: bool = False
    faults: tuple[Fault, ...] = ()


def _judged(check: Check, made: Sequence[Seen], others: Others, hold: Collection[str]) -> Finding:
    """Judges a check all of whose trials were made. hold: the kinds of basic checks that hold."""
    if failed := next((each for each in made if each.failure), None):
        return _failed(check, failed, hold)
    if check.row.question is Question.LATE:
        reply = late_reply(made[0].loads, is_read=BASIC in hold)
        answered: StrEnum = reply.word
        reason = reply.reason
        if answered is Late.KEPT and (exceeded := _exceeded(check, made[0])):
            answered, reason = Late.EXCEEDS, f"{exceeded}; {reason}"
        if reply.word is Late.KEPT and (size_bytes := _after_last_byte(made[0])) > _MOST_LATE_BYTES:
            answered = Several.ENDS_LATE
            reason = f"{size_bytes:,} bytes of other streams came between the last byte and END_STREAM; {reason}"
        answer = _Answer(word=answered, reason=reason, shown=made[0], load=reply.load)
    elif check.row.question is Question.SEVERAL:
        answer = _several(check, made[0], hold)
    else:
        probes = [each.probe for each in made if each.probe is not None]
        if len(probes) < len(made):
            return Finding(check=check, passed=False, error=True, reason="the client never opened its window")
        answer = (_order if check.row.question is Question.ORDER else _sharing)(made, probes)
    ledger = answer.shown.ledger
    if answer.word in HOLDS[check.must]:
        return Finding(check=check, passed=True, reason=answer.reason, ledger=ledger)
    fault = _fault_of(check, answer, others, hold)
    return Finding(
        check=check,
        passed=False,
        reason="; ".join([answer.reason, *([check.rule] if check.rule else [])]),
        faults=_fitting(answer.faults, fault) or ((fault,) if fault else ()),
        frames=tuple(answer.shown.frames(answer.load)),
        ledger=ledger,
    )


def _fitting(faults: Sequence[Fault], fault: Fault | None) -> tuple[Fault, ...]:
    """Returns the faults that explain an answer. Without a fault for the whole, only waiting for long shows itself."""
    return tuple(each for each in faults if fault is not None or each is Fault.AGES)


def _fault_of(check: Check, answer: _Answer, others: Others, hold: Collection[str]) -> Fault | None:
    """Returns the fault of a wrong answer without names of its own; None if what was seen does not show it."""
    fault = check.row.faults[check.must].get(answer.word)
    if fault is Fault.BUFFERS and not answer.shown.chose_early:
        return Fault.LATE_LAST if answer.shown.holds_bytes and answer.word == Late.LOST else None
    if fault is Fault.ONLY_FIRST_LOAD and answer.shown.chose_early and answer.shown.came_alone:
        return Fault.BUFFERS
    if fault is Fault.IGNORES_INCREMENTAL and others.share_later:
        return Fault.FIRST_UNREAD
    levels = others.levels
    unasked = levels is not None and ignores_urgency(levels.competition, priorities_of(levels.page))
    if check.kind == "levels" and unasked and others.overtake:
        return Fault.AFTER_WINDOW
    if check.row.offenders and levels is not None:
        is_right = not levels.competition.wrong(priorities_of(levels.page), Relation.ANY)
        return fault if is_right else None
    if check.kind != BASIC or fault is None:
        return fault
    if levels is not None and (shares := levels.competition.shares):
        asked = priorities_of(levels.page)
        pairs = levels.competition.wrong(asked, Relation.ANY)
        wrong = len(pairs) / len(shares)
        whole = _mistakes(levels.competition, asked, KINDS["levels"], levels, in_turn=_ARRIVAL in hold)
        if whole and whole <= {*_WHOLES.values()}:
            return whole.pop()
        if fault is Fault.IGNORES_URGENCY and wrong < _HALF:
            goes_on = len({_less_urgent(pair, asked) for pair in pairs}) == 1 and others.wait_for_begun
            return Fault.NO_PREEMPTION if answer.by_id and (not wrong or goes_on) else Fault.PARTLY
    if fault is Fault.IGNORES_URGENCY and others.overtake:
        return Fault.AFTER_WINDOW
    if fault is Fault.IGNORES_URGENCY and answer.by_id and others.have_one_priority:
        return Fault.FIRST_FOR_ALL
    if fault is Fault.IGNORES_URGENCY and answer.by_id and others.come_in_turn:
        return Fault.BY_STREAM_ID
    if fault is Fault.SHARES and answer.is_late:
        return Fault.LATE_CHOICE
    return fault


_HALF = 0.5


def _exceeded(check: Check, seen: Seen) -> str | None:
    """Returns in words which limit of the check the last load exceeds; None if it exceeds none."""
    if seen.oracle is None:
        return None
    if check.late_by_ns is not None and (late_ms := seen.oracle.inversion_ms) * 10**6 > check.late_by_ns:
        return f"its first byte was {late_ms:.0f} ms late, and late_by = {check.late_by}"
    if check.needless_bytes is not None and (needless := seen.oracle.inversion_bytes) > check.needless_bytes:
        return f"{needless:,} needless bytes came before it, and needless_bytes = {check.needless_bytes:,}"
    return None


def _after_last_byte(seen: Seen) -> int:
    """Returns the bytes of others before the end of an important resource's stream, after its last byte."""
    last = [event for event in seen.events if event.load == seen.events[-1].load]
    return max(bytes_before_end(last, each.name) for each in seen.page.important)


def _failed(check: Check, failed: Seen, hold: Collection[str]) -> Finding:
    """Judges a trial that has no result. Of page loads the frames are those of the load that failed."""
    is_load = check.row.question is Question.LATE and failed.events
    frames = tuple(failed.frames(failed.events[-1].load if is_load else 1))
    broken = check.row.faults[check.must].get(Several.BROKEN)
    if broken and hold and is_refused(str(failed.failure)):
        return Finding(check=check, passed=False, reason=str(failed.failure), faults=(broken,), frames=frames)
    lost = check.row.faults[check.must].get(Several.UNFINISHED)
    if lost and hold and OVERDUE in str(failed.failure):
        return Finding(check=check, passed=False, reason=str(failed.failure), faults=(lost,), frames=frames)
    if (is_load and is_starved(failed.events, failed.page)) or _is_stalled(failed.events):
        faults = (Fault.STARVES,)
        return Finding(check=check, passed=False, reason=str(failed.failure), faults=faults, frames=frames)
    return Finding(check=check, passed=False, error=True, reason=str(failed.failure), frames=frames)


def _is_stalled(events: Sequence[Event]) -> bool:
    """True if nothing came any more, in a probe, although the client opened the connection's window time and again."""
    steps = 0
    for event in events:
        if event.kind is Kind.DATA:
            steps = 0
        elif event.kind is Kind.WINDOW_OPENED and event.stream_id is None:
            steps += 1
    return steps >= STALLED_STEPS


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
        by_id=all(turns(probe) is Sharing.REQUESTED_FIRST for probe in probes),
        is_late=all(len(probe.served) <= _FEW_TURNS for probe in probes),
    )


_FEW_TURNS = 2
"""A server that shares the window changes streams more often: one that chooses late changes once."""


def _several(check: Check, seen: Seen, hold: Collection[str]) -> _Answer:
    """Judges a probe of several streams. hold: the kinds of basic checks that hold.

    If the server does not serve streams of one urgency in the order of their requests, their order says nothing of how
    it reads priorities.
    """
    competition, row, in_turn = seen.competition, check.row, _ARRIVAL in hold
    asked = priorities_of(seen.page)
    ties = Relation.ANY if row.ties is Relation.IN_TURN and not in_turn else row.ties
    tolerance = getattr(check, "tolerance", None)
    if competition.stalled is not None:
        reason = f"nothing was sent, though stream {_named(competition.stalled, seen)} was waiting with an open window"
        return _Answer(word=Several.STALLED, reason=reason, shown=seen)
    wrong = competition.wrong(asked, ties, tolerance=tolerance)
    offended = competition.early(asked, _MOST_EARLY_BYTES) if row.offenders else []
    wrong = list(dict.fromkeys([*wrong, *offended]))
    if not wrong:
        return _Answer(word=Several.IN_ORDER, reason=f"{len(asked)} streams in order", shown=seen)
    found = _mistakes(competition, asked, row, seen, in_turn=in_turn or row.ties is Relation.FIRST)
    if _LEVELS in hold and found <= _OF_LEVELS:
        found = set()
    if offended:
        early = {_less_urgent(pair, asked) for pair in offended}
        found |= {
            fault for name, fault in row.offenders.items() if name in early and _is_shown(fault, name, competition)
        }
    told = "; ".join(_pair(pair, competition.share(pair), asked, seen, ties) for pair in wrong[:_PAIRS_TOLD])
    more = f"; and {len(wrong) - _PAIRS_TOLD} more pairs of streams" if len(wrong) > _PAIRS_TOLD else ""
    return _Answer(
        word=_word(wrong, competition, asked, ties, blocked=_blocked(seen)),
        reason=f"{told}{more}",
        shown=seen,
        faults=tuple(fault for fault in Fault if fault in found),
    )


def _mistakes(
    competition: Competition, asked: Mapping[str, Priority], row: Row, seen: Seen, *, in_turn: bool
) -> set[Fault]:
    """Returns the names of the mistakes in reading priorities that explain the order; none if they are unknown."""
    names = mistakes_in(competition, asked, row.mistakes, Relation.FIRST if in_turn else Relation.ANY)
    found = {fault for fault in Fault if fault in names}
    if len(found) == 1 or not row.wholes:
        return found
    texts = {each.name: each.cue.text for each in seen.page.contents if each.cue}
    whole = whole_mistake(competition, asked, texts, in_turn=in_turn)
    return {_WHOLES[whole]} if whole else found


_WHOLES = {
    Whole.FIRST: Fault.FIRST_REQUESTS,
    Whole.LAST: Fault.LAST_REQUESTS,
    Whole.BITS: Fault.BITS,
    Whole.COARSE: Fault.COARSE,
    Whole.TEXT: Fault.TEXT,
    Whole.NO_FIELD: Fault.NO_FIELD_SHARES,
    Whole.DEFAULT: Fault.WRONG_DEFAULT,
}


def _is_shown(fault: Fault, name: str, competition: Competition) -> bool:
    """True if a stream that got bytes too early shows this fault: one that has waited for long had waited before."""
    return (fault is Fault.AGES) is (competition.waited.get(name, 0) > _LONG_BYTES)


_LONG_BYTES = 65_536
"""A stream has waited for long if others got so many bytes before: eight steps of the window."""


def _less_urgent(pair: Pair, asked: Mapping[str, Priority]) -> str:
    return max(pair, key=lambda name: asked[name].urgency)


_MOST_EARLY_BYTES = 12_288
"""A stream that has to wait gets no more than this, one and a half steps of the window."""

_MOST_LATE_BYTES = 131_072
"""A stream ends before so many bytes of others have come after its last byte. Go's server, which learns late that a
response has ended, lets some 50 KiB pass."""

_PAIRS_TOLD = 2
_ONE_FIRST = (Relation.FIRST, Relation.SECOND)


def _blocked(seen: Seen) -> set[str]:
    return {each.name for each in seen.page.contents if each.cue and each.cue.window_step}


def _word(
    wrong: Sequence[Pair],
    competition: Competition,
    asked: Mapping[str, Priority],
    ties: Relation,
    *,
    blocked: Collection[str],
) -> Several:
    """Returns what several streams did. blocked: the streams whose windows were opened late."""
    right = {pair: expected(pair, asked, ties) for pair in wrong}
    first = {pair[0] if each is Relation.FIRST else pair[1] for pair, each in right.items() if each in _ONE_FIRST}
    if (
        first
        and not first & {*blocked}
        and {asked[each].urgency for each in first} <= {asked[each].urgency for each in blocked}
    ):
        return Several.PASSED_OVER
    if all({*pair} & {*blocked} for pair in wrong):
        return Several.FORGOTTEN
    if ties is Relation.FIRST and competition.as_opened(asked):
        return Several.REOPENED
    if all(Relation.SHARED.fits(competition.share(pair)) for pair in wrong) and Relation.SHARED not in right.values():
        return Several.ALL_SHARED
    opposite = {Relation.FIRST: Relation.SECOND, Relation.SECOND: Relation.FIRST}
    turned = all(each in opposite and opposite[each].fits(competition.share(pair)) for pair, each in right.items())
    if turned and len(wrong) > len(competition.shares) / 2:
        return Several.ALL_TURNED
    return Several.WRONG


def _pair(pair: Pair, share: float, asked: Mapping[str, Priority], seen: Seen, ties: Relation) -> str:
    match expected(pair, asked, ties):
        case Relation.SHARED:
            return f"stream {_named(pair[0], seen)} got {share:.0%} beside stream {_named(pair[1], seen)}, not a half"
        case Relation.SECOND:
            pair, share = (pair[1], pair[0]), 1 - share
    return f"stream {_named(pair[0], seen)} got {share:.0%} beside stream {_named(pair[1], seen)}, and asked for all"


def _named(name: str, seen: Seen) -> str:
    """Returns the number of a stream and what the client said of its priority."""
    own = [event for event in seen.events if event.resource == name and event.kind in _SAID]
    texts = [(event.detail or "no field").removeprefix("priority: ") for event in own]
    if own and own[0].kind is Kind.PRIORITY_SENT:
        texts[0] += " before the request"
    return f"{own[0].stream_id} ({', then '.join(texts)})" if own else name


_SAID = (Kind.REQUEST_SENT, Kind.PRIORITY_SENT)


def _sharing(made: Sequence[Seen], probes: Sequence[Probe]) -> _Answer:
    asked = ", ".join(map(str, asked_by(made[0].trial.page, made[0].trial.dialect)))
    share = probes[0].important_share
    reason = f"of two incremental streams of one urgency, the second got {share:.0%} of the window; {asked}"
    return _Answer(word=turns(probes[0]), reason=reason, shown=made[0])
