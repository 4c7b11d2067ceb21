"""Runs the same scenarios in every fabric and with every shaper that this machine can use: `make agreement`."""

import platform
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import priolab
from priolab import Run, Unavailable
from priolab.analysis.reports.markdown import places
from priolab.common.exit_codes import exit_code
from priolab.common.packets import RECORD_BYTES
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.doctor import link_options
from priolab.experiments.commands.study import Findings, Study, document_of
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.request import Arm, Request, RunSettings
from priolab.experiments.run.fabrics import choose
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.experiments.setup.machine import LinkOption
from priolab.extras.studies import kernels
from priolab.extras.studies.comparison import FRACTION, compare, markdown
from priolab.netem.shaper_kind import Shaper

_NAME = "agreement"
_SERVER = KNOBS["SERVER"].default
_REPETITIONS = 5
_LOWATS = ("none", "131072", "16384")
_CONGESTION_CONTROLS = ("cubic", "bbr")
_IN_REAL_TIME = 4
"""The number of arms that run at the same time on real clocks. The processes of these arms mostly wait."""


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab agreement` to its parser."""
    parser.add_argument("file", type=Path, help="the document to write")
    parser.add_argument("--kernels", action="store_true", help="compare only the guest's kernels")
    parser.set_defaults(do=_do)


def _do(options: Namespace, report: Report) -> int:
    measure = _kernels_alone if options.kernels else _all
    return exit_code(ok=Study(name=_NAME, step=_NAME, measure=measure).write(options.file, report))


def _arms() -> tuple[Arm, ...]:
    return tuple(
        Arm(
            name=f"{congestion_control}, {'control' if lowat == 'none' else lowat}",
            knobs=with_defaults({"CC": congestion_control, "LOWAT": lowat}),
        )
        for congestion_control in _CONGESTION_CONTROLS
        for lowat in _LOWATS
    )


def _request(option: LinkOption, results: Path) -> Request:
    arms, shaper = _arms(), Shaper(option.shaper)
    fabric, why = choose(option.fabric, [arm.scenario for arm in arms], shaper)
    return Request(
        name=f"{option.fabric}-{option.shaper}",
        arms=arms,
        repeat=_REPETITIONS,
        run_settings=RunSettings(
            fabric=fabric,
            fabric_reason=why,
            shaper=shaper,
        ),
        results=results,
        side_by_side=None if fabric.virtual_clock else _IN_REAL_TIME,
    )


def _made_with(run: Run) -> str:
    """Returns the versions of the kernel and of the front that a run used, as text."""
    front = run.environment.versions[_SERVER].removeprefix(f"{_SERVER} version: ")
    return f"Linux {_plain(run.environment.kernel)}, {front}"


def _plain(release: str) -> str:
    """Returns the release up to its first hyphen, without the suffix of the distribution that built the kernel."""
    return release.partition("-")[0]


def _kernels_alone(results: Path, report: Report) -> Findings:
    """Compares only guest kernels. The other places of the document stay as they are."""
    found = _kernels(results, report)
    return replace(found, places={**places(document_of(_NAME)), **found.places})


def _kernels(results: Path, report: Report) -> Findings:
    return kernels.compared([arm for arm in _arms() if arm.knobs["CC"] == KNOBS["CC"].default], results, report)


def _all(results: Path, report: Report) -> Findings:
    """Compares fabrics, shapers and guest kernels. The findings hold if all figures agree, and all repeats."""
    found = link_options()
    if not any(option.usable for option in found):
        raise Unavailable(_NAME, "no fabric can be used", "`priolab doctor` shows the remedies")
    summaries: dict[str, Mapping[str, Any]] = {}
    made: dict[str, str] = {}
    for option in (option for option in found if option.usable):
        request = _request(option, results)
        started = time.monotonic()
        report.say(f"{option.fabric} with {option.shaper}: {len(request.arms)} arms, {request.repeat} times each")
        with report.progress(request) as progress:
            experiment = priolab.load_experiment(run_experiment(request, progress))
        name = f"{option.fabric}, {option.shaper}"
        summaries[name] = experiment.summary
        made[name] = _made_with(experiment.runs[0])
        report.say(f"{name}: {time.monotonic() - started:.0f} s")
        report.summary(summaries[name])
    rows = compare(summaries)
    of_kernels = _kernels(results, report)
    left_out = [option for option in found if not option.usable]
    return Findings(
        places={
            "server": _SERVER,
            "repetitions": str(_REPETITIONS),
            "fraction": f"{FRACTION:.0%}",
            "record": f"{RECORD_BYTES} bytes",
            "fabrics": markdown(rows),
            "host": f"{platform.machine()}, host kernel Linux {_plain(platform.release())}.",
            "made-with": "\n".join(f"- {way}: {words}" for way, words in made.items()),
            "left-out": "\n".join(f"- {each.fabric} with {each.shaper}: {each.reason}" for each in left_out),
            **of_kernels.places,
        },
        holds=of_kernels.holds and all(row.agrees for row in rows),
    )
