"""The command line, `priolab`. It reports each error of the lab by one line on standard error and an exit code.

Exit codes: 0 done; 1 failed, or a run is invalid; 2 bad input; 128 plus the signal's number if interrupted; 128 plus
the number of SIGPIPE if the reader of the output closed the pipe.

Each command has a module. The module's function `add_to` adds the command's options to a parser, and stores in the
parser, as `do`, the function that carries the command out. The lab imports the module of the given command alone,
because importing all of them takes half a second. It does so before signals begin to raise exceptions, because no
exception may interrupt an import.

Extras have commands, too (experiments/setup/extras.py). The lab looks for them if the command is none of the core's.
"""

import os
import re
import signal
import sys
from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from priolab.common.errors import LabError, ScenarioError, Unfit
from priolab.common.exit_codes import ExitCode, signalled
from priolab.common.formats.files import FolderError, printable
from priolab.common.process.interruption import Interrupted, raise_interrupted
from priolab.experiments.commands.console import Report
from priolab.experiments.setup import extras

_ABOUT = (
    "The priority lab shows, measures and explains why HTTP/2 prioritization fails when a server hands its bytes to the"
    " kernel too early."
)
_FIRST_STEPS = (
    "`priolab setup` prepares this machine, `priolab run LOWAT=131072` is the demonstration, and"
    " `priolab COMMAND --help` explains a command. Pages such as docs/guide/pages.md are in the source distribution."
)

_NEGATIVE = re.compile(r"-\.?\d")
"""The beginning of a word that is the value of an option, though it begins as an option does."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name; returns the exit code.

    arguments: the words after `priolab`; None for the words of this process.
    """
    words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        Path.cwd()
    except OSError as error:
        Report().complain(f"the current folder cannot be used: {error.strerror}; change to another")
        return ExitCode.NOT_OK
    if sys.platform != "linux" and words and words[0] not in _ANYWHERE and not words[0].startswith("-"):
        Report().complain(
            f"`priolab {words[0]}` needs Linux, and this system is {sys.platform}; use the image of the lab "
            "(docs/guide/fabrics.md) or a virtual machine. "
            f"Here you can use {', '.join(sorted(_ANYWHERE))}"
        )
        return ExitCode.NOT_OK
    options = Namespace(kept=None, print_folder=False)  # kept: a function that says what an interruption leaves
    report = Report()
    try:
        options_from(command_line(words), words, options)
        report = Report(aside=options.print_folder)
        raise_interrupted()
        code = int(options.do(options, report) or 0)
        sys.stdout.flush()
        return code
    except ImportError as error:
        if error.name != "vl_convert":  # the library that draws; a command that needs it imports it at once
            raise
        from priolab.experiments.commands.drawing import no_figures

        report.complain(no_figures() or str(error))
        return ExitCode.NOT_OK
    except BrokenPipeError:  # the reader closed the pipe; Python's remaining output must not fail at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return signalled(signal.SIGPIPE)
    except ScenarioError as error:
        report.complain(str(error))
        return ExitCode.BAD_INPUT
    except (LabError, FolderError) as error:
        report.complain(str(error))
        return ExitCode.NOT_OK
    except MemoryError:
        report.complain(f"there is not enough memory; {_kept(options)}")
        return ExitCode.NOT_OK
    except OSError as error:  # for example a full disk
        report.complain(f"{error.filename or 'writing'}: {error.strerror or error}; {_kept(options)}")
        return ExitCode.NOT_OK
    except Interrupted as interruption:
        report.complain(f"interrupted by {interruption.name}; {_kept(options)}")
        return interruption.code


def _kept(options: Namespace) -> str:
    """Returns the end of an error message: the part that says which files the unfinished command has left."""
    return str(options.kept()) if options.kept else "nothing was kept"


def command_line(arguments: Sequence[str]) -> ArgumentParser:
    """Builds the parser. If the first argument is a command, the parser knows this command alone, with its options."""
    parser, commands = _parser()
    named = arguments[0] if arguments else ""
    known = dict(_COMMANDS)
    if named not in known:
        known |= _of_extras()
    for name in [named] if named in known else known:
        about, module = known[name]
        command = commands.add_parser(name, help=about, allow_abbrev=False)
        if name == named:
            import_module(module).add_to(command)
    return parser


def whole_command_line() -> tuple[ArgumentParser, Mapping[str, ArgumentParser]]:
    """Builds the parser of all commands with all their options; returns it, and each command's parser by name.

    Completion in shells and the man page are made from it. A command whose Python packages are missing has no options.
    """
    parser, commands = _parser()
    for name, (about, module) in (_COMMANDS | _of_extras()).items():
        command = commands.add_parser(name, help=about, allow_abbrev=False)
        with suppress(ImportError):
            import_module(module).add_to(command)
    return parser, commands.choices


def _parser() -> tuple[ArgumentParser, "_SubParsersAction[ArgumentParser]"]:
    """Returns a parser without commands, and the place to which its commands are added."""
    parser: ArgumentParser = _Parser(prog="priolab", description=_ABOUT, epilog=_FIRST_STEPS, allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the lab's version and the digest of its code")
    return parser, parser.add_subparsers(required=True, metavar="COMMAND")


def _of_extras() -> dict[str, tuple[str, str]]:
    return {name: (about, module) for name, about, module in extras.commands()}


class _Parser(ArgumentParser):
    """A parser for which words such as -5s are values, and whose errors are a line as those of the lab are."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._negative_number_matcher = _NEGATIVE

    def error(self, message: str) -> NoReturn:
        """Raises Unfit."""
        raise Unfit(f"{printable(message.removeprefix('argument '))}; `{self.prog} --help` shows what is allowed")


class _Version(Action):
    """Prints the version, which is looked up only then, and exits."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        """Does what the class says."""
        from priolab.experiments.results import digest

        print("priolab {version}, code {code}".format(**digest.lab()))
        parser.exit()


def options_from(parser: ArgumentParser, words: Sequence[str], options: Namespace | None = None) -> Namespace:
    """Parses the command line, into `options` if given.

    Words such as LOWAT=16384 may follow an option, which argparse alone would refuse. If a command runs another
    command, that one follows `--`, and is not parsed.
    """
    options = options or Namespace()
    own = words[: words.index("--")] if "--" in words else words
    _, later = parser.parse_known_args(own, options)
    if hasattr(options, "command"):
        options.command = words[len(own) + 1 :]
    elif own != words:
        _, later = parser.parse_known_args(words, options)
    if later and (not hasattr(options, "words") or any(word.startswith("-") for word in later)):
        parser.error(f"unrecognized arguments: {' '.join(later)}")
    if later:
        options.words += later
    return options


_COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run an experiment", "priolab.experiments.run_command"),
    "sweep": ("run every combination of several knobs' values", "priolab.experiments.sweep.command"),
    "show": ("show the results of an experiment", "priolab.experiments.show_command"),
    "export": ("write results in other programs' formats", "priolab.experiments.commands.export"),
    "figures": ("draw all figures of an experiment", "priolab.experiments.commands.figures"),
    "knee": ("show which LOWAT a sweep recommends, and why", "priolab.experiments.sweep.knee"),
    "list": ("list the named scenarios and sweeps, or what a sweep would run", "priolab.experiments.sweep.listing"),
    "doctor": ("show what this machine can do, and what is missing", "priolab.experiments.commands.doctor"),
    "probe": (
        "test in which order a running server sends two resources, in every dialect",
        "priolab.experiments.commands.probe",
    ),
    "trace": (
        "make a trace of packet opportunities, for TRACE: synthetic, or from a recorded rate",
        "priolab.experiments.commands.trace",
    ),
    "sandbox": (
        "run any two programs on a link, on virtual time: the same bytes every time",
        "priolab.testbed.sandbox.command",
    ),
    "setup": (
        "install the packages and the guest kernel that the lab needs",
        "priolab.experiments.commands.setup_command",
    ),
    "roots": (
        "list the servers fetched from Debian's suites, or fetch newer ones",
        "priolab.experiments.commands.suite_roots",
    ),
    "kernel": ("build the guest kernel, unless it is built already", "priolab.experiments.commands.guest_kernel"),
    "completion": (
        "print a script with which a shell completes commands, options and knobs",
        "priolab.experiments.completion_command",
    ),
}
"""For each command of the core: what it does, and its module."""

_ANYWHERE = {"export", "figures", "knee", "list", "show", "trace"}
"""Commands that work on every system: they read recorded results, or write a trace."""
