"""Tests of env.json: its description of the clocks, and when it is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from priolab.common.clock_route import ClockRoute, Route
from priolab.common.formats.files import read_json
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.run.environment import Environment, node_clock
from priolab.experiments.setup.tools import Tools
from tests.support.builders import maps

SEEN = {"source": "tsc", "resolution_ns": 140, "read_cost_ns": 150.5, "reasons": {}}


class MadePlaces:
    """Places that only describe their clocks."""

    def __init__(self, resolution_ns: int | None) -> None:
        self._python = {"resolution_ns": resolution_ns, "reads": Route.VDSO}

    def python_clock(self) -> Mapping[str, Any]:
        return {"implementation": "made", "python": self._python}

    def node_route(self, tools: Tools) -> ClockRoute:
        del tools
        return ClockRoute(route=Route.VDSO)

    def describe(self) -> Mapping[str, Any]:
        return {"engine": "1.2.3"}


def environment(tmp_path: Path, resolution_ns: int | None) -> tuple[Environment, RunFolder]:
    folder = RunFolder(tmp_path / "control.1")
    folder.create()
    return Environment(folder, Tools(programs={}, versions={"node": "v20"}), MadePlaces(resolution_ns)), folder  # type: ignore[arg-type]


def test_env_json_is_there_before_the_origin_answers(tmp_path: Path) -> None:
    """Until the origin answers, env.json has a reason instead of the data of Node's clock. Then the data replace it."""
    found, folder = environment(tmp_path, 60)
    before = read_json(folder.environment)
    assert before["clock"]["node"]["resolution_ns"] is None
    assert before["clock"]["node"]["reasons"]["resolution_ns"] == "the origin did not answer"
    found.origin_answers(SEEN)
    after = read_json(folder.environment)
    assert after["clock"]["node"] == SEEN | {"reads": "vdso"}
    assert after | {"clock": None} == before | {"clock": None}
    assert (after["engine"], after["versions"]) == ("1.2.3", {"node": "v20"})


@pytest.mark.parametrize(("python_ns", "coarser_ns"), [(60, 140), (4_000_000, 4_000_000), (None, 140)])
def test_the_coarser_clock_is_the_runs(tmp_path: Path, python_ns: int | None, coarser_ns: int) -> None:
    """The run's resolution is the coarser of the known resolutions."""
    found, _ = environment(tmp_path, python_ns)
    assert found.resolution_ns == python_ns
    found.origin_answers(SEEN)
    assert found.resolution_ns == coarser_ns


def test_what_is_null_has_its_reason() -> None:
    """Each missing figure of Node's clock has a reason. `reads`, vDSO or system call, has the reason of the route."""
    seen = SEEN | {"read_cost_ns": None, "reasons": {"read_cost_ns": "too coarse"}}
    clock = node_clock(ClockRoute(route=None, reason="not tried"), seen)
    assert clock["reads"] is None
    assert clock["reasons"] == {"read_cost_ns": "too coarse", "reads": "not tried"}


@pytest.mark.parametrize("found", [None, ClockRoute(route=Route.VDSO), ClockRoute(route=None, reason="not tried")])
def test_an_order_hands_the_route_on(tmp_path: Path, found: ClockRoute | None) -> None:
    """The order contains the route of Node's clock (vDSO or system call) if it was measured before the experiment."""
    folder = RunFolder(tmp_path / "control.1")
    folder.create()
    RunSpec(
        knobs={},
        page=maps(),
        fabric="compose",
        shaper=None,
        seed=1,
        sample=None,
        load_deadline_ns=1,
        capture=False,
        programs={},
        versions={},
        node_route=found,
    ).write(folder)
    assert RunSpec.read(folder).tools.node_route == found
