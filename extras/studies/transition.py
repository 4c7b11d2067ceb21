"""Measures today's browsers at fronts that read RFC 7540 and RFC 9218: `make transition` fills transition.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from priolab import InvalidRun
from priolab.common.formats.files import read_json
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import with_defaults
from priolab.extras.studies import transition_document
from priolab.extras.studies.in_guest import run_in_guest
from priolab.extras.studies.transition_document import Case, Front, Sent

CLIENTS = ("chromium", "firefox", "webkit")
_PAGES = ("news", "maps")
_LOWATS = ("none", "16384")
_FRONTS = (
    Front(server="nginx@bookworm", reads="RFC 7540"),
    Front(server="h2o@bookworm", reads="RFC 7540"),
    Front(server="nghttpx@bookworm", reads="RFC 7540"),
    Front(server="apache@bookworm", reads="RFC 7540"),
    Front(server="nghttpx@sid", reads="RFC 9218"),
    Front(server="apache@sid", reads="RFC 9218"),
    Front(server="lighttpd@sid", reads="RFC 9218"),
    Front(server="node@sid", reads="RFC 9218"),
    Front(server="go", reads="RFC 9218"),
)
_SIGNALS_AT = ("nginx@bookworm", "lighttpd@sid")
"""The fronts at which the signals are recorded: one without SETTINGS_NO_RFC7540_PRIORITIES, one with it."""

_TRIES = 4
"""The most attempts at a run. A browser whose parser loses a race asks for the other order. Such a run is invalid, and
is repeated."""


def cases() -> dict[Case, Arm]:
    """Returns the arms of all rows about pages."""
    found = [
        Case(page=page, client=client, server=front.server, lowat=lowat)
        for page in _PAGES
        for client in CLIENTS
        for front in _FRONTS
        for lowat in _LOWATS
    ]
    return {case: _arm(case, {}) for case in found}


def signal_cases() -> dict[Case, Arm]:
    """Returns the arms in which the browsers' signals are recorded."""
    found = [
        Case(page="signals", client=client, server=server, lowat="none") for client in CLIENTS for server in _SIGNALS_AT
    ]
    return {case: _arm(case, {"RELOADS": "1"}) for case in found}


def _arm(case: Case, knobs: Mapping[str, str]) -> Arm:
    own = {"PAGE": case.page, "CLIENT": case.client, "SERVER": case.server, "LOWAT": case.lowat}
    name = f"{case.page}-{case.client}-{case.server}-{case.lowat}"
    return Arm(name=name, knobs=with_defaults({**own, **knobs}))


def measure(
    asked: Mapping[Case, Arm], results: Path, report: Report
) -> tuple[dict[Case, Mapping[str, Any]], dict[Case, Mapping[str, Any]]]:
    """Runs arms in the guest, and repeats arms that are not ok. Returns their summaries, and their browser.json.

    Raises LabError, also if a run is still not ok.
    """
    arms: dict[Case, Mapping[str, Any]] = {}
    browsers: dict[Case, Mapping[str, Any]] = {}
    for _ in range(_TRIES):
        left = {case: arm for case, arm in asked.items() if case not in arms}
        experiment = run_in_guest("transition", list(left.values()), results, report)
        found = {arm["name"]: arm for arm in experiment.summary["arms"]}
        for case, arm in left.items():
            if found[arm.name]["status"] == "ok":
                arms[case] = found[arm.name]
                browsers[case] = read_json(experiment.path / f"{arm.name}.1" / "client" / "browser.json")
        if len(arms) == len(asked):
            return {case: arms[case] for case in asked}, browsers
    missing = [found[arm.name] for case, arm in asked.items() if case not in arms]
    raise InvalidRun(f"{missing[0]['name']}, after {_TRIES} attempts", "a run that is ok", missing[0]["reason"])


def sent(browsers: Mapping[Case, Mapping[str, Any]], clients: Sequence[str] = CLIENTS) -> dict[str, Sent]:
    """Returns what each browser sent, by CLIENT."""
    by_place = {(case.client, case.server): browser for case, browser in browsers.items()}
    plain, told = _SIGNALS_AT
    return {client: Sent(browser=by_place[client, plain], told=by_place[client, told]) for client in clients}


def _measure(results: Path, report: Report) -> Findings:
    _, browsers = measure(signal_cases(), results, report)
    arms, _ = measure(cases(), results, report)
    return Findings(places=transition_document.places(sent(browsers), _FRONTS, arms, _PAGES))


add_to = Study(
    name="transition",
    step="the browsers' priorities",
    measure=_measure,
    arms=lambda: [*signal_cases().values(), *cases().values()],
).add_to
