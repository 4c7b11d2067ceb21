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


def test_the_order_of_preference() -> None:
    """The order of preference is virtual, compose, netns."""
    assert list(fabrics.FABRICS) == ["virtual", "compose", "netns"]


@pytest.mark.parametrize(
    ("asked", "lacks", "name", "why"),
    [
        ("auto", {"virtual": None, "compose": None}, "virtual", "virtual is good"),
        (
            "auto",
            {"virtual": "no kernel", "compose": "no engine", "netns": None},
            "netns",
            "netns is good; FABRIC=virtual cannot be used: no kernel; FABRIC=compose cannot be used: no engine",
        ),
        ("netns", {"virtual": "no kernel", "netns": None}, "netns", "as asked"),
        (
            "auto",
            {"virtual": "no kernel", "netns": "no namespaces"},
            None,
            r"=virtual cannot be used: no kernel; FABRIC=netns cannot be used: no namespaces; `priolab doctor`",
        ),
        ("virtual", {"virtual": "no kernel", "netns": None}, None, "FABRIC=virtual cannot be used here: no kernel"),
    ],
)
def test_the_choice(
    monkeypatch: pytest.MonkeyPatch, asked: str, lacks: dict[str, str | None], name: str | None, why: str
) -> None:
    """The first usable fabric is chosen, with its merit and why those before it are not. A named one is not replaced.

    If none can be used, the error has all reasons, and the remedy.
    """
    monkeypatch.setattr(fabrics, "FABRICS", {each: _Fabric(each, lack) for each, lack in lacks.items()})
    if name is None:
        with pytest.raises(Unavailable, match=why):
            fabrics.choose(asked, SCENARIOS, None)
        return
    chosen, told = fabrics.choose(asked, SCENARIOS, None)
    assert chosen.name == name
    assert told == why or asked != "auto"


def test_an_unknown_one() -> None:
    """The error lists the names of the fabrics."""
    with pytest.raises(ScenarioError, match="FABRIC=cloud is not allowed; allowed: auto, virtual, compose, netns"):
        fabrics.choose("cloud", SCENARIOS, None)
