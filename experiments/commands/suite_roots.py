"""`priolab roots`: lists the file trees of Debian suites in the cache, or fetches the newest packages of a suite."""

from argparse import ArgumentParser
from collections.abc import Sequence

from priolab.common.errors import ScenarioError
from priolab.common.home import setup_command
from priolab.common.plural import counted
from priolab.experiments.commands.console import Report
from priolab.experiments.setup.debian_tree import Root, all_roots, roots_folder
from priolab.experiments.setup.root_making import obtain
from priolab.proxy.server import SUITES, Server, catalogue, server_of

_EXAMPLES = "a server of Debian with a suite, such as nginx@trixie"


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab roots` to its parser."""
    parser.add_argument("names", nargs="*", metavar="NAME@SUITE", help="a server and a suite, to fetch newer packages")
    parser.set_defaults(do=lambda options, report: show(options.names, report))


def show(names: Sequence[str], report: Report) -> int:
    """Makes a root of the newest packages of each server named; lists all roots if none is named. Returns 0.

    Raises ScenarioError for a name without a suite, and Unavailable if a root cannot be made.
    """
    for server in [_named(name) for name in names]:
        report.say(_line(obtain(server, report.say, renew=True)))
    if not names:
        found = all_roots()
        for root in found:
            report.say(_line(root))
        another = setup_command("SERVER=nginx@trixie")
        report.say(f"{counted(len(found), 'root')} in {roots_folder()}; {another} adds one")
    return 0


def _named(name: str) -> Server:
    plain, _, suite = name.partition("@")
    known = catalogue().get(plain)
    if known is None or suite not in SUITES:
        raise ScenarioError("SERVER", name, f"{_EXAMPLES}; the suites are {', '.join(SUITES)}")
    if suite not in known.suites:
        raise ScenarioError("SERVER", name, ", ".join(f"{plain}@{each}" for each in known.suites) or _EXAMPLES)
    return server_of(name)


def _line(root: Root) -> str:
    purpose = ", for containers" if root.extra else ""
    made = root.made_at.partition("T")[0]
    return (
        f"{root.server}@{root.suite}: {root.version}, {counted(len(root.packages), 'package')}, {made}{purpose}:"
        f" {root.name}"
    )
