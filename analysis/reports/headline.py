"""Says in a sentence per comparison what an experiment showed: how much sooner the focal resource came. Pure.

Rules:
1. An arm with LOWAT is compared with its control: the arm that differs from it in LOWAT alone, and has LOWAT unset. If
   no arm has a control, the other arms are compared with the first one.
2. Both arms are compared by the same resource: the focal resource of the control or, in general, of the second arm.
   Without other resources beside it, its last bytes and goodput are compared, otherwise its first bytes. If the page
   marks nothing as important, the last bytes and the goodput of the loads are told.
3. Two times are the same if they differ by less than the time that the link needs for one TLS record. A resource is
   late if it came at least this time after the oracle's bound.
4. An arm that is not ok is compared with nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from priolab.analysis.loads.findings import lateness_in
from priolab.common.amounts import rate, seconds
from priolab.common.formats.run import Verdict
from priolab.common.packets import RECORD_BYTES

_MOST = 6
"""The largest number of sentences about comparisons; one more sentence gives the number of those left out."""

_OF_LOWAT = ("lowat", "target_delay_ns")
_LEAST_MS = 1.0

Arm = Mapping[str, Any]


def headline(arms: Sequence[Arm]) -> list[str]:
    """Returns the sentences about the arms of a summary (`summary.summarize`); none for loads with PLAN=probe."""
    if any(arm["probe"] is not None for arm in arms):
        return []
    is_judged = any(each["important"] for each in arms[0]["scenario"]["resources"])
    if not is_judged and any(arm["status"] == "ok" for arm in arms):
        return [_of_pages(arms)]
    if len(arms) == 1:
        return [_of_one(arms[0])]
    if all(arm["status"] != "ok" for arm in arms):
        return ["no arm is ok, so there is nothing to compare"]
    if all(arm["verdict"] == Verdict.NOTHING for arm in arms):
        return [f"nothing to prioritize in any arm: {arms[0]['verdict_reason']}"]
    told = [_of_two(arm, before) for arm, before in _pairs(arms)]
    left_out = len(told) - _MOST
    return told if left_out <= 0 else [*told[:_MOST], f"the table has {left_out} more to compare"]


def _of_pages(arms: Sequence[Arm]) -> str:
    """Returns the sentence about arms of a page that marks nothing as important."""
    good = [arm for arm in arms if arm["status"] == "ok"]
    told = [f"{_complete(arm)} in {arm['name']}" for arm in good[:_MOST]]
    left_out = [f"the table has {len(good) - _MOST} more"] if len(good) > _MOST else []
    bad = [_ended_badly(arm) for arm in arms if arm["status"] != "ok"]
    return "; ".join([f"the page was complete at {', at '.join(told)}", *left_out, *bad])


def _complete(arm: Arm) -> str:
    """Returns when all important resources were complete, and the load's goodput until then."""
    return f"{seconds(arm['important_last_byte_ms'])} ({rate(arm['goodput_bit_s'])})"


def _pairs(arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    """Returns each arm that has something to be compared with, and the arm with which it is compared."""
    found = list(_treatments(arms))
    return found or [(arm, arms[0]) for arm in arms[1:]]


def _treatments(arms: Sequence[Arm]) -> Iterator[tuple[Arm, Arm]]:
    controls = [arm for arm in arms if arm["scenario"]["lowat"] is None]
    for arm in arms:
        if arm["scenario"]["lowat"] is not None:
            yield from ((arm, each) for each in controls if _without_lowat(each) == _without_lowat(arm))


def _without_lowat(arm: Arm) -> dict[str, Any]:
    return {name: value for name, value in arm["scenario"].items() if name not in _OF_LOWAT}


def _of_one(arm: Arm) -> str:
    if arm["status"] != "ok":
        return _ended_badly(arm)
    if _is_alone(arm):
        return f"{_focal(arm)} was complete at {_complete(arm)} ({arm['verdict']})"
    first_ms, late_ms = arm["first_byte_ms"], (arm["oracle"] or {}).get("inversion_ms")
    at = f"first byte at {seconds(first_ms)}"
    if late_ms is None:
        return f"{_focal(arm)} came: {at} ({arm['verdict']})"
    if not _is_late(arm):
        return f"{_focal(arm)} came as soon as possible: {at} ({arm['verdict']})"
    return (
        f"{_focal(arm)} came {_difference(late_ms)} later than possible: {at}, not {seconds(first_ms - late_ms)} "
        f"({arm['verdict']})"
    )


def _of_two(arm: Arm, before: Arm) -> str:
    for bad in (before, arm):
        if bad["status"] != "ok":
            other = arm if bad is before else before
            return f"{_ended_badly(bad)}, so {other['name']} has nothing to be compared with"
    same = before["focal"] in arm["resources"]
    name = _focal(before) if same else "the important resource"
    alone = _is_alone(arm) and _is_alone(before)
    came, edge = ("was complete", "last byte") if alone else ("came", "first byte")
    key = "last_byte_ms" if alone else "first_byte_ms"
    first_ms, other_ms = (each["resources"][(before if same else each)["focal"]][key] for each in (arm, before))
    at, other_at = (
        f"{seconds(time_ms)} ({rate(each['goodput_bit_s'])})" if alone else seconds(time_ms)
        for time_ms, each in ((first_ms, arm), (other_ms, before))
    )
    told, other_told = _verdict(arm), _verdict(before)
    verdicts = f"{told} in both" if told == other_told else f"{told}, not {other_told}"
    if abs(first_ms - other_ms) < max(_record_ms(arm), _record_ms(before)):
        late = {None} if alone else {_is_late(arm), _is_late(before)}
        how = "as late" if late == {True} else "as soon" if late == {False} else "at the same time"
        return (
            f"{name} {came} {how} in {arm['name']} as in {before['name']}: {edge} at {at} and {other_at} ({verdicts})"
        )
    word = "sooner" if first_ms < other_ms else "later"
    return (
        f"{name} {came} {_difference(abs(first_ms - other_ms))} {word} in {arm['name']} than in {before['name']}: "
        f"{edge} at {at}, not {other_at} ({verdicts})"
    )


def _ended_badly(arm: Arm) -> str:
    words = "failed" if arm["status"] == "failed" else f"is {arm['status']}"
    return f"{arm['name']} {words}"


def _focal(arm: Arm) -> str:
    return f"the {arm['focal']}"


def _is_alone(arm: Arm) -> bool:
    """True if nothing was loaded beside the important resources."""
    return arm["others_last_byte_ms"] is None


def _is_late(arm: Arm) -> bool | None:
    """True if the focal resource's first byte came later than possible; None if the arm has no oracle."""
    late_ms = (arm["oracle"] or {}).get("inversion_ms")
    return None if late_ms is None else late_ms >= _record_ms(arm)


def _verdict(arm: Arm) -> str:
    """Returns the verdict, and how late the order was kept if the verdict's reason says so."""
    late = lateness_in(arm["verdict_reason"] or "")
    return f"{arm['verdict']} {late}" if late else arm["verdict"]


def _record_ms(arm: Arm) -> float:
    """Returns the time that the arm's link needs for one TLS record, in milliseconds; at least 1."""
    rate_bit_s = arm["scenario"]["rate_bit_s"]
    return _LEAST_MS if rate_bit_s is None else max(_LEAST_MS, RECORD_BYTES * 8 / rate_bit_s * 1000)


def _difference(time_ms: float) -> str:
    return f"{time_ms / 1000:.1f} s" if time_ms >= 1000 else f"{time_ms:.0f} ms"
