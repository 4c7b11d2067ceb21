"""The findings about LOWAT=auto, and the marked places of docs/measured/auto.md that have them. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.reports.following import BAND, ROUND_TRIPS, Seen, Step, steps
from priolab.analysis.reports.markdown import Table, filled
from priolab.analysis.sweeps import cautious_tuner as new
from priolab.analysis.sweeps import table
from priolab.analysis.sweeps.auto_vs_fixed import LATER
from priolab.analysis.sweeps.cautious_tuner import NewConnection
from priolab.analysis.sweeps.moment_means import MomentMeans
from priolab.analysis.sweeps.network_knobs import AUTO
from priolab.analysis.sweeps.validation import Kept
from priolab.common.amounts import UNKNOWN, milliseconds, rate
from priolab.experiments.execution.cli_request import joined_words

_AUTO = "LOWAT=auto"
BY_DEFAULT = "LOWAT=auto, in the kernel"
"""The only arm of LOWAT=auto that must follow the link's changing rate. The document reports the other arms, too."""

_MS = 10**6
_GRID_HEAD = ("network", "auto:", "best fixed:", "ratio:", "goodput:", "noise band:")
_MOMENTS_HEAD = ("mean: auto:", "best fixed:", "ratio:", "best fixed is faster:")
_STEPS_HEAD = ("", "new rate", "two round trips", "LOWAT correct after", "unsent bytes correct after", "followed")


@dataclass(frozen=True, kw_only=True)
class AutoResults:
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
        confirm every recommended value. Auto follows a link's changing rate, and no fixed LOWAT follows
        it. On new connections the cautious tuner is near auto, and keeps goodput.
        """
        auto = self.summary["auto"]
        is_near = sum(means.is_near for means in self.at_moments.values()) == auto["judged"]
        follows = {name: all(step.is_followed for step in steps(seen)) for name, seen in self.followed.items()}
        fixed = [followed for name, followed in follows.items() if not name.startswith(_AUTO)]
        return (
            is_near
            and auto["keep_goodput"] == auto["judged"]
            and all(each.holds for found in self.kept.values() for each in found)
            and follows[BY_DEFAULT]
            and not any(fixed)
            and all(each.holds for each in self.new)
        )


def places(found: AutoResults, knobs: Mapping[str, str], new_knobs: Mapping[str, str]) -> dict[str, str]:
    """Returns the marked places of docs/measured/auto.md.

    knobs: the knobs of the loads in which the link's rate changes. new_knobs: those of all loads on new connections.
    """
    summary, auto, means = found.summary, found.summary["auto"], found.at_moments
    kept = [all(each.holds for each in measured) for measured in found.kept.values()]
    delays = dict.fromkeys(f"{each.moments_ms[0]} to {each.moments_ms[-1]} ms" for each in means.values())
    return {
        "repetitions": str(summary["repeat"]),
        "fabric": f"`{summary['fabric']}`",
        "later": f"{LATER:.0%}",
        "near": f"{auto['near']} of {auto['judged']}",
        "goodput-kept": str(auto["keep_goodput"]),
        "ratio": f"{auto['worst_ratio']:.2f}",
        "grid": Table(head=(*_GRID_HEAD, *_MOMENTS_HEAD), rows=tuple(_grid(summary, means))).markdown(),
        "losses": _paragraphs(_losses(summary)),
        "moments": str(max((len(each.moments_ms) for each in means.values()), default=0)),
        "moments-delays": ", ".join(delays),
        "moments-near": _near(means.values()),
        "moments-ratio": f"{max((each.ratio for each in means.values()), default=1):.2f}",
        "moments-missed": _paragraphs(_missed(summary, means)),
        "confirmed": f"{sum(kept)} of {len(kept)}",
        "not-confirmed": _paragraphs(_broken(found.kept)),
        "new-knobs": f"`{joined_words(new_knobs)}`",
        "new-near": _near(found.new),
        "new": new.markdown(found.new),
        "steps-knobs": f"`{joined_words(knobs)}`",
        "round-trips": str(ROUND_TRIPS),
        "band": f"{BAND:.0%}",
        "steps": Table(head=_STEPS_HEAD, rows=tuple(_followed(found.followed))).markdown(),
    }


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n\n".join(map(filled, texts))


def _near(found: Iterable[MomentMeans | NewConnection]) -> str:
    near = [each.is_near for each in found]
    return f"{sum(near)} of {len(near)}"


def _grid(summary: Mapping[str, Any], means: Mapping[str, MomentMeans]) -> Iterator[tuple[str, ...]]:
    """Yields a row for each network: with one delay of the script, and the means over several. Misses are named."""
    of_auto = table.of_auto(summary)
    assert of_auto is not None, "the sweep has LOWAT=auto among its values"
    for name, _, first_byte, best, ratio, near, goodput, kept, band in of_auto.rows:
        told = (
            f"{ratio}{'' if near == 'yes' else f', near: {near}'}",
            f"{goodput}{'' if kept == 'yes' else f', kept: {kept}'}",
        )
        yield name, first_byte, best, *told, band, *(_mean(means[name]) if name in means else [UNKNOWN] * 4)


def _mean(means: MomentMeans) -> tuple[str, ...]:
    return (
        milliseconds(means.mean_ms(AUTO)),
        f"{means.best}: {milliseconds(means.mean_ms(means.best))}",
        f"{means.ratio:.2f}{'' if means.is_near else ', near: no'}",
        str(means.sooner(means.best)),
    )


def _missed(summary: Mapping[str, Any], found: Mapping[str, MomentMeans]) -> Iterator[str]:
    """Yields sentences about each network in which auto's first byte in the sweep is not near the best fixed value's.

    found: the means over several delays, by the network's name.
    """
    for network in summary["networks"]:
        for judgement in network["auto"]:
            if judgement["near"] is False and (means := found.get(network["network"])):
                lucky = judgement["best_fixed"]
                told = (
                    f"In {network['network']} the script's first byte with auto is not near that with LOWAT={lucky}, if"
                    f" JS_DELAY is {means.moments_ms[0]} ms"
                )
                if lucky not in means.first_bytes_ms:
                    yield f"{told}. LOWAT={lucky} was not measured with every JS_DELAY."
                else:
                    yield (
                        f"{told}. Of the {len(means.moments_ms)} values of JS_DELAY, LOWAT={lucky} is faster than auto"
                        f" with {means.sooner(lucky)}. The mean first byte is {milliseconds(means.mean_ms(lucky))} with"
                        f" LOWAT={lucky}, and {milliseconds(means.mean_ms(AUTO))} with auto."
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


def _broken(kept: Mapping[str, Sequence[Kept]]) -> Iterator[str]:
    """Yields a sentence for each network in which new runs do not confirm the recommended value."""
    for name, found in kept.items():
        if broken := [each.words for each in found if not each.holds]:
            yield f"{name}: {'; '.join(broken)}."


def _followed(followed: Mapping[str, Seen]) -> Iterator[tuple[str, ...]]:
    """Yields a row for each change of the rate in each arm."""
    for name, seen in followed.items():
        for number, step in enumerate(steps(seen)):
            yield ("" if number else name, *_row(step))


def _row(step: Step) -> tuple[str, ...]:
    two = step.round_trips_ns[-1] if len(step.round_trips_ns) == ROUND_TRIPS else None
    return (
        rate(step.rate_bit_s),
        UNKNOWN if two is None else milliseconds(two / _MS),
        *map(_after, (step.lowat_ns, step.unsent_ns)),
        "yes" if step.is_followed else "no",
    )


def _after(time_ns: int | None) -> str:
    if time_ns is None:
        return "never"
    said = milliseconds(time_ns / _MS)
    return "at once" if said == milliseconds(0) else said
