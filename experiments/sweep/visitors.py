"""A mix of visitors, for which one LOWAT is sought: its TOML file, and the sweep of its networks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from priolab.analysis.sweeps.folder import Sweep
from priolab.analysis.sweeps.network_knobs import AUTO, NONE, network_of
from priolab.analysis.sweeps.networks import networks
from priolab.analysis.sweeps.visitors import MixResult, Part, result
from priolab.common.errors import ScenarioError, Unfit
from priolab.common.formats.toml_schema import Word, declared, read_toml
from priolab.netem.link_profiles import FIGURES, LINK, STANDS_FOR, profile_of

OPTION = "--visitors"
_VALUES = ("4096", "16384", "65536", "131072", "524288")
_OWN = (LINK, "LOWAT", "SWEEP", "REUSE", "RESULTS")
"""The words of the sweep that the mix itself, or the command, gives."""
_RATE, _TIME = "a rate with a unit, such as 1500kbit", "a time with a unit, such as 50ms"
_ALONE = {"rate": ("{}/1ms", _RATE), "rate_up": ("{}/1ms", _RATE), "round_trip": ("1mbit/{}", _TIME)}
"""For each key of a measured network a link with no other figure of its own, and the allowed values in words."""
_Text = Annotated[str, Meta(min_length=1, description="a text that is not empty")]


class _Network(Struct, kw_only=True, forbid_unknown_fields=True):
    share: Annotated[
        float, Meta(gt=0, le=10**9, description="a number above 0 and up to a billion, relative to the sum of all")
    ]
    name: _Text | None = None
    link: Annotated[str, Meta(description=f"a profile that `priolab list` shows, or {FIGURES}")] | None = None
    rate: Annotated[str, Meta(description=_RATE)] | None = None
    rate_up: Annotated[str, Meta(description=_RATE)] | None = None
    round_trip: Annotated[str, Meta(description=_TIME)] | None = None

    def __post_init__(self) -> None:
        measured = self.rate is not None and self.round_trip is not None
        others = (self.rate, self.rate_up, self.round_trip)
        if (self.link is None) is not measured or (self.link is not None and any(others)):
            raise ValueError("a network has either link, or rate and round_trip with perhaps rate_up")

    @property
    def words(self) -> str:
        """The value of LINK."""
        measured = (each for each in (self.rate, self.rate_up, self.round_trip) if each is not None)
        return "/".join(measured) if self.link is None else self.link


class _File(Struct, kw_only=True, forbid_unknown_fields=True):
    title: str | None = None
    network: Annotated[
        tuple[_Network, ...], Meta(min_length=1, description="at least one table [[network]] with its share")
    ]
    lowat: Annotated[
        tuple[Word, ...], Meta(min_length=1, description="a list of values of LOWAT, such as [4096, 16384]")
    ] = _VALUES
    knobs: Annotated[Mapping[str, Word], Meta(description="a table of KNOB = value")] = {}


@dataclass(frozen=True, kw_only=True)
class Mix:
    """A mix of visitors. shares: the fraction of visitors, by the value of LINK. names: of the networks, likewise.

    lowat: the values of LOWAT to try, besides unset and auto. knobs: the other knobs of the sweep.
    """

    title: str
    shares: Mapping[str, float]
    names: Mapping[str, str]
    lowat: tuple[str, ...]
    knobs: Mapping[str, str]

    @property
    def sweep(self) -> list[str]:
        """The words of the sweep of all networks."""
        lowat = dict.fromkeys((NONE, *self.lowat, AUTO))
        return [f"{LINK}={','.join(self.shares)}", f"LOWAT={','.join(lowat)}", *_words(self.knobs)]


def _words(knobs: Mapping[str, str]) -> list[str]:
    return [f"{name}={text}" for name, text in knobs.items()]


def read(path: Path) -> Mix:
    """Reads the file of a mix. Knobs besides LINK and LOWAT are checked with the sweep. Raises ScenarioError."""
    where = f"{OPTION} {path}"
    found = declared(where, read_toml(OPTION, path), _File)
    shares: dict[str, float] = {}
    names: dict[str, str] = {}
    total = sum(each.share for each in found.network)
    for number, each in enumerate(found.network, start=1):
        place, link = f"{where}: network {number}", each.words.strip()
        for key, (alone, allowed) in _ALONE.items():
            if (text := getattr(each, key)) is not None and not _is_figure(text, alone):
                raise ScenarioError(f"{place}: {key}", text, allowed)
        if profile_of(link, f"{place}: link") is None or "," in link:
            raise ScenarioError(f"{place}: link", link, f"a profile that `priolab list` shows, or {FIGURES}")
        if link in shares:
            raise Unfit(f"{where}: network {number}: {link} is given twice; add the shares")
        if (name := each.name or link) in names.values():
            raise Unfit(f"{where}: network {number}: the name {name} is given twice")
        shares[link], names[link] = each.share / total, name
    if strangers := [name for name in found.knobs if name in (*_OWN, *STANDS_FOR)]:
        raise ScenarioError(
            f"{where}: knobs", strangers[0], "other knobs; [[network]] has the links, and lowat the values"
        )
    return Mix(
        title=found.title or path.stem,
        shares=shares,
        names=names,
        lowat=tuple(str(each) for each in found.lowat),
        knobs={name: str(text) for name, text in found.knobs.items()},
    )


def _is_figure(text: str, alone: str) -> bool:
    try:
        return "/" not in text and profile_of(alone.format(text)) is not None
    except ScenarioError:
        return False


def results(mix: Mix, sweep: Sweep, most_loss: float) -> list[MixResult]:
    """Returns the result for each configuration of the server in the sweep. Raises FolderError and ScenarioError.

    most_loss: the largest loss of the recommended value in any network, as a fraction.
    """
    groups: dict[frozenset[tuple[str, str]], list[Part]] = {}
    for network in networks(sweep):
        link = network.knobs.get(LINK, NONE)
        if link in mix.shares and network.knob == "LOWAT":
            key = frozenset(network_of(network.knobs, LINK, *STANDS_FOR))
            part = Part(name=mix.names[link], share=mix.shares[link], network=network)
            groups.setdefault(key, []).append(part)
    if not groups or any(len(parts) < len(mix.shares) for parts in groups.values()):
        lacking = sorted({*mix.shares} - {part.network.knobs[LINK] for parts in groups.values() for part in parts})
        raise ScenarioError("experiment", str(sweep.path), f"a sweep with LINK={','.join(lacking or mix.shares)}")
    try:
        return [result(parts, most_loss, _configuration(key, [*groups])) for key, parts in groups.items()]
    except ValueError as error:
        raise Unfit(f"{sweep.path}: {error}") from None


def _configuration(own: frozenset[tuple[str, str]], every: Sequence[frozenset[tuple[str, str]]]) -> str:
    """Returns the knobs in which a configuration differs from the others; its server if there is no other."""
    differing = own - frozenset.intersection(*every) or {each for each in own if each[0] == "SERVER"}
    return " ".join(f"{name}={text}" for name, text in sorted(differing))
