"""`priolab tune`: starts priority-tuner, the tuner for servers in use, which is a program of its own."""

import os
from argparse import REMAINDER, ArgumentParser, Namespace

from priolab.common import home
from priolab.common.errors import Unavailable
from priolab.common.process.search_path import find
from priolab.experiments.commands.console import Report

_NAME = "priority-tuner"
_OF_THE_PROGRAM = ("-h", "--help", "--version")
_REMEDY = "build it with `make tuner`, or install the package that `make tuner-deb` makes"


def add_to(parser: ArgumentParser) -> None:
    """Adds the arguments of `priolab tune` to its parser: all go to priority-tuner, options to its command `run`."""
    parser.prefix_chars = "\0"  # no argument is an option of this parser, not even --help
    parser.add_argument("words", nargs=REMAINDER, metavar="ARGUMENT", help=f"goes to {_NAME}")
    parser.set_defaults(do=tune)


def tune(options: Namespace, report: Report) -> int:
    """Replaces this process by priority-tuner. Raises Unavailable."""
    del report
    program = found()
    if program is None:
        raise Unavailable("priolab tune", f"{_NAME} is not installed", _REMEDY)
    first = options.words[0] if options.words else ""
    runs = first.startswith("-") and first not in _OF_THE_PROGRAM
    os.execv(program, [_NAME, *(["run"] if runs else []), *options.words])  # noqa: S606 - no shell


def found() -> str | None:
    """Returns the path of priority-tuner, as `make tuner` builds it or in PATH; None if it is in neither place."""
    built = home.ROOT / "build" / _NAME
    return str(built) if os.access(built, os.X_OK) else find(_NAME)
