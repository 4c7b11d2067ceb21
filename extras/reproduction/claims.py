"""Judges for each picture of the article if its claim holds here. Pure: from numbers to a judgement.

Each picture has a criterion, which depends on verdicts (`priolab.analysis.loads.verdict`) and times, not on a picture's
look:

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

from priolab import Verdict
from priolab.common.amounts import kibibytes
from priolab.extras.reproduction.article import Compared
from priolab.extras.reproduction.figures import Figures
from priolab.extras.reproduction.loads import LoadSeen

_DELAYED_FROM = 0.05
_BEHIND = "script after image (first bytes)"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The claim of a picture.

    source: the number of the article's picture or section. article: what the article reports. here: what the lab
    measured, in words. numbers: the article's numbers beside the lab's. criterion: the condition, in words, under which
    the lab says that the claim holds.
    is_question: True if the article asked a question instead of claiming something.
    """

    title: str
    source: str
    article: str
    here: str
    numbers: Sequence[Compared]
    criterion: str
    holds: bool
    is_question: bool = False

    @property
    def word(self) -> str:
        """The judgement in a word or two."""
        said = "answered" if self.is_question else "reproduced"
        return said if self.holds else f"not {said}"


def fast_link(control: Figures) -> Claim:
    """Judges picture 1: a fast link, LOWAT unset."""
    early_ms = (control.available_s - control.image_last_s) * 1000
    return Claim(
        title="A fast link, LOWAT unset",
        source="picture 7.2",
        article="On a fast link the image has left the front before the script exists: nothing is pending, so there is "
        "nothing that a priority could put in order.",
        here=f"The image was complete {control.image_last_s * 1000:.0f} ms after the page's request, "
        f"{_lead(early_ms)} the origin had the script, at {control.available_s * 1000:.0f} ms; "
        f"{_verdict(control)}.",
        numbers=[
            _compared(
                "image complete",
                "before the script exists",
                f"{abs(early_ms):.0f} ms {'before' if early_ms >= 0 else 'after'} the origin had the script",
            ),
            _compared(
                _BEHIND,
                "about 70 ms, on Google's own pages: map tiles after the minimap's image",
                f"{control.behind_image_s * 1000:.0f} ms",
            ),
        ],
        criterion="the verdict is nothing-to-prioritize",
        holds=control.verdict is Verdict.NOTHING,
    )


def _lead(early_ms: float) -> str:
    return f"{early_ms:.0f} ms before" if early_ms >= 0 else f"{-early_ms:.0f} ms after"


def slow_link(control: Figures) -> Claim:
    """Judges picture 2: a slow link, LOWAT unset."""
    return Claim(
        title="A slow link, LOWAT unset",
        source="picture 7.3",
        article="At 128Kbps and 300 msec the script came seconds later, when the image was nearly all there, although "
        "the script had the higher priority.",
        here=f"Script first byte {control.script_first_s:.2f} s, where {control.possible_s:.2f} s was possible; image "
        f"last byte {control.image_last_s:.2f} s. {kibibytes(control.image_before_bytes)} of the image came before "
        f"the script; {_verdict(control)}.",
        numbers=[
            _compared("script first byte", "seconds later", f"{control.script_first_s:.2f} s"),
            _compared("image by then", "nearly all there", kibibytes(control.image_before_bytes)),
            _compared(
                _BEHIND,
                "1.3 s, on Google's own pages: map tiles after the minimap's image",
                f"{control.behind_image_s:.2f} s",
            ),
        ],
        criterion="the verdict is inverted",
        holds=control.verdict is Verdict.INVERTED,
    )


def with_lowat(control: Figures, treatment: Figures) -> Claim:
    """Judges picture 3: the slow link, LOWAT set to the article's value."""
    sooner_s = control.script_first_s - treatment.script_first_s
    return Claim(
        title=f"The same link, LOWAT {treatment.value}",
        source="picture 7.4",
        article="With TCP_NOTSENT_LOWAT set to 131072 the script began after about 0.2 s, and was complete before the "
        "image.",
        here=f"Script first byte {treatment.script_first_s:.2f} s, {abs(sooner_s):.2f} s "
        f"{'sooner' if sooner_s >= 0 else 'later'} than with LOWAT unset; script last byte "
        f"{treatment.script_last_s:.2f} s, image last byte {treatment.image_last_s:.2f} s; {_verdict(treatment)}.",
        numbers=[
            _compared("LOWAT", "131072", treatment.value),
            _compared("script first byte", "after about 0.2 s", f"{treatment.script_first_s:.2f} s"),
            _compared("script complete", "before the image", _complete(treatment)),
        ],
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
        source="section 8",
        article="Which value to choose was left open. Google watches the delay of the send queue, with a patched "
        "kernel. A value that is too small costs context switches and throughput.",
        here=words,
        numbers=[
            _compared("value", "left open", choice.value),
            _compared("how to choose it", "watch the send queue's delay", "a run with each value"),
            _compared(
                "a value too small costs",
                "context switches and throughput",
                f"LOWAT {ladder[0].value}: page complete {_change(delays[0])}",
            ),
        ],
        criterion="no value delays the page as a whole by 5 % or more, and with no value the script comes later than "
        "with the next larger value by more than the link takes for one TLS record",
        holds=holds,
        is_question=True,
    )


def chosen(ladder: Sequence[Figures], tolerance_s: float | None = None) -> Figures:
    """Returns the largest value whose script comes at most the tolerance later than with the best value.

    tolerance_s: by default a TLS record's time.
    """
    best_s = min(each.script_first_s for each in ladder)
    return max(
        (
            each
            for each in ladder
            if each.script_first_s <= best_s + (each.record_s if tolerance_s is None else tolerance_s)
        ),
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
        source="picture 7.3",
        article="The effect showed only after several reloads, when the kernel's autotuning had grown the send buffer.",
        here=f"Without LOWAT the script's first byte of load {first.number} came at {first.first_byte_s:.2f} s, "
        f"{_buffer(first)}. {when} With LOWAT 131072 it came at {most_s:.2f} s or sooner, in every load.",
        numbers=[
            _compared(
                "the script is late",
                "only after several reloads",
                f"from load {inverted[0].number} on" if inverted else "in no load",
            ),
            _compared(
                "send buffer",
                "grown by autotuning",
                f"load {first.number}: {_buffer_size(first)}; load {worst.number}: {_buffer_size(worst)}",
            ),
        ],
        criterion="with LOWAT unset the first load is kept and a later load is inverted; with LOWAT 131072 no load is "
        "inverted",
        holds=first.verdict is Verdict.KEPT
        and bool(inverted)
        and not any(load.verdict is Verdict.INVERTED for load in treatment),
    )


def _buffer(load: LoadSeen) -> str:
    return "with an unknown send buffer" if load.sndbuf_bytes is None else f"with a send buffer of {_buffer_size(load)}"


def _buffer_size(load: LoadSeen) -> str:
    return "unknown" if load.sndbuf_bytes is None else kibibytes(load.sndbuf_bytes)


def _compared(what: str, article: str, here: str) -> Compared:
    return Compared(what=what, article=article, here=here)


def _complete(figures: Figures) -> str:
    ahead_s = figures.image_last_s - figures.script_last_s
    side = "before" if ahead_s >= 0 else "after"
    return f"{figures.script_last_s:.2f} s, {abs(ahead_s):.2f} s {side} the image"


def _verdict(figures: Figures) -> str:
    return f"verdict: {figures.verdict}"


def _change(part: float) -> str:
    if abs(part) < 0.0005:
        return "at the same time"
    return f"{abs(part):.1%} {'later' if part > 0 else 'sooner'}"
