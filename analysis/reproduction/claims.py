"""Judges for each picture of the article if its claim holds here. Pure: from numbers to a judgement.

Each picture has a criterion, which depends on verdicts (`analysis.loads.verdict`) and times, not on a picture's look:

1. fast link, LOWAT unset: the verdict is nothing-to-prioritize.
2. slow link, LOWAT unset: the verdict is inverted.
3. slow link, LOWAT 131072: the verdict is kept, and the script's first byte comes sooner than with LOWAT unset.
4. which value: no LOWAT delays the page as a whole by 5 % or more, and with no value the script comes more than a TLS
   record's time later than with the next larger value. Then the answer is the largest value with which the script comes
   at most a TLS record's time later than with the best value.
5. load by load, with a send buffer that grows by itself: with LOWAT unset the first load is kept and a later load is
   inverted; with LOWAT 131072 no load is inverted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from analysis.records.runs import Run
from analysis.reproduction.loads import LoadSeen
from common.formats.run import Verdict
from common.formats.scenario import AUTO
from common.packets import RECORD_BYTES

_DELAYED_FROM = 0.05


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The claim of a picture.

    article: what the article reports. here: what the lab measured, in words. criterion: the condition, in words, under
    which the lab says that the claim holds.
    is_question: True if the article asked a question instead of claiming something.
    """

    title: str
    article: str
    here: str
    criterion: str
    holds: bool
    is_question: bool = False

    @property
    def word(self) -> str:
        """The judgement in a word or two."""
        said = "answered" if self.is_question else "reproduced"
        return said if self.holds else f"not {said}"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of a run's measured load. Times are seconds after the page's request.

    possible_s: the oracle's bound for the script's first byte. record_s: the time of a TLS record at the link's rate.
    """

    lowat_bytes: int | None
    verdict: Verdict
    script_first_s: float
    script_last_s: float
    image_last_s: float
    available_s: float
    possible_s: float
    image_before_bytes: int
    record_s: float

    @property
    def complete_s(self) -> float:
        """The time at which script and image are complete."""
        return max(self.script_last_s, self.image_last_s)

    @property
    def value(self) -> str:
        """LOWAT as text; `unset` if it is unset."""
        return "unset" if self.lowat_bytes is None else str(self.lowat_bytes)

    @classmethod
    def of(cls, run: Run) -> Self:
        """Reads the figures from a run that is ok."""
        load, oracle = run.record.measured, run.record.oracle
        script, image = load.resources["script"], load.resources["image"]
        lowat, rate_bit_s = run.scenario.lowat, run.scenario.rate_bit_s
        assert run.record.verdict is not None
        assert oracle is not None
        assert lowat != AUTO
        return cls(
            lowat_bytes=lowat,
            verdict=run.record.verdict,
            script_first_s=script.first_byte_ms / 1000,
            script_last_s=script.last_byte_ms / 1000,
            image_last_s=image.last_byte_ms / 1000,
            available_s=load.available_ms / 1000,
            possible_s=oracle.first_byte_ms / 1000,
            image_before_bytes=load.other_bytes_before,
            record_s=RECORD_BYTES * 8 / rate_bit_s if rate_bit_s else 0.0,
        )


def fast_link(control: Figures) -> Claim:
    """Judges picture 1: a fast link, LOWAT unset."""
    early_ms = (control.available_s - control.image_last_s) * 1000
    return Claim(
        title="A fast link, LOWAT unset",
        article="On a fast link the image has left the front before the script exists: nothing is pending, so there is "
        "nothing that a priority could put in order.",
        here=f"The image was complete {control.image_last_s * 1000:.0f} ms after the page's request, "
        f"{_lead(early_ms)} the origin had the script, at {control.available_s * 1000:.0f} ms; "
        f"{_verdict(control)}.",
        criterion="the verdict is nothing-to-prioritize",
        holds=control.verdict is Verdict.NOTHING,
    )


def _lead(early_ms: float) -> str:
    return f"{early_ms:.0f} ms before" if early_ms >= 0 else f"{-early_ms:.0f} ms after"


def slow_link(control: Figures) -> Claim:
    """Judges picture 2: a slow link, LOWAT unset."""
    return Claim(
        title="A slow link, LOWAT unset",
        article="At 128Kbps and 300 ms the script's first byte came only when all or almost all of the image had been "
        "received: seconds late, although the script had the higher priority.",
        here=f"Script first byte {control.script_first_s:.2f} s, where {control.possible_s:.2f} s was possible; image "
        f"last byte {control.image_last_s:.2f} s. {control.image_before_bytes / 1024:.0f} KiB of the image came before "
        f"the script; {_verdict(control)}.",
        criterion="the verdict is inverted",
        holds=control.verdict is Verdict.INVERTED,
    )


def with_lowat(control: Figures, treatment: Figures) -> Claim:
    """Judges picture 3: the slow link, LOWAT set to the article's value."""
    sooner_s = control.script_first_s - treatment.script_first_s
    return Claim(
        title=f"The same link, LOWAT {treatment.value}",
        article="With TCP_NOTSENT_LOWAT set to 131072 the script came early, and was complete before the image.",
        here=f"Script first byte {treatment.script_first_s:.2f} s, {abs(sooner_s):.2f} s "
        f"{'sooner' if sooner_s >= 0 else 'later'} than with LOWAT unset; script last byte "
        f"{treatment.script_last_s:.2f} s, image last byte {treatment.image_last_s:.2f} s; {_verdict(treatment)}.",
        criterion="the verdict is kept, and the script's first byte comes sooner than with LOWAT unset",
        holds=treatment.verdict is Verdict.KEPT and sooner_s > 0,
    )


def which_value(control: Figures, ladder: Sequence[Figures]) -> Claim:
    """Judges picture 4: which value to choose. ladder: figures for each LOWAT, the smallest first."""
    delays = [each.complete_s / control.complete_s - 1 for each in ladder]
    backwards = [
        small.value for small, large in pairwise(ladder) if small.script_first_s > large.script_first_s + large.record_s
    ]
    holds = max(delays) < _DELAYED_FROM and not backwards
    choice = chosen(ladder)
    words = (
        f"With LOWAT {choice.value} the script's first byte comes at {choice.script_first_s:.2f} s. With the best "
        f"value it comes sooner by at most the time of one TLS record on this link, {choice.record_s:.2f} s. "
        f"{choice.possible_s:.2f} s was possible; with LOWAT unset it comes at {control.script_first_s:.2f} s. The "
        f"whole page was complete after {control.complete_s:.2f} s with LOWAT unset. With the value that changed the "
        f"page's time most, the page was complete {_change(max(delays, key=abs))}."
    )
    if backwards:
        words += f" With LOWAT {', '.join(backwards)} the script comes later than with the next larger value."
    return Claim(
        title="The open question: which value?",
        article="Which value to choose was left open.",
        here=words,
        criterion="no value delays the page as a whole by 5 % or more, and with no value the script comes later than "
        "with the next larger value by more than the link takes for one TLS record",
        holds=holds,
        is_question=True,
    )


def chosen(ladder: Sequence[Figures]) -> Figures:
    """Returns the largest value whose script comes at most a TLS record's time later than with the best value."""
    best_s = min(each.script_first_s for each in ladder)
    return max(
        (each for each in ladder if each.script_first_s <= best_s + each.record_s),
        key=lambda each: each.lowat_bytes or 0,
    )


def by_load(control: Sequence[LoadSeen], treatment: Sequence[LoadSeen]) -> Claim:
    """Judges picture 5: the effect in each load of a connection, with a send buffer that grows by itself."""
    inverted = [load for load in control if load.verdict is Verdict.INVERTED]
    first, worst = control[0], max(control, key=lambda load: load.first_byte_s)
    if inverted:
        late = inverted[0]
        when = f"Load {late.number} was inverted: first byte {late.first_byte_s:.2f} s, {_buffer(late)}."
    else:
        when = f"No load was inverted; the script came latest in load {worst.number}, at {worst.first_byte_s:.2f} s."
    most_s = max(load.first_byte_s for load in treatment)
    return Claim(
        title="Only after several reloads",
        article="The effect showed only after several reloads, when the kernel's autotuning had grown the send buffer.",
        here=f"Without LOWAT the script's first byte of load {first.number} came at {first.first_byte_s:.2f} s, "
        f"{_buffer(first)}. {when} With LOWAT 131072 it came at {most_s:.2f} s or sooner, in every load.",
        criterion="with LOWAT unset the first load is kept and a later load is inverted; with LOWAT 131072 no load is "
        "inverted",
        holds=first.verdict is Verdict.KEPT
        and bool(inverted)
        and not any(load.verdict is Verdict.INVERTED for load in treatment),
    )


def _buffer(load: LoadSeen) -> str:
    return (
        "with an unknown send buffer"
        if load.sndbuf_bytes is None
        else f"with a send buffer of {_kib(load.sndbuf_bytes)}"
    )


def _kib(size_bytes: int) -> str:
    return f"{size_bytes / 1024:.0f} KiB"


def _verdict(figures: Figures) -> str:
    return f"verdict: {figures.verdict}"


def _change(part: float) -> str:
    if abs(part) < 0.0005:
        return "at the same time"
    return f"{abs(part):.1%} {'later' if part > 0 else 'sooner'}"
