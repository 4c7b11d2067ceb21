"""Describes the front of a run for run.json, so that this file alone names the program and its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priolab.common.formats.files import read_json
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.debian_tree import root_at
from priolab.proxy.server import server_of

_DIGEST = "sha256 "


def front_record(scenario: Scenario, folder: RunFolder) -> dict[str, Any]:
    """Returns the entry `front` of run.json: the server's properties, its version, and where its program comes from.

    Of the keys `version`, `root`, `wheel` and `own`, only those are there that apply and that arm.json tells. Raises
    OSError if arm.json cannot be read.
    """
    traits: dict[str, Any] = {"scheduling": server_of(scenario.server).scheduling}
    if not folder.arm.exists():
        return traits
    order = read_json(folder.arm)
    root = root_at(Path(order["root"])) if order.get("root") else None
    return traits | origin_of(scenario, order["versions"]) | ({"root": root.record()} if root else {})


def origin_of(scenario: Scenario, versions: Mapping[str, str]) -> dict[str, Any]:
    """Returns the front's version, its wheel and the digests of the user's own files, as far as `versions` has them.

    versions: the versions of the run's programs, as the order has them (experiments/setup/programs.py).
    """
    found: dict[str, Any] = {}
    if version := versions.get(scenario.server):
        found["version"] = version
    if wheel := versions.get(f"wheel of SERVER={scenario.server}"):
        requirement, _, digest = wheel.partition(f", {_DIGEST}")
        found["wheel"] = {"requirement": requirement, "sha256": digest}
    own = {
        name: said.rpartition(_DIGEST)[2]
        for name, knob in (
            ("folder", f"SERVER={scenario.server}"),
            ("program", f"program of SERVER={scenario.server}"),
            ("program", f"PROGRAM={scenario.program}"),
            ("config", f"CONFIG={scenario.config}"),
        )
        if (said := versions.get(knob))
    }
    return found | ({"own": own} if own else {})
