"""Compares ledgers made from samples with ledgers made from captures, on different links: `make ledgers`.

    python -m tools.campaigns.ledgers [RUNS]

Link, server, kernel settings and page follow from the run's number. Each run is in the guest, is captured at both ends
of the link, and is sampled every millisecond. The captures tell when the script's first byte was sent, was sent again,
and arrived, so they give the exact ledger of the part behind the front's kernel; the part before it follows from
samples a millisecond apart. Then the samples are thinned out, as if SAMPLE had been 10ms or 100ms, each time with
several first samples, and the ledger is made from these alone. No part may be off by more than its stated uncertainty.
Runs in which the script waits too shortly for a ledger are not counted. The table is written into RELIABILITY.md.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TypeVar

from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import Ledger
from priolab.analysis.loads.ledger_builder import NoLedger, ledger
from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import Layers, Run, load_run
from priolab.analysis.records.samples import Timed, latest
from priolab.common.errors import LabError
from priolab.experiments.scenario.knobs import scenario_from
from tests.support.together import together
from tools.campaigns.reliability import write

_RUNS = 40
_BATCH = 20
_EVERY = {"1 ms": (1,), "10 ms": (10,) * 4, "100 ms": (100,) * 4}
"""For each SAMPLE: of how many samples one is kept, once for each first sample."""
_STAMPS_NS = 50_000
"""The time after the stamp of the capture's tap within which the client reads a packet in the guest."""

CAPTURED = ("CAPTURE=yes", "SAMPLE=1ms", "RELOADS=0")
"""The words of a run whose ledger from samples can be compared with the one from captures."""

_S = TypeVar("_S", bound=Timed)
_BYTES = {
    "128kbit": "60K",
    "512kbit": "150K",
    "128kbps": "300K",
    "5mbit": "1M",
    "20mbit": "2M",
    "100mbit": "4M",
    "1gbit": "8M",
}
_FAST = ("100mbit", "1gbit")
_KNOBS: Mapping[str, Sequence[str]] = {
    "RATE": tuple(_BYTES),
    "DELAY": ("0ms", "2ms", "20ms", "50ms", "150ms", "300ms"),
    "RATE_UP": ("unlimited", "unlimited", "unlimited", "64kbit", "1mbit"),
    "DELAY_UP": ("0ms", "0ms", "20ms", "75ms"),
    "QUEUE": ("10", "25", "100", "1000"),
    "LOSS": ("0%", "0%", "0%", "1%", "5%"),
    "JITTER": ("0ms", "0ms", "0ms", "0ms", "10ms"),
    "CC": ("cubic", "cubic", "bbr", "reno"),
    "QDISC": ("fifo", "fifo", "fifo", "fifo", "fq_codel"),
    "CROSS": ("0", "0", "0", "0", "1"),
    "RATE_STEPS": ("none", "none", "none", "none", "512kbit@200ms+3mbit@1s"),
    "WINDOW": ("16M", "16M", "16M", "65535", "256K"),
    "CONNECTION_WINDOW": ("as-window", "as-window", "as-window", "65535", "16M"),
    "LOWAT": ("none", "none", "16384", "131072"),
    "FRONT_QDISC": ("stock", "stock", "stock", "fq", "fq_codel"),
    "SERVICE": ("none", "none", "none", "20us+1us/KB", "1ms+50us/KB"),
    "SERVER": ("nginx", "nginx", "h2o", "nghttpx"),
    "RECORD": ("stock", "stock", "stock", "1400"),
    "JS_DELAY": ("0ms", "100ms", "200ms", "500ms"),
}


@dataclass(frozen=True, kw_only=True)
class Off:
    """A part of a ledger that is off by more than its uncertainty. Times in nanoseconds."""

    layer: Layer
    captured_ns: int
    sampled_ns: int
    uncertainty_ns: int


def thinned(layers: Layers, every: int, first: int) -> Layers:
    """Returns what samples that are `every` times as far apart would have shown, without captures."""
    sockets = layers.sockets[first::every]
    times = [sample.t_ns for sample in sockets]
    return replace(
        layers,
        sockets=sockets,
        queue=tuple(_seen(layers.queue, times)),
        cross=tuple(_seen(layers.cross, times)),
        segments=(),
    )


def _seen(lines: Sequence[_S], times: Sequence[int]) -> Iterator[_S]:
    """Yields the lines that a journal of changes would have if it was written at these times alone."""
    shown: _S | None = None
    for t_ns in times:
        found = latest(lines, t_ns)
        if found is not None and found is not shown:
            yield replace(found, t_ns=t_ns)  # type: ignore[type-var]
            shown = found


def ledger_of(run: Run, layers: Layers) -> Ledger:
    """Returns the ledger of a run's measured load. Raises NoLedger."""
    evidence = run.evidence()
    return ledger(page_loads(evidence)[-1], evidence, layers, run.scenario)


def offs(captured: Ledger, sampled: Ledger) -> list[Off]:
    """Returns the parts that are off by more than both ledgers' uncertainties."""
    found = []
    for layer in {**captured.parts, **sampled.parts}:
        exact_ns, seen_ns = captured.parts.get(layer, 0), sampled.parts.get(layer, 0)
        off_ns = captured.uncertainty.get(layer, 0) + sampled.uncertainty.get(layer, 0)
        if abs(exact_ns - seen_ns) > off_ns + _STAMPS_NS:
            found.append(Off(layer=layer, captured_ns=exact_ns, sampled_ns=seen_ns, uncertainty_ns=off_ns))
    return found


@dataclass(kw_only=True)
class Tally:
    """Ledgers with samples of one distance. uncertain: the largest uncertainty of each, as a fraction of the wait."""

    ledgers: int = 0
    without: int = 0
    parts: int = 0
    errors_ms: list[float] = field(default_factory=list)
    uncertain: list[float] = field(default_factory=list)
    unexplained: list[float] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)


def main() -> int:
    """Returns the exit code, 0 if no part was off by more than its uncertainty."""
    parser = argparse.ArgumentParser(prog="make ledgers", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=_RUNS)
    runs = parser.parse_args().runs
    tallies = {name: Tally() for name in _EVERY}
    done, number, links = 0, 0, set[str]()
    while done < runs:
        drawn = {f"n{index}": _draw(random.Random(index)) for index in range(number, number + _BATCH)}
        number += _BATCH
        with tempfile.TemporaryDirectory(prefix="priolab-ledgers-") as folder:
            for run in _runs(Path(folder), drawn):
                if done < runs and _compare(run, drawn[run.arm], tallies):
                    done += 1
                    links.add(" ".join(word for word in drawn[run.arm] if word.startswith(("RATE", "DELAY", "QUEUE"))))
        print(f"{done} of {runs}", file=sys.stderr, flush=True)
    table = _table(tallies, done, len(links))
    write("ledgers", table)
    print(table)
    return 1 if any(tally.trouble for tally in tallies.values()) else 0


def _draw(chance: random.Random) -> tuple[str, ...]:
    """Draws knobs until the lab does not refuse them."""
    while True:
        words = {name: chance.choice(values) for name, values in _KNOBS.items()}
        words |= {"SIZE": _BYTES[words["RATE"]]}
        if words["RATE"] in _FAST:
            words |= {"QUEUE": "1000"}  # a short queue would take a fast link minutes of link time
        try:
            scenario_from(words)
        except LabError:
            continue
        return tuple(f"{name}={value}" for name, value in words.items())


def _runs(folder: Path, drawn: Mapping[str, Sequence[str]]) -> Iterator[Run]:
    found = together(folder, drawn, *CAPTURED)
    assert found.folder is not None
    for name in drawn:
        run = load_run(found.folder / f"{name}.1")
        if run.status == "ok":
            yield run
        else:
            print(f"{' '.join(drawn[name])}: {run.status}: {run.record.reason}", file=sys.stderr, flush=True)


def _compare(run: Run, words: Sequence[str], tallies: Mapping[str, Tally]) -> bool:
    """Compares the ledgers of a run; returns False if it has none."""
    layers = run.layers()
    try:
        captured = ledger_of(run, layers)
    except NoLedger:
        return False
    chance = random.Random(run.arm)
    for name, ways in _EVERY.items():
        for every in ways:
            _note(tallies[name], captured, run, thinned(layers, every, chance.randrange(every)), words)
    return True


def _note(tally: Tally, captured: Ledger, run: Run, layers: Layers, words: Sequence[str]) -> None:
    try:
        sampled = ledger_of(run, layers)
    except NoLedger:
        tally.without += 1
        return
    tally.ledgers += 1
    tally.parts += len(sampled.parts)
    waited_ns = captured.wait_ns
    tally.errors_ms += [abs(captured.parts.get(layer, 0) - ns) / 10**6 for layer, ns in sampled.parts.items()]
    tally.uncertain.append(max(sampled.uncertainty.values()) / waited_ns)
    tally.unexplained.append(1 - sampled.explained)
    for off in offs(captured, sampled):
        tally.trouble.append(
            f"{' '.join(words)}: {off.layer}: {off.sampled_ns / 10**6:.2f} ± {off.uncertainty_ns / 10**6:.2f} ms, "
            f"captured {off.captured_ns / 10**6:.2f}"
        )
        print(tally.trouble[-1], file=sys.stderr, flush=True)


def _table(tallies: Mapping[str, Tally], runs: int, links: int) -> str:
    lines = [
        f"{runs} runs in the guest on {links} links by `make ledgers`; a run's number decides its knobs.",
        "",
        "| samples | ledgers | no ledger | parts | wrong | largest error | median uncertainty | most unexplained |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, tally in tallies.items():
        lines.append(
            f"| {name} | {tally.ledgers} | {tally.without} | {tally.parts} | {len(tally.trouble)} "
            f"| {max(tally.errors_ms):.1f} ms | {median(tally.uncertain):.1%} | {max(tally.unexplained):.1%} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
