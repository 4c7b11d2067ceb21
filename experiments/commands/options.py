"""Options of the command line that several commands have.

A command's module has a function `add_to`, which adds the command's options to its parser, and stores in the parser, as
`do`, the function that carries the command out. For completion in shells it may also store, as `knobs`, the names of
the only knobs that the command takes, and as `offers`, a function that returns the values of an argument, by the
argument's name.
"""

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from priolab.common.errors import ScenarioError
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.cli_request import RUN_KNOBS, RunKnob, ignored, split_words, words_of_make
from priolab.experiments.scenario.knob import Knob
from priolab.experiments.scenario.knobs import KNOBS


def add_experiment(parser: ArgumentParser, default: str | None = "latest") -> None:
    """Adds the options that name a results folder. default: its name; None for the newest sweep."""
    parser.add_argument(
        "experiment",
        nargs="?",
        default=default,
        help=f"a results folder, or its name in the folder of --results (default: {default or 'the newest sweep'})",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        help="the folder that holds the results folders (default: results)",
    )


def experiment_folder(options: Namespace) -> Path:
    """Returns the results folder that the command line names. Raises ScenarioError."""
    if not options.experiment:
        raise ScenarioError("experiment", "", "a results folder, or its name in the folder of --results")
    named = Path(options.experiment)
    return (named if named.is_dir() else Path(options.results) / named).resolve()


def add_words(parser: ArgumentParser, metavar: str, about: str) -> None:
    """Adds the words such as LOWAT=16384, which the commands that make runs take."""
    parser.add_argument("words", nargs="*", metavar=metavar, help=about)
    parser.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)


def all_knobs() -> list[Knob | RunKnob]:
    """Returns the knobs of a scenario, then those of an experiment."""
    return [*KNOBS.values(), *RUN_KNOBS.values()]


def given_words(options: Namespace, report: Report) -> dict[str, str]:
    """Returns the values of the knobs that the user set, also by options and by make. Raises ScenarioError."""
    words = list(options.words)
    if options.from_make:
        words += words_of_make()
    for knob in all_knobs():
        if (value := getattr(options, knob.name, None)) is not None:
            words.append(f"{knob.name}={value}")
    for sentence in ignored(words):
        report.note(sentence)
    return split_words(words)


def writing(write: Callable[[Path, Report], object]) -> Callable[[ArgumentParser], None]:
    """Returns `add_to` of a study that takes only the path of its document. write: writes the document."""

    def add_to(parser: ArgumentParser) -> None:
        from priolab.testbed import keep_guests  # only commands that make runs need it

        parser.add_argument("file", type=Path, help="the document to write; its pictures go into the same folder")
        parser.set_defaults(do=lambda options, report: keep_guests()(write)(options.file, report))

    return add_to
