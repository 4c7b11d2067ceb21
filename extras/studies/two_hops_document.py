"""Writes docs/measured/two-hops.md: two fronts, one behind the other, with LOWAT at one of them or at both. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import WORDS
from priolab.analysis.reports.markdown import filled, row

_COLUMNS = {
    "LOWAT": "---",
    "VIA_LOWAT": "---",
    "verdict": "---",
    "script first byte": "---:",
    "possible": "---:",
    "at the second front": "---:",
    "between the fronts": "---:",
    "at the front": "---:",
    "to the client": "---:",
    "longest part": "---",
}
"""The columns of a table, each with the mark of its alignment."""
_GROUPS: Mapping[str, tuple[Layer, ...]] = {
    "at the second front": (Layer.SECOND, Layer.SECOND_UNSENT),
    "between the fronts": (Layer.BETWEEN_QUEUE, Layer.BETWEEN),
    "at the front": (Layer.PENDING, Layer.COMMITTED, Layer.FLOW, Layer.UNSENT, Layer.RECEIVE_WINDOW),
    "to the client": (Layer.QUEUE, Layer.PROPAGATION, Layer.RECOVERY, Layer.RECORD, Layer.UNEXPLAINED),
}
"""The layers of the ledger by the hop to which they belong."""

_INTRODUCTION = (
    "Many sites have two fronts: an edge server near the client, and behind it an origin shield near the origin. VIA"
    " puts a second front between the front and the origin. Each of the two can hand its bytes to its kernel too early,"
    " and each has a TCP_NOTSENT_LOWAT of its own: LOWAT is that of the front, VIA_LOWAT that of the second front. The"
    " ledger says at which of them the script waited."
)
_MADE = (
    "`make two-hops` makes this page and its pictures. Each row is one run of the Maps case in the guest, and times are"
    " seconds. The first byte is that of the script in the measured load; *possible* is the soonest that it could have"
    " come, whatever fronts and kernels do. The four columns after it divide the time from the moment at which the"
    " origin had the script until the client could use its first byte."
)
_METHOD = (
    "Between the fronts there is no TLS, so two captures, one at each end of their link, show when the script's first"
    " byte left the second front and when it arrived at the front. The lab samples the sockets of both fronts. The link"
    " between the fronts is calibrated and read back like the client's. [knobs.md](../reference/knobs.md) explains"
    " VIA_HTTP, VIA_RATE, VIA_DELAY and VIA_QUEUE."
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table: its title, the text before it, the knobs of its experiment, and the file name of its picture, if any."""

    title: str
    text: str
    knobs: Mapping[str, str]
    picture: str | None


def document(found: Mapping[str, tuple[Case, Sequence[Mapping[str, Any]]]]) -> str:
    """Returns the text of docs/measured/two-hops.md.

    found: by name of the case, the case with the knobs of its command, and the arms of its experiment's summary, each
    with the key `lowats`: the values of LOWAT and VIA_LOWAT.
    """
    lines = ["# Two hops", "", filled(_INTRODUCTION), "", filled(_MADE), ""]
    for case, arms in found.values():
        knobs = " ".join(f"{name}={value}" for name, value in case.knobs.items())
        lines += [f"## {case.title}", "", filled(case.text), "", f"    make experiment {knobs}", ""]
        lines += [row(_COLUMNS), row(_COLUMNS.values()), *map(_row, arms), ""]
        if case.picture:
            lines += [f"![Where the script waited, for each of the four arms]({case.picture})", ""]
    lines += ["## Method", "", filled(_METHOD)]
    return "\n".join(lines) + "\n"


def _row(arm: Mapping[str, Any]) -> str:
    ledger, lowats = arm["ledger"], [text.replace("none", "unset") for text in arm["lowats"]]
    first, possible = (f"{ms / 1000:.2f}" for ms in (arm["first_byte_ms"], arm["oracle"]["first_byte_ms"]))
    parts_ms = ledger["parts_ms"]
    hops = [f"{sum(parts_ms.get(layer, 0) for layer in layers) / 1000:.2f}" for layers in _GROUPS.values()]
    largest = ledger["largest"]
    longest = f"{WORDS[Layer(largest)]}, {parts_ms[largest] / 1000:.2f}"
    return row([*lowats, arm["verdict"], first, possible, *hops, longest])
