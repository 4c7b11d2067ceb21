"""docs/auto.md: the findings about LOWAT=auto, in words and tables. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from analysis.reports.following import BAND, ROUND_TRIPS, Seen, Step, steps
from analysis.sweeps import table
from analysis.sweeps.moment_means import MomentMeans
from analysis.sweeps.networks import AUTO
from analysis.sweeps.promise import Kept
from analysis.sweeps.steered import LATER
from analysis.sweeps.words import milliseconds, rate

_AUTO = "LOWAT=auto"
_BY_DEFAULT = "LOWAT=auto, in the kernel"
"""The case whose following is promised; the others are only reported."""

_MS = 10**6


@dataclass(frozen=True, kw_only=True)
class Study:
    """summary: of the sweep; at_moments, kept: by network; followed: observations of each arm of the steps, by name."""

    summary: Mapping[str, Any]
    at_moments: Mapping[str, MomentMeans]
    kept: Mapping[str, Sequence[Kept]]
    followed: Mapping[str, Seen]

    @property
    def holds(self) -> bool:
        """True if auto is near in every network, whenever the script comes, and the rest holds without exception."""
        auto = self.summary["auto"]
        is_near = sum(means.is_near for means in self.at_moments.values()) == auto["judged"]
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
        f"goodputs are medians of {summary['repeat']} repetitions with different seeds, in the fabric "
        f"`{summary['fabric']}`."
    )
    yield "## Against the best fixed value"
    yield _prose(
        "The best fixed value of a network is known afterwards, from trying all of them; auto is told nothing of the "
        f"link. *Near* is a script first byte at most {LATER:.0%} later than the best one's, or at most one TLS "
        "record's time; *kept* is goodput within 1 % of LOWAT unset. *No difference* is what an A/A pair, the same "
        "scenario with other seeds, or the packets of one record make of a first byte."
    )
    yield _prose(
        f"**Near in {auto['near']} of {auto['judged']} networks, goodput kept in {auto['keep_goodput']}**; the largest "
        f"ratio is {auto['worst_ratio']:.2f}."
    )
    found = table.of_auto(summary)
    assert found is not None, "the sweep has LOWAT=auto among its values"
    yield found.markdown()
    yield from map(_prose, _losses(summary))
    yield from _at_other_moments(study)


def _at_other_moments(study: Study) -> Iterator[str]:
    found = study.at_moments
    if not found:
        return
    moments = len(next(iter(found.values())).moments_ms)
    near = sum(means.is_near for means in found.values())
    yield "### Whenever the script comes"
    yield _prose(
        "The server hands over buffers as a whole, and the script waits for the next one. Which value finds that soon "
        "is chance, and the best of several values is the luckiest of them. So here is the mean of a script's first "
        f"bytes at {moments} moments, evenly over the time that two packet buffers take at the link's rate; the best "
        "fixed value is the one with the smallest mean."
    )
    yield _prose(
        f"**Near in {near} of {len(found)} networks**; the largest ratio is "
        f"{max(means.ratio for means in found.values()):.2f}."
    )
    yield from (
        _prose(_missed(network, judgement, found[network["network"]]))
        for network in study.summary["networks"]
        for judgement in network["auto"]
        if judgement["near"] is False and network["network"] in found
    )
    head = ("network", "moments", "auto", "best fixed", "ratio", "near", "sooner than auto")
    yield table.Table(head=head, rows=tuple(_mean(name, means) for name, means in found.items())).markdown()


def _mean(name: str, means: MomentMeans) -> tuple[str, ...]:
    return (
        name,
        f"{means.moments_ms[0]} to {means.moments_ms[-1]} ms",
        milliseconds(means.mean_ms(AUTO)),
        f"{means.best}: {milliseconds(means.mean_ms(means.best))}",
        f"{means.ratio:.2f}",
        "yes" if means.is_near else "no",
        f"{means.sooner(means.best)} of {len(means.moments_ms)}",
    )


def _missed(network: Mapping[str, Any], judgement: Mapping[str, Any], means: MomentMeans) -> str:
    """A sentence on a network in which auto is not near at the grid's moment."""
    lucky = judgement["best_fixed"]
    told = f"In {network['network']} auto is not near LOWAT={lucky} with the script at {means.moments_ms[0]} ms"
    if lucky not in means.first_bytes_ms:
        return f"{told}; of that value not every moment is known."
    return (
        f"{told}. That value is sooner than auto at {means.sooner(lucky)} of {len(means.moments_ms)} moments; on "
        f"average its first byte comes after {milliseconds(means.mean_ms(lucky))}, and auto's after "
        f"{milliseconds(means.mean_ms(AUTO))}."
    )


def _losses(summary: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each network that does not keep goodput."""
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
        f"that the sweep had not: **{sum(kept)} of {len(kept)} brought what was promised**, script first byte and "
        "goodput, within the sweep's interval, which is widened by what is no difference."
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
        "has been acknowledged. LOWAT is right while what it lets stand unsent, a packet buffer included, takes the "
        f"target's time at the link's rate, to {BAND:.0%}. `analysis/reports/following.py` has the rules."
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
