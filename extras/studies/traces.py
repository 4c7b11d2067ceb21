"""Measures LOWAT=auto on synthetic traces: `make traces` writes traces.md, and a section of auto.md."""

import tempfile
from pathlib import Path

from priolab.analysis.records.runs import Experiment, Run
from priolab.experiments.commands.checked_run import run_checked
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import writing
from priolab.experiments.execution.invocation import request_from
from priolab.experiments.results.run_folder import check_document, write_document
from priolab.extras.studies.trace_document import TraceArms, document, with_traces
from priolab.netem.synthetic import KINDS, synthetic

AUTO = "auto.md"
"""The document that has a section about traces, in the same folder."""

_STEP = "the traces"
_SEEDS = range(1, 6)
_DURATION_MS = 20_000
_FIXED = (4096, 16_384, 65_536, 131_072, 524_288)
_KNOBS = {"DELAY": "30ms", "SIZE": "4M", "QUEUE": "100", "SAMPLE": "100ms"}
_EVERY_MS = 10
_EVEN = {"CONTROL": "no", "LOWAT": "16384", "SHAPER": "ferry", "SAMPLE": "100ms"}
_PACKET_BITS = 1514 * 8


def write(path: Path, report: Report) -> None:
    """Runs experiments without results, and writes the document and its section of auto.md. Raises LabError."""
    check_document(path, _STEP)
    with tempfile.TemporaryDirectory(prefix="priolab-traces-") as scratch:
        even = _even(Path(scratch), report)
        arms = [_arms(kind, seed, Path(scratch), report) for kind in KINDS for seed in _SEEDS]
    text = document(even, arms, " ".join(f"{name}={value}" for name, value in _KNOBS.items() if name != "SAMPLE"))
    write_document(path, text.encode(), _STEP)
    auto = path.with_name(AUTO)
    if auto.exists():
        write_document(auto, with_traces(auto.read_text(), text).encode(), _STEP)


def _experiment(words: dict[str, str], report: Report) -> Experiment:
    return run_checked(request_from({"REUSE": "yes", "FABRIC": "virtual", **words}), report)


def _even(folder: Path, report: Report) -> dict[str, tuple[float, float]]:
    """Returns figures with a trace of even opportunities, and with the same rate."""
    file = folder / "even"
    file.write_text("".join(f"{_EVERY_MS * number}\n" for number in range(1, 101)))
    rate = f"{_PACKET_BITS * 1000 // _EVERY_MS}bit"
    (traced,) = _experiment({**_EVEN, "TRACE": str(file)}, report).runs
    (rated,) = _experiment({**_EVEN, "RATE": rate}, report).runs
    return {
        f"{name}, {what.replace('_', ' ')}": (_ms(traced, name, what), _ms(rated, name, what))
        for name in ("script", "image")
        for what in ("first_byte", "last_byte")
    }


def _ms(run: Run, name: str, what: str) -> float:
    return float(getattr(run.record.measured.resources[name], f"{what}_ms"))


def _arms(kind: str, seed: int, folder: Path, report: Report) -> TraceArms:
    """Runs LOWAT unset, fixed and auto on a trace."""
    trace = synthetic(kind, seed=seed, duration_ms=_DURATION_MS)
    file = folder / trace.name
    file.write_text(trace.to_text())
    runs = _experiment({**_KNOBS, "TRACE": str(file), "LOWAT": ",".join(["auto", *map(str, _FIXED)])}, report).runs
    by_lowat = {"none" if (lowat := run.scenario.lowat) is None else str(lowat): run for run in runs}
    return TraceArms(
        kind=kind,
        first_byte_ms={name: run.record.measured.first_byte_ms for name, run in by_lowat.items()},
        goodput=by_lowat["none"].record.measured.complete_ms / by_lowat["auto"].record.measured.complete_ms,
    )


add_to = writing(write)
