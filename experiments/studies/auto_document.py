"""docs/auto.md: what was found of LOWAT=auto, in words and tables. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from textwrap import fill
from typing import Any

from analysis.following import BAND, ROUND_TRIPS, Seen, Step, steps
from analysis.sweeps import table
from analysis.sweeps.promise import Kept
from analysis.sweeps.words import milliseconds, rate

_AUTO = "LOWAT=auto"
_BY_DEFAULT = "LOWAT=auto, in the kernel"
"""Whose following is promised; the others are told of."""

_NEAR = 0.15
_MS = 10**6


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One network with the script at several moments: first bytes with the value that was best, and with auto."""

    best: str
    moments_ms: tuple[int, ...]
    best_ms: tuple[float, ...]
    auto_ms: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Of the means."""
        return mean(self.auto_ms) / mean(self.best_ms)


@dataclass(frozen=True, kw_only=True)
class Study:
    """summary: of the sweep; trials, kept: by network; followed: what was seen of each arm of the steps, by name."""

    summary: Mapping[str, Any]
    trials: Mapping[str, Trial]
    kept: Mapping[str, Sequence[Kept]]
    followed: Mapping[str, Seen]

    @property
    def holds(self) -> bool:
        """Whether auto is near everywhere, or would be but for the script's moment, and the rest without exception."""
        auto = self.summary["auto"]
        is_near = auto["near"] + sum(trial.ratio <= 1 + _NEAR for trial in self.trials.values()) == auto["judged"]
        follows = {name: all(step.is_followed for step in steps(seen)) for name, seen in self.followed.items()}
        fixed = [followed for name, followed in follows.items() if not name.startswith(_AUTO)]
        return (
            is_near
            and auto["keep_goodput"] == auto["judged"]
            and all(each.holds for found in self.kept.values() for each in found)
            and follows[_BY_DEFAULT]
            and not any(fixed)
        )


def text(study: Study, knobs: Mapping[str, str]) -> str:
    """The document. knobs: of the link whose rate changes."""
    parts = [*_grid(study), *_promises(study), *_following(study, knobs)]
    return "\n\n".join(["# LOWAT=auto, measured", *parts]) + "\n"


def _prose(words: str) -> str:
    return fill(words, width=120, break_long_words=False, break_on_hyphens=False)


def _grid(study: Study) -> Iterator[str]:
    summary = study.summary
    auto = summary["auto"]
    yield _prose(
        "Made by `make auto`. [tuner.md](tuner.md) says what LOWAT=auto is; here is what it comes to. Times and "
        "goodputs "
        f"are medians of {summary['repeat']} repetitions with different seeds, in the fabric `{summary['fabric']}`."
    )
    yield "## Against the best fixed value"
    yield _prose(
        "The best fixed value of a network is known afterwards, from trying all of them; auto is told nothing of the "
        f"link. *Near* is a script first byte at most {_NEAR:.0%} later than the best one's, or at most one TLS "
        f"record's "
        "time; *kept* is goodput within 1 % of LOWAT unset. *No difference* is what an A/A pair, the same scenario "
        "with "
        "other seeds, or the packets of one record make of a first byte."
    )
    yield _prose(
        f"**Near in {auto['near']} of {auto['judged']} networks, goodput kept in {auto['keep_goodput']}**; the largest "
        f"ratio is {auto['worst_ratio']:.2f}."
    )
    found = table.of_auto(summary)
    assert found is not None, "the sweep has LOWAT=auto among its values"
    yield found.markdown()
    yield from (_prose(_missed(name, trial)) for name, trial in study.trials.items())
    yield from map(_prose, _losses(summary))


def _missed(name: str, trial: Trial) -> str:
    sooner = sum(best_ms < auto_ms for best_ms, auto_ms in zip(trial.best_ms, trial.auto_ms, strict=True))
    told = (
        f"{name} is not near with the script {trial.moments_ms[0]} ms after its request. At {len(trial.moments_ms)} "
        f"moments from then to {trial.moments_ms[-1]} ms, LOWAT={trial.best} is sooner at {sooner}; on average its "
        f"first "
        f"byte comes after {milliseconds(mean(trial.best_ms))}, and auto's after {milliseconds(mean(trial.auto_ms))}, "
        f"{trial.ratio:.2f} of it"
    )
    if trial.ratio > 1 + _NEAR:
        return f"{told}: auto is late there."
    return (
        f"{told}. The server hands over buffers as a whole, and the script waits for the next one. Which value finds "
        f"that "
        "soon is chance, and the best of five values is the luckiest of five."
    )


def _losses(summary: Mapping[str, Any]) -> Iterator[str]:
    """Where goodput is not kept."""
    for network in summary["networks"]:
        for judgement in network["auto"]:
            if judgement["keeps_goodput"] is False:
                apart = network["no_difference"]["goodput_bit_s"]["pair_part"] or 0.0
                yield (
                    f"{network['network']} does not keep goodput: {1 - judgement['goodput_part']:.1%} less, where the "
                    f"A/A pair alone is {apart:.1%} apart."
                )


def _promises(study: Study) -> Iterator[str]:
    kept = [all(each.holds for each in found) for found in study.kept.values()]
    yield "## What is recommended, put back"
    yield _prose(
        "The value that `priolab knee` recommends for each network ([choosing.md](choosing.md)), in runs with seeds "
        "that "
        f"the sweep had not: **{sum(kept)} of {len(kept)} brought what was promised**, script first byte and goodput, "
        "within the sweep's interval, which is widened by what is no difference."
    )
    for name, found in study.kept.items():
        if broken := [each.words for each in found if not each.holds]:
            yield _prose(f"{name}: {'; '.join(broken)}.")


def _following(study: Study, knobs: Mapping[str, str]) -> Iterator[str]:
    yield "## When the rate changes"
    yield (
        "![Unsent bytes as time at the link's rate, and what LOWAT lets stand, for LOWAT=auto and fixed values,\n"
        "while the link's rate drops to a tenth and rises again.](following.png)"
    )
    yield _prose(
        f"One load with `{' '.join(f'{name}={value}' for name, value in knobs.items())}`. After each change come "
        f"{ROUND_TRIPS} round trips of the connection's own: one is over when all that had been sent when it began "
        f"has been "
        "acknowledged. LOWAT is right while what it lets stand unsent, a packet buffer included, takes the target's "
        "time "
        f"at the link's rate, to {BAND:.0%}. `analysis/following.py` has the rules."
    )
    head = ("", "rate becomes", "two round trips", "LOWAT right after", "what is unsent right after", "followed")
    rows = [
        (name if step is found[0] else "", *_row(step))
        for name, seen in study.followed.items()
        for found in [steps(seen)]
        for step in found
    ]
    yield table.Table(head=head, rows=tuple(rows)).markdown()


def _row(step: Step) -> tuple[str, ...]:
    two = step.round_trips_ns[-1] if len(step.round_trips_ns) == ROUND_TRIPS else None
    return (
        rate(step.rate_bit_s),
        "-" if two is None else milliseconds(two / _MS),
        *map(_after, (step.lowat_ns, step.unsent_ns)),
        "yes" if step.is_followed else "no",
    )


def _after(time_ns: int | None) -> str:
    if time_ns is None:
        return "never"
    return milliseconds(time_ns / _MS) if time_ns else "was already"
