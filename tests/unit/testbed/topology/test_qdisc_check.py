"""Tests of the requirements of QDISC: each that is missing is named in one line, with the remedy."""

from collections.abc import Sequence
from typing import Any

import pytest

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.process import processes
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.link import Qdisc
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.topology import qdisc_check
from priolab.testbed.topology.qdisc_check import check_qdisc, check_tools

_KNOWN = "Usage: ... pie [ limit PACKETS ]"
_UNKNOWN = 'Unknown qdisc "dualpi2", hence option "help" is unparsable'


def _nothing_missing(*_: object) -> None:
    """Stands for a kernel that has everything."""


def _no_netem() -> str:
    return "this kernel has no sch_netem"


def _no_qdisc(qdisc: str) -> str:
    return f"the guest kernel has no sch_{qdisc}"


@pytest.fixture(name="tc")
def _tc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces tc by one that knows pie alone."""

    def run(command: Sequence[str], *, step: str) -> str:
        assert command[-1] == "help"
        raise StepFailed(step, _KNOWN if Qdisc.PIE in command else _UNKNOWN)

    monkeypatch.setattr(processes, "run", run)


def _check(scenario: Scenario, shaper: Shaper | None, *lacks: Any) -> None:
    check_qdisc(scenario.link, scenario.front_qdisc, shaper, *lacks)


@pytest.mark.usefixtures("tc")
def test_what_is_there_can_be_used() -> None:
    """A discipline that tc and kernel know can be used; fifo needs nothing."""
    _check(scenario_from({"QDISC": "pie"}), None, _nothing_missing, _nothing_missing)
    _check(scenario_from({"QDISC": "pie"}), Shaper.NETEM, _nothing_missing, _nothing_missing)
    _check(scenario_from({}), Shaper.FERRY, _no_netem, _no_qdisc)


def test_the_discipline_of_the_front() -> None:
    """A kernel without the front's discipline is named; pfifo_fast is in each kernel."""
    _check(scenario_from({"FRONT_QDISC": "fq"}), None, _no_netem, _nothing_missing)
    _check(scenario_from({"FRONT_QDISC": "pfifo_fast"}), None, _no_netem, _no_qdisc)
    with pytest.raises(Unavailable, match=r"^FRONT_QDISC=fq .*: the guest kernel has no sch_fq; use another FRONT"):
        _check(scenario_from({"FRONT_QDISC": "fq"}), None, _nothing_missing, _no_qdisc)


@pytest.mark.usefixtures("tc")
def test_what_is_missing_is_named() -> None:
    """The ferry, a kernel without netem, an old tc and a kernel without the discipline have an error each."""
    pie, dualpi2 = scenario_from({"QDISC": "pie"}), scenario_from({"QDISC": "dualpi2"})
    with pytest.raises(Unavailable, match=r"^QDISC=pie with SHAPER=ferry cannot .* only .* fifo, not pie; use SHAPER"):
        _check(pie, Shaper.FERRY, _nothing_missing, _nothing_missing)
    with pytest.raises(Unavailable, match=r"^QDISC=pie cannot be used here: this kernel has no sch_netem; use FABRIC"):
        _check(pie, None, _no_netem, _nothing_missing)
    with pytest.raises(Unavailable, match=r"^QDISC=dualpi2 .*: tc of this machine does not know dualpi2; install"):
        _check(dualpi2, None, _nothing_missing, _nothing_missing)
    with pytest.raises(Unavailable, match=r"^QDISC=pie .*: the guest kernel has no sch_pie; use another QDISC"):
        _check(pie, None, _nothing_missing, _no_qdisc)


def test_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that is not installed is named, with its package."""
    check_tools("FABRIC=virtual")
    monkeypatch.setattr(qdisc_check, "find", lambda tool: None if tool == "tc" else tool)
    said = r"^FABRIC=virtual cannot be used here: tc is not installed; install iproute2$"
    with pytest.raises(Unavailable, match=said):
        check_tools("FABRIC=virtual")
    with pytest.raises(Unavailable, match="netns cannot be used here: tc is not installed; install it all"):
        check_tools("netns", ("ip", "another"), ("tc", "it all"))
