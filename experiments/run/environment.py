"""Writes env.json: the environment of an arm, and the quality of its clocks.

The lab writes the file when the namespaces or containers exist, and again when the origin has reported its clock.
"""

import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

from priolab.common.clock_route import ClockRoute
from priolab.common.formats.environment import EnvironmentRecord
from priolab.common.formats.files import write_json
from priolab.experiments.hosts.experiment_hosts import Hosts
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.setup.tools import Tools

_FIGURES = ("source", "resolution_ns", "read_cost_ns")
_UNASKED = "the origin did not answer"


class Environment:
    """The environment of an arm. The origin's clock is unknown until the origin answers."""

    def __init__(self, folder: RunFolder, tools: Tools, places: Hosts) -> None:
        """Collects and writes everything except the origin's clock. Slow, so call it before the servers start."""
        self._folder = folder
        self._route = places.node_route(tools)
        self._clock = {**places.python_clock(), "node": node_clock(self._route, None)}
        record = EnvironmentRecord(
            kernel=platform.release(),
            machine=platform.machine(),
            cpus=os.cpu_count(),
            clock=self._clock,
            python=sys.version.split()[0],
            versions=dict(tools.versions),
        )
        self._document = {**vars(record), **places.describe()}
        write_json(folder.environment, self._document)

    def origin_answers(self, clock: Mapping[str, Any]) -> None:
        """Adds the origin's report of its clock (backend/clock.mjs), and writes the file again."""
        self._clock["node"] = node_clock(self._route, clock)
        write_json(self._folder.environment, self._document)

    @property
    def resolution_ns(self) -> int | None:
        """The resolution of the coarser clock, Python's or Node's; None if neither is known."""
        known = [self._clock[name]["resolution_ns"] for name in ("python", "node")]
        return max((each for each in known if each is not None), default=None)


def node_clock(route: ClockRoute, seen: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the entry of env.json for Node's clock.

    route: how Node reads the clock. seen: the origin's report; None if the origin has not answered.
    """
    figures = {name: seen[name] if seen else None for name in _FIGURES}
    reasons = dict(seen["reasons"]) if seen else dict.fromkeys(_FIGURES, _UNASKED)
    if route.reason:
        reasons["reads"] = route.reason
    return {**figures, "reads": route.route, "reasons": reasons}
