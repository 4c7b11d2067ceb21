"""The command `priolab setup`. The set-up itself needs the standard library alone (experiments/commands/setup.py)."""

from argparse import ArgumentParser, Namespace

from priolab.common.errors import ScenarioError
from priolab.common.home import in_checkout
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.setup import set_up
from priolab.experiments.execution.cli_request import split_words
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.setup.setup_request import SetupPart


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab setup` to its parser."""
    about = f"PART: {', '.join(SetupPart)}; knobs such as SERVER=h2o"
    parser.add_argument("words", nargs="*", metavar="PART or KNOB=VALUE", help=about)
    parser.set_defaults(do=_do, offers={"words": lambda: SetupPart})


def _do(options: Namespace, _: Report) -> int:
    knobs = split_words(word for word in options.words if "=" in word and not word.startswith("SWEEP="))
    for name in filter(None, map(str.strip, knobs.get("SERVER", "").split(","))):
        try:
            KNOBS["SERVER"].parse(name)
        except ValueError as error:
            raise ScenarioError("SERVER", name, KNOBS["SERVER"].allowed) from error
    options.kept = lambda: "what was already installed is kept"
    return set_up(options.words, makes_environment=in_checkout())
