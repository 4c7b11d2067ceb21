"""Writes docs/auto.md: the findings about LOWAT=auto, in words and tables. Pure."""

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
"""The only arm that must follow the rate. The document reports the other arms, too."""

_MS = 10**6


@dataclass(frozen=True, kw_only=True)
class Study:
    """The measurements about LOWAT=auto.

    summary: the summary of the sweep. at_moments: first bytes of scripts at several moments, by network. kept: checks
    of the recommended values in new runs, by network. followed: arms on a link whose rate changes, by name.
    """

    summary: Mapping[str, Any]
    at_moments: Mapping[str, MomentMeans]
    kept: Mapping[str, Sequence[Kept]]
    followed: Mapping[str, Seen]

    @property
    def holds(self) -> bool:
        """True if LOWAT=auto does all that the lab claims.

        In every judged network auto is near on the mean of all moments, and keeps goodput. New runs keep all promises.
        Auto in the kernel follows the rate, and no fixed LOWAT does.
        """
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
    """Returns the document. knobs: the knobs of the load on the link whose rate changes."""
    parts = [*_grid(study), *_promises(study), *_following(study, knobs)]
    return "\n\n".join(["# LOWAT=auto, measured", *parts]) + "\n"


def _prose(words: str) -> str:
    return fill(words, width=120, break_long_words=False, break_on_hyphens=False)


def _grid(study: Study) -> Iterator[str]:
    summary = study.summary
    auto = summary["auto"]
    yield _prose(
        "Made by `make auto`. [tuner.md](tuner.md) explains LOWAT=auto; this page has the measurements. Times and "
        f"goodputs are medians of {summary['repeat']} repetitions with different seeds, in the fabric "
        f"`{summary['fabric']}`."
    )
    yield "## Against the best fixed value"
    yield _prose(
        "The best fixed value of a network is found by trying all values; auto knows nothing of the link. *Near*: the "
        f"script's first byte is at most {LATER:.0%}, or one TLS record's time, later than with the best value. "
        "*Kept*: goodput is within 1 % of LOWAT unset. *Noise band*: the difference of first bytes that may be chance, "
        "from an A/A pair (the same scenario with other seeds), and at least the time of one TLS record."
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
    yield "### For scripts at different moments"
    yield _prose(
        "The server writes whole packet buffers, and the script waits for the end of the current one. How long depends "
        "on the moment at which the script exists, so the best of several values at one moment may be the luckiest. "
        f"This table has the mean first byte of scripts at {moments} moments, spread evenly over the time that two "
        "packet buffers take at the link's rate. The best fixed value is the one with the smallest mean."
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
    head = ("network", "moments", "auto", "best fixed", "ratio", "near", "faster than auto")
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
    """Returns a sentence about a network in which auto is not near with the script at the sweep's own moment."""
    lucky = judgement["best_fixed"]
    told = f"In {network['network']} auto is not near LOWAT={lucky} with the script at {means.moments_ms[0]} ms"
    if lucky not in means.first_bytes_ms:
        return f"{told}; that value was not measured at every moment."
    return (
        f"{told}. That value is faster than auto at {means.sooner(lucky)} of {len(means.moments_ms)} moments. Its mean "
        f"first byte is {milliseconds(means.mean_ms(lucky))}, that of auto {milliseconds(means.mean_ms(AUTO))}."
    )


def _losses(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence for each network in which auto does not keep goodput."""
    for network in summary["networks"]:
        for judgement in network["auto"]:
            if judgement["keeps_goodput"] is False:
                apart = network["no_difference"]["goodput_bit_s"]["pair_part"] or 0.0
                yield (
                    f"{network['network']} does not keep goodput: {1 - judgement['goodput_part']:.1%} less; its A/A "
                    f"pair differs by {apart:.1%}."
                )


def _promises(study: Study) -> Iterator[str]:
    kept = [all(each.holds for each in found) for found in study.kept.values()]
    yield "## The recommended values, measured again"
    yield _prose(
        "`priolab knee` recommends a value for each network ([choosing.md](choosing.md)). It was measured again with "
        f"new seeds: **{sum(kept)} of {len(kept)} kept the promise**. A promise is kept if the script's first byte and "
        "the goodput are within the sweep's intervals, widened by the noise band."
    )
    for name, found in study.kept.items():
        if broken := [each.words for each in found if not each.holds]:
            yield _prose(f"{name}: {'; '.join(broken)}.")


def _following(study: Study, knobs: Mapping[str, str]) -> Iterator[str]:
    yield "## When the rate changes"
    yield (
        "![Unsent bytes and their bound by LOWAT, as time at the link's rate, for LOWAT=auto and fixed values,\n"
        "while the link's rate drops to a tenth and rises again.](following.png)"
    )
    yield _prose(
        f"One load with `{' '.join(f'{name}={value}' for name, value in knobs.items())}`. LOWAT has "
        f"{ROUND_TRIPS} round trips to follow a change. A round trip ends when all bytes that had been sent at its "
        "beginning are acknowledged. LOWAT is right if the bytes that it lets stand unsent, a packet buffer included, "
        f"take the target's time at the link's rate, to {BAND:.0%}. `analysis/reports/following.py` has the rules."
    )
    head = ("", "new rate", "two round trips", "LOWAT right after", "unsent bytes right after", "followed")
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
    return milliseconds(time_ns / _MS) if time_ns else "at once"
