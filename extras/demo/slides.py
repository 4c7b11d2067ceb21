"""`priolab slides`: exports the demo's story as one HTML file that needs no server, and as a picture of each step.

The HTML file contains the modules of the demo's page, as data: URLs, and the films of the arms. The pictures are
timelines of the page loads; drawing them needs no browser.
"""

import base64
import html
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from priolab.analysis.figures import picture, slide
from priolab.analysis.figures.arms import arm_of
from priolab.analysis.records.runs import load_experiment
from priolab.common.documents import check_document, write_document
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import add_words, given_words
from priolab.experiments.execution.cli_request import check_only, run_values
from priolab.experiments.execution.request import RunSettings
from priolab.experiments.results.results_folder import results_folder
from priolab.experiments.run.fabrics import choose
from priolab.extras.demo.arm_view import FinishedArm, document
from priolab.extras.demo.finale import add_address, finale
from priolab.extras.demo.finale import printed as printed_finale
from priolab.extras.demo.one_file import PAGE, modules, notes, style
from priolab.extras.demo.story import StoryStep, joined, steps
from priolab.extras.demo.story_arms import arm_of_knobs, can_be_run, run_missing

_TEMPLATE = Path(__file__).with_name("slides.html")
_FIRST = "slides.js"
_ALLOWED = ("FABRIC", "SHAPER", "RESULTS")
_STEP = "exporting slides"
_OF_THE_LIVE_PAGE = tuple(f"<dt>{key}</dt>" for key in ("p", "F5", "Esc"))
"""The beginnings of lines in the list of keys that have no effect in slides."""


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab slides` to its parser."""
    add_words(parser, "KNOB=VALUE", "FABRIC, SHAPER or RESULTS")
    parser.add_argument("--out", type=Path, help="the folder to write (default: results/slides)")
    add_address(parser)
    parser.set_defaults(do=_do, knobs=_ALLOWED)


def _do(options: Namespace, report: Report) -> None:
    report.exported(export(given_words(options, report), options.out, finale(options.address), report), [])


def export(words: Mapping[str, str], out: Path | None, last: Mapping[str, Any], report: Report) -> list[Path]:
    """Runs the missing arms of the story, and writes two pictures of each step and index.html, in this order.

    last: the closing slide. Raises LabError.
    """
    check_only(words, _ALLOWED, f"{', '.join(_ALLOWED)}; the story fixes all other knobs")
    run = run_values(words)
    results = results_folder(run["RESULTS"])
    folder = out or results / "slides"
    check_document(folder / "index.html", _STEP)
    fabric, why = choose(run["FABRIC"], [arm_of_knobs({}).scenario], run["SHAPER"])
    run_settings = RunSettings(fabric=fabric, fabric_reason=why, shaper=run["SHAPER"], sample=run["SAMPLE"])
    told = [step for step in steps() if can_be_run(step, run_settings, report)]
    found = run_missing([arm_of_knobs(knobs) for step in told for knobs in step.arms], run_settings, results, report)
    shown = [(step, tuple(found[arm_of_knobs(knobs).name] for knobs in step.arms)) for step in told]
    return list(_written(folder, shown, last))


def _written(
    folder: Path, told: Sequence[tuple[StoryStep, tuple[FinishedArm, ...]]], last: Mapping[str, Any]
) -> Iterator[Path]:
    pictures = []
    for number, (step, shown) in enumerate(told, start=1):
        runs = [next(run for run in load_experiment(each.folder).runs if run.arm == each.arm) for each in shown]
        named = [arm_of(run, called=name) for run, name in zip(runs, step.names, strict=True)]
        fabric = runs[0].record.fabric
        drawn = picture.framed(picture.drawn(slide.draw(step.title, joined(step.text), named, fabric)), slide.RATIO)
        pictures.append((step.title, drawn))
        for path, content in ((".svg", drawn.encode()), (".png", picture.png(drawn))):
            target = folder / f"{number:02}-{_slug(step.title)}{path}"
            write_document(target, content, _STEP)
            yield target
    index = folder / "index.html"
    write_document(index, _file(told, pictures, last).encode(), _STEP)
    yield index


def _slug(title: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", title.lower())[:4])


def _file(
    told: Sequence[tuple[StoryStep, tuple[FinishedArm, ...]]],
    pictures: Sequence[tuple[str, str]],
    last: Mapping[str, Any],
) -> str:
    """Returns the HTML file.

    pictures: title and SVG of each step. They and the closing slide are the pages in print.
    """
    arms: dict[str, Any] = {}
    slides = []
    for step, shown in told:
        documents = [document(each) for each in shown]
        keys = [f"{each['experiment']}/{each['run']}" for each in documents]
        arms |= dict(zip(keys, documents, strict=True))
        slides.append({**step.as_document(), "shown": keys})
    fabrics = ", ".join(dict.fromkeys(each["fabric"] for each in arms.values()))
    values = {
        "style": style(),
        "modules": picture.script({"imports": modules(_FIRST)}),
        "notes": notes(),
        "told": picture.script({"arms": arms, "slides": slides, "closing": last}),
        "help": "".join(line for line in _help() if not line.strip().startswith(_OF_THE_LIVE_PAGE)),
        "printed": "".join(_printed(*each) for each in pictures) + printed_finale(last),
        "made": html.escape(f"recorded in the fabric {fabrics}"),
    }
    return re.sub(r"\{([a-z]+)\}", lambda match: values[match[1]], _TEMPLATE.read_text())


def _help() -> list[str]:
    """Returns the lines of the list of keys, a dialog of the live page."""
    text = (PAGE / "index.html").read_text()
    found = re.search(r"<dialog.*</dialog>", text, re.DOTALL)
    assert found
    return found[0].splitlines(keepends=True)


def _printed(title: str, drawn: str) -> str:
    """Returns a step's picture as an image, which print shows on a page of its own."""
    data = base64.b64encode(drawn.encode()).decode()
    return f'<img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}">'
