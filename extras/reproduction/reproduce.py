"""Reproduces the pictures of the article about map pages over SPDY: `make reproduce` writes a page with the pictures.

Experiments that have results already are not run again.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

import priolab
from priolab import Experiment, StepFailed
from priolab.analysis.figures.arms import CLIENTS
from priolab.common.amounts import kibibytes
from priolab.common.documents import write_document
from priolab.common.exit_codes import exit_code
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import add_words, given_words
from priolab.experiments.execution.cli_request import check_only, request_from
from priolab.extras.reproduction import page
from priolab.extras.reproduction.article import Compared, SetUp, set_up
from priolab.extras.reproduction.pictures import LOWAT_BYTES, Experiments, pictures
from priolab.netem import units

KNOBS = ("FABRIC", "SHAPER", "RESULTS", "REUSE")
"""The knobs that a user may set. The reproduction itself sets all other knobs."""

_VALUES = (4096, 16_384, 65_536, LOWAT_BYTES, 262_144, 524_288)
FAST = {"LOWAT": "none", "RATE": "unlimited", "DELAY": "0ms"}
SLOW = {"LOWAT": ",".join(map(str, _VALUES))}
# A stock send buffer grows with the congestion window. With a shorter queue the window would stop growing at once.
GROWING = {"LOWAT": str(LOWAT_BYTES), "SNDBUF": "stock", "QUEUE": "100", "RELOADS": "7"}


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab reproduce` to its parser."""
    add_words(parser, "KNOB=VALUE", "FABRIC, SHAPER, RESULTS or REUSE")
    parser.add_argument(
        "--out", type=Path, help="folder for the web page that shows the comparison (default: results/reproduction)"
    )
    parser.set_defaults(do=_do, knobs=KNOBS)


@priolab.keep_guests()
def _do(options: Namespace, report: Report) -> int:
    return exit_code(ok=reproduce(given_words(options, report), options.out, report))


def reproduce(words: Mapping[str, str], out: Path | None, report: Report) -> bool:
    """Runs the arms, and writes index.html. Raises LabError.

    Returns True if every picture shows what the article reports. A run that is not ok is an error, because the pictures
    need every run.
    """
    check_only(words, KNOBS, f"the knobs of `priolab reproduce`: {', '.join(KNOBS)}")
    asked = [{"REUSE": "yes", **words, **knobs} for knobs in (FAST, SLOW, GROWING)]
    requests = [request_from(each) for each in asked]
    folder = out or requests[0].results / "reproduction"
    _make(folder)
    made = []
    for each, request in zip(asked, requests, strict=True):
        report.announce(request)
        made.append(priolab.run(**each, progress=report).check())
    fast, slow, growing = made
    document = page.Page(pictures=pictures(Experiments(fast=fast, slow=slow, growing=growing)), set_up=_set_up(slow))
    for claim in (picture.claim for picture in document.pictures):
        report.say(f"{claim.title}: {claim.word}", "bold green" if claim.holds else "bold red")
        report.say(f"    {claim.here}")
    file = folder / "index.html"
    write_document(file, page.html(document).encode(), "reproduce")
    report.say(f"page: {file}")
    return document.holds


def _set_up(experiment: Experiment) -> list[Compared]:
    """Returns the conditions under which the experiment was run, such as server and link, beside the article's."""
    run = experiment.runs[0]
    environment, scenario = run.environment, run.scenario
    assert scenario.rate_bit_s is not None
    assert scenario.size_bytes is not None
    assert scenario.script_delay_ns is not None
    client = "the lab's own client" if scenario.client == "h2" else CLIENTS[scenario.client]
    return set_up(
        SetUp(
            server=environment.versions.get(scenario.server, "unknown").rpartition(":")[2].strip().replace("/", " "),
            protocol="HTTP/2",
            kernel=f"Linux {environment.kernel}",
            backend=f"Node.js {environment.versions.get('node', 'unknown').lstrip('v')}",
            client=client,
            link=f"{units.format_rate(scenario.rate_bit_s)}, {units.format_time(scenario.delay_ns)}",
            held_back=f"{scenario.script_delay_ns / 1e9:g} s",
            sizes=f"{kibibytes(scenario.size_bytes)} each; the image is named first",
            congestion_control=scenario.congestion_control,
            fabric=f"{run.record.fabric}, {run.observed.shaper}",
            run=experiment.started_at[:10],
        )
    )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StepFailed("reproduce", f"{folder} cannot be made: {error.strerror}") from error
