"""Measures how good LOWAT=auto is: `make auto` fills docs/measured/auto.md, and draws following.svg and .png.

The study has five parts:
1. A sweep of the default grid, with LOWAT=auto among the values (`sweep/catalogue/auto.toml`).
2. Sweeps of the same networks with several delays of the script (extras/studies/delay_sweep.py). These sweeps show
   whether the best fixed value is better than LOWAT=auto in general, or only with one delay, by luck.
3. Runs of the sweep's recommended value for each network, with new seeds.
4. Runs over a link whose rate changes tenfold during the load.
5. Runs of the cautious tuner on new connections (extras/studies/short_round_trips.py).

The study reuses existing results of the same code and programs, and resumes interrupted sweeps.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import priolab
from priolab import Experiment, Run
from priolab.analysis.figures.following import NAME, Followed, save
from priolab.analysis.reports import following
from priolab.analysis.sweeps.folder import load_sweep
from priolab.analysis.sweeps.moment_means import MomentMeans
from priolab.analysis.sweeps.networks import Network, networks
from priolab.analysis.sweeps.validation import Kept
from priolab.common.exit_codes import exit_code
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import given_words
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.cli_request import check_only
from priolab.experiments.execution.local import Local, bearable
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.sweep import command
from priolab.experiments.sweep.sweep import sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from priolab.extras.studies import auto_document, delay_sweep
from priolab.extras.studies.auto_document import BY_DEFAULT, AutoResults
from priolab.extras.studies.short_round_trips import EVERYWHERE, new_connections

MAY_BE_CHOSEN = ("FABRIC", "SHAPER", "RESULTS")
"""The knobs that a user may set. The study itself sets all other knobs."""

_SWEEP = "auto"
_SEED = 101
"""The first seed of the runs with recommended values. The sweep does not use these seeds."""

STEPS = {
    "RATE": "100mbit",
    "RATE_STEPS": "10mbit@1s+100mbit@4s",
    "DELAY": "50ms",
    "QUEUE": "1000",
    "SIZE": "10M",
    "RELOADS": "0",
    "TARGET_DELAY": "100ms",
}
"""The knobs of the runs over a link whose rate changes (part 4): the link, the page and TARGET_DELAY.

At both rates one packet buffer is sent in less time than TARGET_DELAY. The queue is so long that the congestion window
stays large enough for the faster rate.
"""

_FIXED = (16_384, 53_248, 131_072, 524_288, 1_130_496)
"""The fixed values of LOWAT with which LOWAT=auto is compared. 53248 is right for 10 Mbit/s, 1130496 for 100 Mbit/s."""

_DRAWN = (BY_DEFAULT, "LOWAT=53248", "LOWAT=131072", "LOWAT=1130496", "LOWAT unset")
_CASES = (
    (BY_DEFAULT, {"LOWAT": "auto"}),
    (f"{BY_DEFAULT}, CC=bbr", {"LOWAT": "auto", "CC": "bbr"}),
)

Words = Mapping[str, str]


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab auto` to its parser."""
    parser.add_argument("file", type=Path, help="the document to write; its picture goes into the same folder")
    parser.add_argument("words", nargs="*", metavar="KNOB=VALUE", help="FABRIC, SHAPER or RESULTS")
    parser.set_defaults(from_make=False, do=_do, knobs=MAY_BE_CHOSEN)


def _do(options: argparse.Namespace, report: Report) -> int:
    words = given_words(options, report)
    check_only(words, MAY_BE_CHOSEN, f"the knobs of `priolab auto`: {', '.join(MAY_BE_CHOSEN)}")

    def measure(scratch: Path, report: Report) -> Findings:
        return _measure(scratch, options, words, report)

    return exit_code(ok=Study(name="auto", step="auto", measure=measure).write(options.file, report))


def _measure(scratch: Path, options: argparse.Namespace, words: Words, report: Report) -> Findings:
    """Runs experiments that have no results yet. The findings hold if they confirm what the lab claims about auto.

    words: the knobs that the user set, all of them in MAY_BE_CHOSEN. Raises LabError, also if a run is not ok.
    """
    made = _swept([_SWEEP], options, words, report)
    summary = made.summary
    at_moments = _at_moments(summary, options, words, report)
    kept = _put_back(made, words, report)
    seen = _steps(words, report)
    found = AutoResults(
        summary=summary,
        at_moments=at_moments,
        kept=kept,
        followed={each.name: each.seen for each in seen},
        new=new_connections(words, report),
    )
    return Findings(
        places=auto_document.places(found, STEPS, EVERYWHERE),
        beside=_pictures([each for name in _DRAWN for each in seen if each.name == name], scratch),
        holds=found.holds,
    )


def _swept(asked_for: Sequence[str], options: argparse.Namespace, words: Words, report: Report) -> priolab.Sweep:
    """Runs a sweep, or reuses a finished sweep.

    asked_for: the knobs that the study sets. words: the knobs that the user set.
    """
    request = sweep_request_from([*asked_for, "REUSE=yes", *(f"{name}={value}" for name, value in words.items())])
    wanted = sweep_from(request, yes=False)
    executor = Local(wanted.run_settings, bearable(wanted.scenarios, wanted.run_settings.fabric))
    return priolab.load_sweep(command.make(request, wanted, executor, options, report))


def _at_moments(
    summary: Mapping[str, Any], options: argparse.Namespace, words: Words, report: Report
) -> dict[str, MomentMeans]:
    """Runs every network of the summary with several delays of the script.

    Returns the mean times of the first byte, by the network's name.
    """
    found: list[Network] = []
    for grid in delay_sweep.grids(summary):
        found += networks(load_sweep(_swept([*grid, "SAMPLE=none"], options, words, report).path))
    return delay_sweep.gather(summary, found)


def _put_back(made: priolab.Sweep, words: Words, report: Report) -> dict[str, Sequence[Kept]]:
    """Runs each network's recommended value with other seeds, and compares the results with those of the sweep."""
    summary = made.summary
    arms = {
        f"put-back-{number}": dict(network["knobs"])
        | {"LOWAT": network["knee"]["recommended"], "TARGET_DELAY": KNOBS["TARGET_DELAY"].default}
        for number, network in enumerate(summary["networks"], start=1)
    }
    report.say(f"put-back: {len(arms)} arms, {summary['repeat']} times each")
    settings = {**words, "REPEAT": str(summary["repeat"]), "SEED": str(_SEED), "SAMPLE": "none", "REUSE": "yes"}
    again = priolab.run(arms, **settings, progress=report).check()
    return dict(made.confirm(again))


def _steps(words: Words, report: Report) -> list[Followed]:
    """Runs the cases of LOWAT=auto and the fixed values over the link with rate steps.

    Returns the result of each arm.
    """
    fixed = {**words, **STEPS, "LOWAT": ",".join(map(str, _FIXED))}
    found = []
    for name, knobs in _CASES:
        made = _experiment({**words, **STEPS, **knobs, "CONTROL": "no"}, report)
        found += [_followed(name, run) for run in made.runs]
    for run in _experiment(fixed, report).runs:
        lowat = run.scenario.lowat
        found.append(_followed("LOWAT unset" if lowat is None else f"LOWAT={lowat}", run))
    return found


def _followed(name: str, run: Run) -> Followed:
    target_ns = KNOBS["TARGET_DELAY"].parse(STEPS["TARGET_DELAY"])
    return Followed(name=name, seen=following.follow(run, target_ns), began_ns=run.loads[-1].started_ns)


def _experiment(knobs: Words, report: Report) -> Experiment:
    report.say(" ".join(f"{name}={value}" for name, value in knobs.items()))
    return priolab.run(**knobs, REUSE=True, progress=report).check()


def _pictures(arms: Sequence[Followed], scratch: Path) -> dict[str, bytes]:
    """Draws how the arms followed the link's rate. Leaves out the HTML file, which has a megabyte."""
    headline = [f"{name}={value}" for name, value in STEPS.items()]
    drawn = [file for file in save(arms, headline, scratch) if file.suffix != ".html"]
    return {f"{NAME}{file.suffix}": file.read_bytes() for file in drawn}
