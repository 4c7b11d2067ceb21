"""The command `priolab list`: lists the named scenarios, pages, links and sweeps."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from priolab.common.errors import Unfit
from priolab.common.plural import counted
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.printable import ended, shown
from priolab.experiments.execution.cli_request import joined_words
from priolab.experiments.scenario.named import LAYERS, Entry, catalogue
from priolab.experiments.scenario.pages import page_titles
from priolab.experiments.sweep import sweep_file
from priolab.experiments.sweep.sweep_request import SweepRequest, sweep_request_from
from priolab.netem.link_profiles import profiles


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab list` to its parser."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="SWEEP or KNOB=VALUE,...",
        help="list the arms of this sweep, which is given as for `priolab sweep` (default: list all names)",
    )
    parser.add_argument("--json", action="store_true", help="print the names as JSON, for programs")
    parser.set_defaults(do=show, offers={"words": sweep_file.catalogue})


def show(options: Namespace, report: Report) -> int:
    """Lists the named scenarios, pages, links and sweeps. Returns 0. Raises ScenarioError.

    If the options have words, lists instead the arms of the sweep that the words describe.
    """
    if options.words and options.json:
        raise Unfit("--json lists all names, and takes no sweep; `priolab knee --json` has the results of one")
    if options.json:
        print(json.dumps(names(), indent=2))
        return 0
    if options.words:
        show_expansion(options.words, report)
        return 0
    entries = catalogue().values()
    plain = [line for entry in entries if not entry.card for line in lines_of(entry)]
    cards = [line for entry in entries if entry.card for line in lines_of(entry)]
    report.lines([*plain, "", "[bold underline]ways to spoil the effect of LOWAT[/]", *cards])
    report.say("\npages", "bold")
    for name, title in page_titles().items():
        report.say(f"{name}  {title}")
    report.say("\nlinks that people name, for LINK", "bold")
    for name, profile in profiles().items():
        report.say(f"{name}  {profile.words}")
    report.say("")
    show_named(report)
    return 0


def lines_of(entry: Entry) -> Iterator[str]:
    """Yields the lines about a named scenario, in rich's markup."""
    yield f"[bold]{shown(entry.name)}[/]  {shown(joined_words(entry.knobs))}"
    yield f"    {shown(ended(entry.title))}"
    yield f"    Expect: {shown(ended(entry.expect))}"
    if entry.card:
        yield f"    Layer: {LAYERS[entry.card.layer]}."
        yield f"    How to recognize it: {shown(entry.card.tell)}"
        if entry.card.cure:
            yield f"    Cure: {shown(entry.card.cure)}"


def names() -> dict[str, Any]:
    """Returns scenarios and links with their knobs, pages with their titles, and sweeps with their values, by name."""
    sweeps = {name: sweep_request_from([name]) for name in sweep_file.catalogue()}
    return {
        "scenarios": {
            name: {"title": entry.title, "knobs": dict(entry.knobs), "expect": entry.expect}
            for name, entry in catalogue().items()
        },
        "pages": dict(page_titles()),
        "links": {name: dict(profile.knobs) for name, profile in profiles().items()},
        "sweeps": {
            name: {
                "title": request.title,
                "levels": {knob: list(values) for knob, values in request.grid.levels.items()},
                "fixed": dict(request.grid.fixed),
                "runs": request.runs,
            }
            for name, request in sweeps.items()
        },
    }


def show_named(report: Report) -> None:
    """Lists the named sweeps, with the number of their arms."""
    for name in sweep_file.catalogue():
        request = sweep_request_from([name])
        report.say(f"{name}: {request.title} (sweep: {_size(request)})", "bold")
        report.say(f"    {_lists(request)}")


def show_expansion(words: Sequence[str], report: Report) -> None:
    """Shows the arms of a sweep. Raises ScenarioError, also for a sweep that `priolab sweep` refuses without --yes."""
    # What a list of names does not need.
    from priolab.experiments.sweep import table
    from priolab.experiments.sweep.sweep import estimate_here, expanded

    request = sweep_request_from(words)
    points = expanded(request, yes=False)
    announce(request, report)
    scenarios = [point.arm.scenario for point in points]
    report.say(estimate_here(request, scenarios).words)
    report.made_table(table.expansion(points))


def announce(request: SweepRequest, report: Report) -> None:
    """Shows the name, the size and the values of a sweep."""
    report.say(f"{request.name}: {request.title} ({_size(request)})")
    report.say(_lists(request))


def _size(request: SweepRequest) -> str:
    grid, repeat = request.grid, request.run["REPEAT"]
    times = f", {repeat} times each" if repeat > 1 else ""
    arms = f"{counted(grid.combinations, 'arm')} in {counted(grid.networks, 'network')}"
    if grid.instants > 1:
        arms += f", with the script ready at {grid.instants} instants (JS_DELAY)"
    told = f"{arms}, and {counted(grid.networks, 'twin')}{times}: {request.runs:,} runs"
    return f"{told}; TARGET_DELAY applies to LOWAT=auto alone" if grid.aims_at_several else told


def _lists(request: SweepRequest) -> str:
    given = {name: ",".join(values) for name, values in request.grid.every_level.items()} | dict(request.grid.fixed)
    return " ".join(f"{name}={words}" for name, words in given.items())
