"""Which fabric is taken when none is asked for."""

from typing import Any

import pytest

from experiments.errors import ScenarioError, Unavailable
from experiments.run import fabrics
from experiments.scenario.knobs import scenario_from

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
    """Virtual where it can run, else compose, else netns."""
    assert list(fabrics.FABRICS) == ["virtual", "compose", "netns"]


def test_the_first_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its merit as the reason."""
    given(monkeypatch, virtual=None, compose=None)
    chosen, why = fabrics.choose("auto", SCENARIOS, None)
    assert (chosen.name, why) == ("virtual", "virtual is good")


def test_what_was_passed_over_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every better fabric with the reason why it could not be used."""
    given(monkeypatch, virtual="no kernel", compose="no engine", netns=None)
    chosen, why = fabrics.choose("auto", SCENARIOS, None)
    assert (chosen.name, why) == ("netns", "netns is good; virtual: no kernel; compose: no engine")


def test_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """All the reasons, and where the remedies are."""
    given(monkeypatch, virtual="no kernel", netns="no namespaces")
    with pytest.raises(Unavailable, match=r"virtual: no kernel; netns: no namespaces; `priolab doctor`"):
        fabrics.choose("auto", SCENARIOS, None)


def test_one_that_was_asked_for_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken, or says why it cannot be used."""
    given(monkeypatch, virtual="no kernel", netns=None)
    assert fabrics.choose("netns", SCENARIOS, None)[0].name == "netns"
    with pytest.raises(Unavailable, match="FABRIC=virtual cannot be used here: no kernel"):
        fabrics.choose("virtual", SCENARIOS, None)


def test_an_unknown_one() -> None:
    """The names are told."""
    with pytest.raises(ScenarioError, match="FABRIC=cloud is not allowed; allowed: auto, virtual, compose, netns"):
        fabrics.choose("cloud", SCENARIOS, None)
