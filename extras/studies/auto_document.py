"""Writes docs/measured/auto.md: the findings about LOWAT=auto, in words and tables. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from priolab.analysis.reports.following import BAND, ROUND_TRIPS, Seen, Step, steps
from priolab.analysis.sweeps import new_connections as new
from priolab.analysis.sweeps import table
from priolab.analysis.sweeps.moment_means import MomentMeans
from priolab.analysis.sweeps.network_knobs import AUTO
from priolab.analysis.sweeps.new_connections import NewConnection
from priolab.analysis.sweeps.promise import Kept
from priolab.analysis.sweeps.steered import LATER
from priolab.analysis.sweeps.words import milliseconds, rate

_AUTO = "LOWAT=auto"
_BY_DEFAULT = "LOWAT=auto, in the kernel"
"""The only arm of LOWAT=auto that must follow the link's changing rate. The document reports the other arms, too."""

_MS = 10**6


@dataclass(frozen=True, kw_only=True)
class Study:
    """The measurements about LOWAT=auto.

    summary: the summary of the sweep. at_moments: for each network, the times of the script's first byte with each of
    several times for which the origin holds the script back (JS_DELAY). kept: for each network, the comparison of new
    runs with the promise for the recommended value. followed: for each arm on a link whose rate changes, by the arm's
    name, the observations. new: the cautious tuner on new connections.
    """

    summary: Mapping[str, Any]
    at_moments: Mapping[str, MomentMeans]
    kept: Mapping[str, Sequence[Kept]]
    followed: Mapping[str, Seen]
    new: Sequence[NewConnection]

    @property
    def holds(self) -> bool:
        """True if LOWAT=auto does all that the lab claims.

        In every judged network auto keeps goodput, and the mean time of the script's first byte is near that with the
        best fixed value. The mean is over several times for which the origin holds the script back (JS_DELAY). New runs
        confirm every recommended value. Auto in the kernel follows a link's changing rate, and no fixed LOWAT follows
        it. On new connections the cautious tuner in the kernel is near auto, and keeps goodput.
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
            and all(each.holds for each in self.new)
        )


def text(study: Study, knobs: Mapping[str, str], new_knobs: Mapping[str, str]) -> str:
    """Returns the text of docs/measured/auto.md.

    knobs: the knobs of the loads in which the link's rate changes. new_knobs: those of all loads on new connections.
    """
    parts = [*_grid(study), *_promises(study), *new_connections(study.new, new_knobs), *_following(study, knobs)]
    return "\n\n".join(["# LOWAT=auto, measured", *parts]) + "\n"


def _prose(words: str) -> str:
    return fill(words, width=120, break_long_words=False, break_on_hyphens=False)


def _grid(study: Study) -> Iterator[str]:
    summary = study.summary
    auto = summary["auto"]
    yield _prose(
        "Made by `make auto`. [tuner.md](../guide/tuner.md) explains LOWAT=auto; this page has the measurements. "
        "The last section, on traces, is made by `make traces` ([traces.md](traces.md)). Times and goodputs are "
        f"medians of {summary['repeat']} repetitions with different seeds, in the fabric "
        f"`{summary['fabric']}`."
    )
    yield "## Against the best fixed value"
    yield _prose(
        "The best fixed value of a network is found by measuring every LOWAT of the sweep. Auto gets no information "
        "about the link. *Ratio*: the time of the script's first byte with auto, divided by the time with the best "
        f"fixed value. *Near*: with auto the script's first byte is at most {LATER:.0%}, or one TLS record's time, "
        "later than with the best fixed value. *Goodput, of unset*: goodput as a percentage of the goodput with LOWAT "
        "unset. *Kept*: this percentage is at least 99 %. *Noise band*: the difference of first bytes that may be "
        "chance, from an A/A pair (the same scenario with other seeds), and at least the time of one TLS record."
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
    yield "### With other delays of the script"
    yield _prose(
        "The server writes whole packet buffers, and the script waits for the end of the current one. The wait "
        "depends on the time at which the origin has the script (JS_DELAY), so with a single JS_DELAY a LOWAT may be "
        f"the best by chance. So each LOWAT was measured with {moments} values of JS_DELAY, spread evenly over the "
        "time that two packet buffers take at the link's rate. The table has the mean times of the script's first "
        "byte. Here the best fixed value is the LOWAT with the smallest mean."
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
    head = ("network", "JS_DELAY", "auto", "best fixed", "ratio", "near", "best fixed is faster than auto")
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
    """Returns a sentence about a network in which auto's first byte in the sweep is not near the best fixed value's."""
    lucky = judgement["best_fixed"]
    told = (
        f"In {network['network']} the script's first byte with auto is not near that with LOWAT={lucky}, if JS_DELAY "
        f"is {means.moments_ms[0]} ms"
    )
    if lucky not in means.first_bytes_ms:
        return f"{told}. LOWAT={lucky} was not measured with every JS_DELAY."
    return (
        f"{told}. Of the {len(means.moments_ms)} values of JS_DELAY, LOWAT={lucky} is faster than auto with "
        f"{means.sooner(lucky)}. The mean first byte is {milliseconds(means.mean_ms(lucky))} with LOWAT={lucky}, and "
        f"{milliseconds(means.mean_ms(AUTO))} with auto."
    )


def _losses(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence for each network in which auto does not keep goodput."""
    for network in summary["networks"]:
        for judgement in network["auto"]:
            if judgement["keeps_goodput"] is False:
                apart = network["no_difference"]["goodput_bit_s"]["pair_part"] or 0.0
                yield (
                    f"In {network['network']} auto does not keep goodput: it is {1 - judgement['goodput_part']:.1%} "
                    f"less than with LOWAT unset. The medians of the network's A/A pair differ by {apart:.1%}."
                )


def _promises(study: Study) -> Iterator[str]:
    kept = [all(each.holds for each in found) for found in study.kept.values()]
    yield "## The recommended values, measured again"
    yield _prose(
        "`priolab knee` recommends a value for each network ([choosing.md](../guide/choosing.md)). These values were "
        f"measured again with new seeds: **{sum(kept)} of {len(kept)} are confirmed**. A value is confirmed if the "
        "script's first byte and the goodput are within the sweep's intervals, widened by the noise band."
    )
    for name, found in study.kept.items():
        if broken := [each.words for each in found if not each.holds]:
            yield _prose(f"{name}: {'; '.join(broken)}.")


def new_connections(found: Sequence[NewConnection], knobs: Mapping[str, str]) -> Iterator[str]:
    """Yields the section about the cautious tuner on new connections. knobs: the knobs of all its loads."""
    near = sum(each.is_near for each in found)
    yield "## The cautious tuner, on new connections"
    yield _prose(
        "`priolab tune` applies the law with [caution](../guide/tuner.md#never-worse-than-without): it lowers a value "
        "a second later than LOWAT=auto, so its first values matter more. Each run is one load on a new connection "
        f"(`{_words(knobs)}`), with round trips of 1 to 20 ms. The table has the time of the script's first byte, "
        "which the origin has after 200 ms. *Near*: with the cautious tuner in the kernel the first byte is at most "
        f"{LATER:.0%}, or one TLS record's time, later than with auto. *Goodput, of unset*: with the cautious tuner in "
        "the kernel, and beside the server. The tuner beside the server finds a new connection after up to 100 ms; "
        "until then a server may write as if LOWAT were unset."
    )
    yield _prose(f"**Near in {near} of {len(found)} networks.**")
    yield new.markdown(found)


def _words(knobs: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in knobs.items())


def _following(study: Study, knobs: Mapping[str, str]) -> Iterator[str]:
    yield "## When the rate changes"
    yield (
        "![Unsent bytes and their bound by LOWAT, as time at the link's rate, for LOWAT=auto and fixed values,\n"
        "while the link's rate drops to a tenth and rises again.](following.png)"
    )
    yield _prose(
        f"Each arm is one load with `{_words(knobs)}`. LOWAT should "
        f"follow a change of the rate within {ROUND_TRIPS} round trips. A round trip ends when all bytes that had been "
        "sent before its beginning are acknowledged. LOWAT is correct if the largest number of unsent bytes that it "
        f"allows, LOWAT and one packet buffer, needs TARGET_DELAY at the link's rate, give or take {BAND:.0%}. The "
        "unsent bytes are correct if sending them needs about TARGET_DELAY. The columns *correct after* have the time "
        "from the change of the rate until LOWAT, or the unsent bytes, are correct and stay correct. *Followed*: LOWAT "
        f"is correct after at most {ROUND_TRIPS} round trips. `analysis/reports/following.py` has the rules."
    )
    head = ("", "new rate", "two round trips", "LOWAT correct after", "unsent bytes correct after", "followed")
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
    said = milliseconds(time_ns / _MS)
    return "at once" if said == milliseconds(0) else said
