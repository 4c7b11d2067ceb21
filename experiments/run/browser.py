"""Builds the command that starts the client, and checks what a browser did."""

import json
from collections.abc import Mapping
from typing import Any

from priolab.common.errors import InvalidRun
from priolab.common.formats.files import read_json
from priolab.experiments.results.run_folder import RunFolder, last_line
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.tools import Tools
from priolab.proxy.certificate_files import certificates_in


def client_command(scenario: Scenario, folder: RunFolder, python: str, tools: Tools) -> tuple[str, ...]:
    """Returns the argument list that starts the client: the browser, or the lab's own client.

    The client reads its plan from the run folder.
    """
    plan, certificates = str(folder.client / "plan.json"), certificates_in(folder.asked)
    if scenario.client.is_browser:
        words = (plan, str(certificates.chain), str(folder.client), tools.programs[scenario.client])
        return (python, "-P", "-m", f"priolab.client.{scenario.client}", *words)
    return (python, "-P", "-m", "priolab.client", plan, str(certificates.ca), str(folder.client))


def observed_browser(folder: RunFolder, resolution_ns: int | None) -> dict[str, Any]:
    """Returns the entries of `observed` in run.json that come from client/browser.json.

    resolution_ns: the resolution of the clocks of Python and Node; None if unknown. The entry `clock_resolution_ns` is
    the larger of resolution_ns and the resolution of the browser's record. The entry `seeded` is False, because a
    browser's run does not follow from the seed: runs with the same seed agree to a few milliseconds, not byte for byte.
    """
    document = read_json(folder.client / "browser.json")
    carrying = [connection for connection in document["connections"] if connection["requests"]]
    return {
        "seeded": False,
        "clock_resolution_ns": max(resolution_ns or 0, document["time_resolution_ns"]),
        "browser": {
            "product": document["product"],
            "connections": len(carrying),
            "asked_first": document["asked_first"][-1],
            "connection_window_bytes": document["connection_window_bytes"],
            "stream_window_bytes": document["stream_window_bytes"],
        },
    }


def check_browser(browser: Mapping[str, Any]) -> None:
    """Checks that the browser used one connection. browser: the entry `browser` of run.json. Raises InvalidRun."""
    if browser["connections"] != 1:
        raise InvalidRun("the number of connections on which the browser sent requests", 1, browser["connections"])


def last_event_ns(folder: RunFolder) -> int:
    """Returns the time of the browser's last event. The client ends later, because it still reads its record."""
    t_ns: int = last_line(folder.client / "events.jsonl")["t_ns"]
    return t_ns


def payload_span(folder: RunFolder) -> range:
    """Returns the times (CLOCK_MONOTONIC, ns) from the first to the last payload of the measured load."""
    events = map(json.loads, (folder.client / "events.jsonl").read_text().splitlines())
    times = [(event["load"], event["t_ns"]) for event in events if event["kind"] == "data"]
    measured = [t_ns for load, t_ns in times if load == times[-1][0]]
    return range(measured[0], measured[-1] + 1)
