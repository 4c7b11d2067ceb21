"""Evaluates a cell of the matrix: does the order arrive that a client asks of a server in a dialect? Pure.

Rules:
1. Each load is made twice: the client asks for the script first, then for the image first. Only a difference between
   the two loads shows that the server read the order. This rule applies to the probes, in which nothing blocks the
   server, and to the loads over the slow link.
2. The effect of asking is measured in the probes, and on the slow link with LOWAT unset and with LOWAT set. The effect
   on the slow link, as a fraction of the effect in the probes, shows which layer lost the order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from priolab.analysis.judgement import layers
from priolab.analysis.judgement.layers import Layer, Outcome
from priolab.analysis.judgement.order import OwnOrder, Reading, Reply, own_order, together
from priolab.analysis.loads.probe import Probe
from priolab.extras.matrix.crossing import Crossing

USUAL, STRONG = ("spdy", "swap"), ("strong-spdy", "strong-swap")
"""The names of the probes with the usual weights, and of those with weights that differ much, in Cell.probes."""


def probes_reading(probes: Mapping[str, Probe], names: tuple[str, str]) -> Reading:
    """Returns a server's interpretation of a dialect, as `priolab gate` and `priolab probe` find it.

    names: the probe that asks for the script first, and the one that asks for the image first.
    """
    return Reply.of((), *(probes[name] for name in names)).reading


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two loads that differ in priorities only.

    asked: the client asks for the script first. swapped: the client asks for the image first.
    """

    asked: Crossing
    swapped: Crossing

    @property
    def effect(self) -> float:
        """The effect of asking for the script first: its lead then, less its lead if the image is asked for first."""
        return self.asked.lead - self.swapped.lead


@dataclass(frozen=True, kw_only=True)
class Unasked:
    """Two loads without priorities, with LOWAT unset and with LOWAT set."""

    control: Crossing
    lowat: Crossing


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of the matrix.

    server: the server as SERVER names it, such as `nginx@sid`. version: the version that was measured.

    probes: four probes or six, by name. `spdy` asks for the script first, `swap` for the image first. `strong-spdy` and
    `strong-swap` do the same with weights that differ much, in dialects that send weights of the page. `none` and
    `reversed` send no priorities; `none` requests the image first, `reversed` the script first.

    control, lowat, native: loads over the slow link with LOWAT unset, with LOWAT set, and with the server's own
    mechanism in place of LOWAT. native is None if the server has no such mechanism. All three are None if the server
    does not follow the dialect, because such a server behaves as without priorities.

    signals: what the client sent in the probes `spdy` and `swap`, in words (signals.py). asked: what it asks for in the
    probes `spdy` and `strong-spdy`, in words (analysis/loads/requested_share.py). arms: the beginning of the
    names of the cell's runs, such as `nginx@sid.chrome`; a dot and the run's role follow.
    """

    server: str
    version: str
    dialect: str
    probes: Mapping[str, Probe]
    control: Pair | None
    lowat: Pair | None
    native: Pair | None
    signals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    arms: str = ""

    @property
    def reading(self) -> Reading:
        """The server's interpretation of the dialect: the one word for all weights."""
        return together(self.usual, probes_reading(self.probes, STRONG) if self.strong_shares else None)

    @property
    def usual(self) -> Reading:
        """The server's interpretation of the dialect with the page's usual weights."""
        return probes_reading(self.probes, USUAL)

    @property
    def strong_shares(self) -> tuple[float, float] | None:
        """The script's shares in the probes `strong-spdy` and `strong-swap`; None without these probes."""
        asked, swapped = (self.probes.get(role) for role in STRONG)
        return (asked.important_share, swapped.important_share) if asked and swapped else None

    @property
    def own_order(self) -> OwnOrder:
        """The server's order when no priority is sent."""
        return own_order(self.probes["none"].important_share, self.probes["reversed"].important_share)

    @property
    def honoured(self) -> bool:
        """True if the server follows the dialect with the page's usual weights, which the loads have."""
        return self.usual.honoured

    @property
    def effect(self) -> float:
        """The expected effect of asking for the script first: the effect if nothing blocks the server."""
        return layers.expected_effect(*(self.probes[name].important_share for name in USUAL))

    def arriving(self, pair: Pair) -> float:
        """Returns the effect of asking in a pair of loads, as a fraction of the effect in the probes.

        The server must follow the dialect.
        """
        return pair.effect / self.effect

    def outcome(self, pair: Pair | None) -> Outcome | None:
        """Returns the outcome of a pair of loads; None without a pair, or if the server does not follow the dialect."""
        if pair is None or not self.honoured:
            return None
        return layers.outcome(self.arriving(pair))

    @property
    def layer(self) -> Layer:
        """The layer where the order was lost."""
        return layers.layer(self.outcome(self.control), self.outcome(self.lowat), honoured=self.honoured)

    @property
    def sentence(self) -> str:
        """The layer where the order was lost, in words, or that the order arrives."""
        if self.honoured and self.reading is Reading.CONTRARY:
            return f"{self._lost}; with weights that differ much the server does the contrary of what the client asks"
        return self._lost

    @property
    def _lost(self) -> str:
        match self.layer:
            case Layer.SERVER if self.reading is Reading.CONTRARY:
                return "the server does the contrary of what the client asks"
            case Layer.SERVER if self.reading.honoured:
                return "the server follows the dialect with weights that differ much alone"
            case Layer.SERVER:
                return "the server does not follow the dialect"
            case Layer.NOWHERE:
                return "the order arrives, even with LOWAT unset"
            case Layer.SOCKET:
                back = self.arriving(self.lowat) if self.lowat else 0.0
                return f"lost in the kernel's send buffer; with LOWAT {back:.0%} of the effect arrives"
        if self.control and self.lowat and layers.begins_early(self.control.asked.before, self.lowat.asked.before):
            return "lost in the front: with LOWAT the script begins early, but does not get the share asked for"
        return "lost in the front: the order in the front's output queue is fixed, with LOWAT set or unset"
