"""Judges the cautious tuner on new connections: against LOWAT=auto, and against LOWAT unset. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from priolab.analysis.reports.markdown import Table
from priolab.analysis.sweeps.auto_vs_fixed import LATER
from priolab.common.amounts import milliseconds

UNSET = "unset"
AUTO = "LOWAT=auto"
CAUTIOUS = "cautious"
_FIXED = "16384"
_KEPT = 0.99


@dataclass(frozen=True, kw_only=True)
class Result:
    """The measures of a run."""

    first_byte_ms: float
    goodput_bit_s: float


@dataclass(frozen=True, kw_only=True)
class NewConnection:
    """The results in a network. knobs: its knobs in words. record_ms: the transmission time of a TLS record.

    results: by the way in which LOWAT is set: UNSET, a fixed value, AUTO or CAUTIOUS.
    """

    knobs: str
    record_ms: float
    results: Mapping[str, Result]

    @property
    def is_near(self) -> bool:
        """True if the cautious tuner is later than LOWAT=auto by at most 15 %, or by a TLS record."""
        later_ms = self.results[CAUTIOUS].first_byte_ms - self.results[AUTO].first_byte_ms
        return later_ms <= max(LATER * self.results[AUTO].first_byte_ms, self.record_ms)

    def kept(self, name: str) -> float:
        """Returns the goodput as a part of that with LOWAT unset."""
        return self.results[name].goodput_bit_s / self.results[UNSET].goodput_bit_s

    @property
    def holds(self) -> bool:
        """True if the cautious tuner is near LOWAT=auto, and keeps goodput."""
        return self.is_near and self.kept(CAUTIOUS) >= _KEPT


def markdown(found: Sequence[NewConnection]) -> str:
    """Returns a Markdown table with a line for each network."""
    names = (UNSET, _FIXED, AUTO, CAUTIOUS)
    head = ("network", *(f"LOWAT={_FIXED}" if name == _FIXED else name for name in names), "near", "goodput, of unset")
    rows = tuple(
        (
            each.knobs,
            *(milliseconds(each.results[name].first_byte_ms) for name in names),
            "yes" if each.is_near else "no",
            f"{each.kept(CAUTIOUS):.1%}",
        )
        for each in found
    )
    return Table(head=head, rows=rows).markdown()
