"""The table of fabrics, and the function that chooses a fabric."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from priolab.common.errors import ScenarioError, Unavailable
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.shaper_kind import Shaper

if TYPE_CHECKING:
    from priolab.experiments.hosts.fabric import Fabric


@cache
def _virtual() -> "Fabric":
    from priolab.experiments.hosts.virtual import Virtual

    return Virtual()


@cache
def _compose() -> "Fabric":
    from priolab.experiments.hosts.containers.compose import Compose

    return Compose()


@cache
def _netns() -> "Fabric":
    from priolab.experiments.hosts.namespaces.netns import Netns

    return Netns()


class _Fabrics(Mapping[str, "Fabric"]):
    """The fabrics by name. A fabric's module is imported when the fabric is first used."""

    def __init__(self, makers: Mapping[str, "Callable[[], Fabric]"]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> "Fabric":
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


FABRICS: Mapping[str, "Fabric"] = _Fabrics({"virtual": _virtual, "compose": _compose, "netns": _netns})
"""Fabrics by name, the preferred one first."""

AUTO = "auto"


def choose(name: str, scenarios: Sequence[Scenario], shaper: Shaper | None) -> "tuple[Fabric, str]":
    """Returns the fabric of that name, and the reason for the choice. `auto` stands for the first usable fabric.

    A fabric is usable if it can run all the scenarios with the shaper. shaper: None for any shaper of the fabric.
    Raises ScenarioError for an unknown name. Raises Unavailable if the named fabric is not usable. With `auto`, raises
    Unavailable with each fabric's reason if no fabric is usable.
    """
    if name in FABRICS:
        for scenario in scenarios:
            FABRICS[name].check_usable(scenario, shaper)
        return FABRICS[name], "as asked"
    if name != AUTO:
        raise ScenarioError("FABRIC", name, ", ".join([AUTO, *FABRICS]))
    reasons: list[str] = []
    for fabric in FABRICS.values():
        try:
            for scenario in scenarios:
                fabric.check_usable(scenario, shaper)
        except Unavailable as error:
            reasons.append(f"FABRIC={fabric.name} cannot be used: {error.reason}")
            continue
        return fabric, "; ".join([fabric.merit, *reasons])
    raise Unavailable("FABRIC=auto", "; ".join(reasons), "`priolab doctor` shows the remedies")
