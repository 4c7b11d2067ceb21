"""Builds the command that starts the client, and checks what a browser did."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from common.formats.plan import read_plan
from experiments.errors import InvalidRun
from experiments.host.tools import Tools
from experiments.results.run_folder import RunFolder, last_line, read_json
from experiments.scenario.scenario import Scenario
from proxy.certificate_files import certificates_in

_NO_RFC7540_PRIORITIES = "9"


def client_command(scenario: Scenario, folder: RunFolder, python: str, tools: Tools) -> tuple[str, ...]:
    """Returns the argument list that starts the client: the browser, or the lab's own client.

    The client reads its plan from the run folder.
    """
    plan, certificates = str(folder.client / "plan.json"), certificates_in(folder.asked)
    if scenario.client.is_browser:
        words = (plan, str(certificates.chain), str(folder.client), tools.programs[scenario.client])
        return (python, "-P", "-m", f"client.{scenario.client}", *words)
    return (python, "-P", "-m", "client", plan, str(certificates.ca), str(folder.client))


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


def check_browser(browser: Mapping[str, Any], favoured: Sequence[str]) -> None:
    """Checks that the browser used one connection, and asked for one of `favoured` to come first. Raises InvalidRun.

    browser: the entry `browser` of run.json. favoured: the names of the resources that should come first by the
    scenario's priorities; empty if the browser need not ask for any.
    """
    if browser["connections"] != 1:
        raise InvalidRun("the number of connections on which the browser sent requests", 1, browser["connections"])
    if favoured and (first := browser["asked_first"]["first"]) not in favoured:
        raise InvalidRun("the resource that the browser asked to come first", " or ".join(favoured), first)


def was_silenced(folder: RunFolder) -> bool:
    """Returns True if the browser sent no priorities in the measured load because the front does not read its kind.

    A front says so with SETTINGS_NO_RFC7540_PRIORITIES=1 (RFC 9218, 2.1).
    """
    document = read_json(folder.client / "browser.json")
    last = max((request["load"] for request in document["requests"]), default=0)
    measured = [request for request in document["requests"] if request["load"] == last]
    told = document["server_settings"].get(_NO_RFC7540_PRIORITIES) == 1
    return told and all((each["weight"], each["field"], each["later"]) == (None, None, []) for each in measured)


def withdraw_order(folder: RunFolder) -> None:
    """Writes into the client's plan that no resource was asked to come first, so that no verdict expects an order."""
    plan_file = folder.client / "plan.json"
    plan_file.write_text(replace(read_plan(plan_file), favoured=()).to_json())


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
