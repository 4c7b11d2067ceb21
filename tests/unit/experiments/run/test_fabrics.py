"""Tests of the choice of a fabric if the user names none."""

from typing import Any

import pytest

from priolab.common.errors import ScenarioError, Unavailable
from priolab.experiments.run import fabrics
from priolab.experiments.scenario.knobs import scenario_from

SCENARIOS = [scenario_from({})]


class _Fabric:
    def __init__(self, name: str, lack: str | None) -> None:
        self.name = name
        self.merit = f"{name} is good"
        self._lack = lack

    def check_usable(self, *_: Any) -> None:
        if self._lack:
            raise Unavailable(f"FABRIC={self.name}", self._lack, "do something")


def given(monkeypatch: pytest.MonkeyPatch, **lacks: str | None) -> None:
    fakes = {name: _Fabric(name, lack) for name, lack in lacks.items()}
    monkeypatch.setattr(fabrics, "FABRICS", fakes)


def test_the_order_of_preference() -> None:
    """The order of preference is virtual, compose, netns."""
    assert list(fabrics.FABRICS) == ["virtual", "compose", "netns"]


def test_the_first_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first usable fabric is chosen, with its merit as the reason."""
    given(monkeypatch, virtual=None, compose=None)
    chosen, why = fabrics.choose("auto", SCENARIOS, None)
    assert (chosen.name, why) == ("virtual", "virtual is good")


def test_what_was_passed_over_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names each preferred fabric that cannot be used, and why."""
    given(monkeypatch, virtual="no kernel", compose="no engine", netns=None)
    chosen, why = fabrics.choose("auto", SCENARIOS, None)
    assert (chosen.name, why) == (
        "netns",
        "netns is good; FABRIC=virtual cannot be used: no kernel; FABRIC=compose cannot be used: no engine",
    )


def test_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no fabric can be used, the error gives all reasons and `priolab doctor`."""
    given(monkeypatch, virtual="no kernel", netns="no namespaces")
    with pytest.raises(
        Unavailable,
        match=r"=virtual cannot be used: no kernel; FABRIC=netns cannot be used: no namespaces; `priolab doctor`",
    ):
        fabrics.choose("auto", SCENARIOS, None)


def test_one_that_was_asked_for_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fabric that the user named is used, or the error says why it cannot be."""
    given(monkeypatch, virtual="no kernel", netns=None)
    assert fabrics.choose("netns", SCENARIOS, None)[0].name == "netns"
    with pytest.raises(Unavailable, match="FABRIC=virtual cannot be used here: no kernel"):
        fabrics.choose("virtual", SCENARIOS, None)


def test_an_unknown_one() -> None:
    """The error lists the names of the fabrics."""
    with pytest.raises(ScenarioError, match="FABRIC=cloud is not allowed; allowed: auto, virtual, compose, netns"):
        fabrics.choose("cloud", SCENARIOS, None)
