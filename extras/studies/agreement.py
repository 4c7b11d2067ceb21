"""Runs the same scenarios in every fabric and with every shaper that this machine can use: `make agreement`."""

import platform
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priolab.analysis.records.runs import load_experiment
from priolab.analysis.reports.summary import summarize
from priolab.common.packets import RECORD_BYTES
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.doctor import link_options
from priolab.experiments.errors import Unavailable
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.request import Arm, Manner, Request
from priolab.experiments.host.machine import LinkOption
from priolab.experiments.results.run_folder import check_document, read_json, write_document
from priolab.experiments.run.fabrics import choose
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.studies import kernels
from priolab.extras.studies.agreement_document import FRACTION, compare, markdown
from priolab.netem.shaper_kind import Shaper

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
    do = write_kernels if options.kernels else write
    return 0 if do(options.file, report) else 1


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
        manner=Manner(
            fabric=fabric,
            fabric_reason=why,
            shaper=shaper,
        ),
        results=results,
        side_by_side=None if fabric.virtual_clock else _IN_REAL_TIME,
    )


def _made_with(folder: Path) -> str:
    """Returns the versions of the kernel and of the front that the experiment in the folder used, as text."""
    environment: Mapping[str, Any] = read_json(next(folder.glob("*/env.json")))
    front = environment["versions"][_SERVER].removeprefix(f"{_SERVER} version: ")
    return f"Linux {_plain(environment['kernel'])}, {front}"


def _plain(release: str) -> str:
    """Returns the release up to its first hyphen, without the suffix of the distribution that built the kernel."""
    return release.partition("-")[0]


def _document(rows: str, made: Mapping[str, str], left_out: list[LinkOption]) -> str:
    lines = [
        "# Agreement",
        "",
        f"Made by `make agreement`: the Maps scenario with {_SERVER}, in every fabric and with every shaper usable on",
        "one machine. Figures are milliseconds from the request of the measured load's page, medians of",
        f"{_REPETITIONS} repetitions, all of which must be ok.",
        "",
        f"The figures of a row agree if no two of them differ by more than {FRACTION:.0%}, or by more than the time of",
        f"one TLS record ({RECORD_BYTES} bytes) at the link's rate, whichever is larger. The column *allowed* has this",
        "limit.",
        "",
        rows,
        "## Made with",
        "",
        f"{platform.machine()}, host kernel Linux {_plain(platform.release())}.",
        "",
        *(f"- {way}: {words}" for way, words in made.items()),
    ]
    if left_out:
        lines += ["", "Fabrics and shapers that could not be used on that machine:", ""]
        lines += [f"- {option.fabric} with {option.shaper}: {option.reason}" for option in left_out]
    return "\n".join(lines) + "\n"


def write_kernels(path: Path, report: Report) -> bool:
    """Compares only guest kernels, and replaces the document's section about kernels. Raises LabError.

    Returns True if all figures agree, and all repeats are identical.
    """
    check_document(path, "agreement")
    text = path.read_text() if path.exists() else "# Agreement\n\n"
    with tempfile.TemporaryDirectory(prefix="priolab-agreement-") as results:
        section, agree = _kernels(Path(results), report)
    others = text.partition(f"\n{kernels.TITLE}\n")[0].rstrip()
    write_document(path, f"{others}\n\n{section}".encode(), "agreement")
    report.say(section)
    return agree


def _kernels(results: Path, report: Report) -> tuple[str, bool]:
    return kernels.section([arm for arm in _arms() if arm.knobs["CC"] == KNOBS["CC"].default], results, report)


def write(path: Path, report: Report) -> bool:
    """Compares fabrics, shapers and guest kernels, and writes the document. Raises LabError.

    Returns True if all figures agree, and all repeats on each kernel are identical.
    """
    found = link_options()
    if not any(option.usable for option in found):
        raise Unavailable("agreement", "no fabric can be used", "`priolab doctor` shows the remedies")
    check_document(path, "agreement")
    summaries: dict[str, Mapping[str, Any]] = {}
    made: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="priolab-agreement-") as results:
        for option in (option for option in found if option.usable):
            request = _request(option, Path(results))
            started = time.monotonic()
            report.say(f"{option.fabric} with {option.shaper}: {len(request.arms)} arms, {request.repeat} times each")
            with report.progress(request) as progress:
                folder = run_experiment(request, progress)
            name = f"{option.fabric}, {option.shaper}"
            summaries[name] = summarize(load_experiment(folder))
            made[name] = _made_with(folder)
            report.say(f"{name}: {time.monotonic() - started:.0f} s")
            report.summary(summaries[name])
        section, kernels_agree = _kernels(Path(results), report)
    rows = compare(summaries)
    text = _document(markdown(rows), made, [option for option in found if not option.usable]) + f"\n{section}"
    write_document(path, text.encode(), "agreement")
    report.say(text)
    return kernels_agree and all(row.agrees for row in rows)
