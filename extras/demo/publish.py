"""`priolab publish`: writes the demo's page, with recorded arms, as one HTML file that anyone can open.

The file needs no server and makes no request. It has the story, and every combination of the given values; the page
shows other values as not recorded. The arms that this machine has run before are reused.
"""

import base64
import html
import math
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from priolab.analysis.figures.picture import script
from priolab.common.documents import check_document, write_document
from priolab.common.errors import ScenarioError
from priolab.common.home import ROOT
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import add_words
from priolab.experiments.execution.cli_request import run_values, split_words
from priolab.experiments.execution.request import RunSettings
from priolab.experiments.results.digest import lab
from priolab.experiments.results.results_folder import results_folder
from priolab.experiments.run.fabrics import choose
from priolab.experiments.scenario.knobs import KNOBS, scenario_from, with_defaults
from priolab.extras.demo.arm_view import document
from priolab.extras.demo.choices import LOWATS, offers
from priolab.extras.demo.finale import add_address, finale
from priolab.extras.demo.one_file import inlined, notes, scripts
from priolab.extras.demo.plain_names import plain
from priolab.extras.demo.recorded import Recordings
from priolab.extras.demo.story import steps
from priolab.extras.demo.story_arms import arm_of_knobs, can_be_run, lack_of, run_missing
from priolab.extras.demo.summary import with_summary

_STEP = "publishing"
_OF_RUNS = ("FABRIC", "SHAPER", "RESULTS")
_USUAL: Mapping[str, tuple[str, ...]] = {
    "LOWAT": LOWATS,
    "RATE": ("128kbps", "1mbit", "10mbit"),
    "SERVER": ("nginx", "h2o", "haproxy"),
}
EXPLAINED: Sequence[Mapping[str, str]] = (
    {"LOWAT": "none"},
    {"LOWAT": "16384"},
    {"RATE": "100mbit", "DELAY": "5ms"},
    {"LOWAT": "none", "RATE": "100mbit", "DELAY": "5ms"},
    {"LOWAT": "16384", "PRIORITY": "none"},
    {"LOWAT": "16384", "QUEUE": "1000"},
)
"""The knobs of the arms that the explanation shows (page/explain/sections.js), besides those of the slider."""
_MOST = 1000
"""The most combinations: the file has some 10 KB for each."""
PREVIEW = "preview.png"
"""The picture that services show with a link to the file. It lies beside the file."""
_FIRST = "first.js"
_INSTEAD = {"api.js": "published.js"}


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab publish` to its parser."""
    usual = " ".join(f"{name}={','.join(values)}" for name, values in _USUAL.items())
    add_words(
        parser, "FILE.html|KNOB=A,B,C", f"the file, by default results/published.html, and values; usual: {usual}"
    )
    add_address(parser)
    parser.set_defaults(do=lambda options, report: _do(options, report))


def _do(options: Namespace, report: Report) -> None:
    files = [word for word in options.words if "=" not in word]
    if len(files) > 1:
        raise ScenarioError("FILE", " ".join(files), "one name of a file")
    words = split_words(word for word in options.words if "=" in word)
    run = run_values({name: value for name, value in words.items() if name in _OF_RUNS})
    results = results_folder(run["RESULTS"])
    target = Path(files[0]) if files else results / "published.html"
    check_document(target, _STEP)
    last = finale(options.address)
    fabric, why = choose(run["FABRIC"], [arm_of_knobs({}).scenario], run["SHAPER"])
    run_settings = RunSettings(fabric=fabric, fabric_reason=why, shaper=run["SHAPER"], sample=run["SAMPLE"])
    given = {name: tuple(value.split(",")) for name, value in words.items() if name not in _OF_RUNS}
    recordings = recorded(given, run_settings, results, report)
    content = written(recordings, last).encode()
    write_document(target, content, _STEP)
    picture = ROOT / "docs" / PREVIEW  # an installed package has none
    if options.address and picture.exists():
        write_document(target.with_name(PREVIEW), picture.read_bytes(), _STEP)
        report.say(f"for those who share {options.address}: {target.with_name(PREVIEW)}; put it beside the file")
    report.say(f"{len(recordings.arms)} recordings, {len(content) / 10**6:.1f} MB: {target}", whole=True)


def recorded(
    given: Mapping[str, Sequence[str]], run_settings: RunSettings, results: Path, report: Report
) -> Recordings:
    """Runs the missing arms of the story and of the grid; returns all. Raises LabError.

    given: the values of the grid's knobs; the usual ones if it is empty.
    """
    grid = combinations(given or _USUAL)
    if not given:
        grid = left_in(grid, run_settings, report)
    told = [step for step in steps() if can_be_run(step, run_settings, report)]
    arms = [arm_of_knobs(knobs) for knobs in (*(knobs for step in told for knobs in step.arms), *EXPLAINED, *grid)]
    found = run_missing(arms, run_settings, results, report)
    documents = [document(found[name]) for name in dict.fromkeys(arm.name for arm in arms)]
    words = " ".join(f"{name}={','.join(values)}" for name, values in given.items())
    version, code = lab().values()
    about = {
        "Command": f"priolab publish {words}".strip(),
        "Lab": f"priolab {version}, code {code}",
        "Kernel": run_settings.fabric.kernel(),
        "Places": f"{run_settings.fabric.name}: {run_settings.fabric.merit}",
        "Recorded": time.strftime("%Y-%m-%d"),
    }
    return Recordings.of(documents, about)


def left_in(grid: Sequence[dict[str, str]], run_settings: RunSettings, report: Report) -> list[dict[str, str]]:
    """Returns the knobs of the arms that can be run here; reports why the others are left out."""
    lacks = [lack_of(knobs, run_settings) for knobs in grid]
    for reason, count in Counter(str(lack) for lack in lacks if lack).items():
        report.say(f"left out: {count} recordings: {reason}", "yellow")
    return [knobs for knobs, lack in zip(grid, lacks, strict=True) if lack is None]


def combinations(given: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Returns the knobs of every combination, with LOWAT=none beside any other value of LOWAT. Raises ScenarioError."""
    values = {name: tuple(texts) for name, texts in given.items()}
    if "none" not in (lowats := values.get("LOWAT", (KNOBS["LOWAT"].default,))):
        values["LOWAT"] = ("none", *lowats)
    made = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    if len(made) > _MOST:
        raise ScenarioError("the grid", f"{len(made)} combinations", f"at most {_MOST}")
    for knobs in made:
        scenario_from(knobs)
    return made


def written(recordings: Recordings, last: Mapping[str, Any]) -> str:
    """Returns the HTML file. last: the closing slide. The same recordings give the same bytes, on every machine."""
    import_map, start = scripts(_FIRST, _INSTEAD)
    films = f'<script type="text/plain" id="films">{base64.b64encode(recordings.packed).decode()}</script>'
    offered = script({**choices_of(recordings), "closing": last})
    choices = f'<script type="application/json" id="choices">{offered}</script>'
    page = inlined("index.html", [import_map, choices, films, notes(), start])
    return with_summary(_shared(page, last["address"]), recordings.arms)


def _shared(page: str, address: str | None) -> str:
    """Returns the page with its address and that of its picture: services that show links want whole addresses."""
    if address is None:
        return page
    url, picture = (html.escape(each) for each in (address, urljoin(address, PREVIEW)))
    return page.replace(
        f'<meta property="og:image" content="{PREVIEW}">',
        f'<meta property="og:image" content="{picture}">\n    <meta property="og:url" content="{url}">',
    )


def _rate(value: str) -> float:
    """Returns the rate that a value of RATE begins with, in bits per second."""
    return scenario_from({"RATE": value}).link.rate_bit_s or math.inf


def choices_of(recordings: Recordings) -> dict[str, Any]:
    """Returns what the page needs before any film: as choices.py, but only with knobs and values that were recorded.

    The closing slide is not in it.
    """
    there = [with_defaults(arm["knobs"]) for arm in recordings.arms]
    keys = {frozenset(knobs.items()) for knobs in there}

    def has(knobs: Mapping[str, str]) -> bool:
        return frozenset(with_defaults(knobs).items()) in keys

    every = offers()
    knobs = []
    for offer in every["knobs"]:
        name = offer["name"]
        values = dict.fromkeys(each[name] for each in there)
        # The offered servers are those of this machine, which must not decide the order.
        usual = () if name == "SERVER" else offer["values"]
        order = [value for value in usual if value in values]
        order += [value for value in values if value not in order]
        if name == "RATE":
            order.sort(key=_rate)
        names = {value: offer["names"].get(value, plain(name, value)) for value in order}
        knobs.append({**offer, "values": order, "names": names})
    lowats = next(each["values"] for each in knobs if each["name"] == "LOWAT")
    scenarios = [
        each for each in every["scenarios"] if all(has({**each["knobs"], **lowat}) for lowat in ({"LOWAT": "none"}, {}))
    ]
    return {
        "lowats": lowats,
        "knobs": knobs,
        "scenarios": scenarios,
        "story": [step.as_document() for step in steps() if all(map(has, step.arms))],
        "ahead": False,
        "published": recordings.about,
    }
