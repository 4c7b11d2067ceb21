"""CLIENT=chromium: how the browser is started, and what it must have done for a run to count."""

import json
from collections.abc import Mapping
from typing import Any

from experiments.errors import InvalidRun
from experiments.host.programs import BROWSER
from experiments.host.tools import Tools
from experiments.results.run_folder import RunFolder, last_line, read_json
from experiments.scenario.scenario import ClientKind, Scenario
from proxy.certificates import certificates_in


def client_command(scenario: Scenario, folder: RunFolder, python: str, tools: Tools) -> tuple[str, ...]:
    """The argument list of the client, the browser's or the lab's own. Its plan is in the run folder."""
    plan, certificates = str(folder.client / "plan.json"), certificates_in(folder.asked)
    if scenario.client is ClientKind.CHROMIUM:
        words = (plan, str(certificates.chain), str(folder.client), tools.programs[BROWSER])
        return (python, "-P", "-m", "client.chromium", *words)
    return (python, "-P", "-m", "client", plan, str(certificates.ca), str(folder.client))


def observed_browser(folder: RunFolder, resolution_ns: int | None) -> dict[str, Any]:
    """Of client/browser.json what run.json keeps: product, connections that carried requests, who was asked first.

    resolution_ns: of the other clocks; the browser's net log may be coarser. Nothing seeds a browser: with the same
    seed its runs agree to a few milliseconds, and not byte for byte.
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


def check_browser(browser: Mapping[str, Any], favoured: str | None) -> None:
    """Raises InvalidRun if it used several connections, or asked for another resource to come first than expected."""
    if browser["connections"] != 1:
        raise InvalidRun("connections that carried requests of the browser", 1, browser["connections"])
    if browser["asked_first"]["first"] != favoured:
        raise InvalidRun("what the browser asked to come first", favoured, browser["asked_first"]["first"])


def last_event_ns(folder: RunFolder) -> int:
    """When the browser last saw something: it is read from its net log some time after it has ended."""
    t_ns: int = last_line(folder.client / "events.jsonl")["t_ns"]
    return t_ns


def payload_span(folder: RunFolder) -> range:
    """From the first payload of the measured load, which is the last, to the last."""
    events = map(json.loads, (folder.client / "events.jsonl").read_text().splitlines())
    times = [(event["load"], event["t_ns"]) for event in events if event["kind"] == "data"]
    measured = [t_ns for load, t_ns in times if load == times[-1][0]]
    return range(measured[0], measured[-1] + 1)
