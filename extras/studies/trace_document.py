"""Writes docs/measured/traces.md: traces of packet opportunities, and how LOWAT=auto does on them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from priolab.analysis.reports.markdown import head

_AUTO, _UNSET = "auto", "none"
_AUTO_TITLE = "## LOWAT=auto on traces"
_INTRODUCTION = """# Traces

`TRACE=FILE` replays packet opportunities toward the client, as mahimahi's mm-link(1) does; `TRACE_UP=FILE` replays them
toward the front. A line of the file is a time in whole milliseconds, at which the link can deliver one packet of 1514
bytes; several smaller packets may share it. After its last line the trace begins again. An opportunity that finds no
packet is lost. Traces in this format are published with mahimahi.

```sh
.venv/bin/priolab trace make lte my.trace --seed 3     # synthetic, see below
make experiment TRACE=my.trace LOWAT=16384,auto DELAY=30ms
```

- The trace begins with the measured load. Before that, while the lab calibrates the link and loads the page to warm
  up, the rate is the trace's mean rate. So `RATE` is not given, and calibration measures the mean rate.
- The lab's ferry replays traces, in every fabric, also in the guest. The kernel's netem cannot.
- The logs are compared with the trace: while packets wait in the bottleneck, data arrives as fast as the trace allows,
  or the run is invalid. The oracle and the ledger use the trace's rate, too. The bytes of an opportunity count as sent
  evenly since the opportunity before, so each time is exact to the gap between two opportunities.
- run.json holds the whole trace, compressed.

`priolab trace make` writes three kinds of synthetic traces. A random process makes them from the seed; they are no
measurements of a network. `lte`: the rate wanders by a factor of two within seconds, with handovers of 0.1 to 0.6 s.
`wifi`: bursts of up to 32 packets, and pauses while others have the channel. `starlink-like`: another rate every 15 s,
with a gap before it.
"""


@dataclass(frozen=True, kw_only=True)
class TraceArms:
    """The arms of one trace. first_byte_ms: the time of the focal resource's first byte, by LOWAT.

    kind: the kind of the trace, of which others differ by their seed. goodput: with auto, as a fraction of the goodput
    with LOWAT unset.
    """

    kind: str
    first_byte_ms: Mapping[str, float]
    goodput: float

    @property
    def best(self) -> str:
        """The fixed LOWAT with the soonest first byte."""
        return min(
            (name for name in self.first_byte_ms if name not in (_AUTO, _UNSET)), key=self.first_byte_ms.__getitem__
        )

    @property
    def regret_ms(self) -> float:
        """The time by which the first byte came later with LOWAT=auto than with the best fixed value."""
        return self.first_byte_ms[_AUTO] - self.first_byte_ms[self.best]


def document(even: Mapping[str, tuple[float, float]], arms: Sequence[TraceArms], words: str) -> str:
    """Returns the text of docs/measured/traces.md.

    even: by figure, its value with a trace of even opportunities and with the same rate, in milliseconds. words: the
    knobs of the runs in `arms`.
    """
    kinds = list(dict.fromkeys(each.kind for each in arms))
    lines = [_INTRODUCTION, "## Even opportunities are a rate", ""]
    lines += ["A trace with one opportunity every 10 ms, and the same rate (`make traces` measured both):", ""]
    lines += head("", "trace:", "rate:")
    lines += [f"| {name} | {trace:.1f} ms | {rate:.1f} ms |" for name, (trace, rate) in even.items()]
    lines += ["", _AUTO_TITLE, "", _explanation(words, len(arms) // len(kinds)), ""]
    lines += head(
        "trace",
        "LOWAT unset:",
        "best fixed value:",
        "auto:",
        "regret, median:",
        "regret, largest:",
        "goodput, of unset:",
    )
    lines += [_row(kind, [each for each in arms if each.kind == kind]) for kind in kinds]
    return "\n".join(lines) + "\n"


def with_traces(auto: str, traces: str) -> str:
    """Returns auto.md with the section about LOWAT=auto of traces.md at its end, in place of an older one.

    auto, traces: the texts of these documents.
    """
    return f"{auto.partition(_AUTO_TITLE)[0].rstrip()}\n\n{traces[traces.index(_AUTO_TITLE) :]}"


def _explanation(words: str, seeds: int) -> str:
    return (
        f"Each kind of trace with {seeds} seeds (`{words}`). Times are means over the seeds of the script's\n"
        "first byte. *Regret*: the time by which the first byte came later with auto than with the fixed value that\n"
        "was best on the same trace. Nobody knows this value beforehand, and it differs from seed to seed. Less than\n"
        "nothing: auto was sooner than every fixed value."
    )


def _row(kind: str, arms: Sequence[TraceArms]) -> str:
    means = [mean(each.first_byte_ms[name] for each in arms) for name in (_UNSET, _AUTO)]
    best = mean(each.first_byte_ms[each.best] for each in arms)
    values = ", ".join(sorted({each.best for each in arms}, key=int))
    regrets = [each.regret_ms for each in arms]
    return (
        f"| {kind} | {means[0]:.0f} ms | {best:.0f} ms ({values}) | {means[1]:.0f} ms | {median(regrets):.0f} ms"
        f" | {max(regrets):.0f} ms | {mean(each.goodput for each in arms):.1%} |"
    )
