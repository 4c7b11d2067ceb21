"""Colours, the same in every figure.

Colours of resources are from Okabe and Ito's set, colours of layers from Tol's muted set. Colour-blind people can
distinguish the colours of these sets. A pale projector, too, shows them as different colours. The blue of the others
is darker than in the set, so that its luminance differs from that of the important resources, too.

The demo's film has the same colours of resources and layers (extras/demo/page/style.css).
"""

from collections.abc import Mapping
from types import MappingProxyType

from priolab.analysis.loads.layer import Layer
from priolab.common.formats.run import Verdict

INK = "#1a1a1a"
QUIET = "#5a5a5a"
GRID = "#e4e4e4"

IMPORTANT = ("#d55e00", "#e69f00", "#8a5a00")
OTHERS = ("#004c85", "#3f93c9", "#56a3a6", "#5b7fa6", "#7aa6d8")
"""Colours of important resources (IMPORTANT) and of the others (OTHERS). A page with more resources repeats them."""

RESOURCES: Mapping[str, str] = MappingProxyType({"image": OTHERS[0], "script": IMPORTANT[0]})
"""Colours of the resources of PAGE=maps."""

LAYERS: Mapping[Layer, str] = MappingProxyType(
    {
        Layer.SECOND: "#f1e9bf",
        Layer.SECOND_UNSENT: "#e5a2db",
        Layer.BETWEEN_QUEUE: "#8f84cc",
        Layer.BETWEEN: "#95d2b0",
        Layer.PENDING: "#ddcc77",
        Layer.COMMITTED: "#8f8f2c",
        Layer.SERVICE: "#3f6fd8",
        Layer.FLOW: "#265f1d",
        Layer.UNSENT: "#aa4499",
        Layer.RECEIVE_WINDOW: "#b1dd98",
        Layer.QUEUE: "#332288",
        Layer.CROSS: "#c14e48",
        Layer.PROPAGATION: "#1f9384",
        Layer.RECOVERY: "#882255",
        Layer.RECORD: "#88ccee",
        Layer.UNEXPLAINED: "#cccccc",
    }
)

RECEIVED = OTHERS[0]
"""The colour of bytes that the client has received."""

VERDICTS: Mapping[str, str] = MappingProxyType({Verdict.KEPT: "#00664b", Verdict.INVERTED: "#b00020"})

GOODPUT = "#117733"
STEERED = "#004488"
NO_DIFFERENCE = "#ececec"
"""Colours of a sweep's figures: goodput (GOODPUT), the result of LOWAT=auto (STEERED), the noise band."""


def ink_on(colour: str) -> str:
    """Returns black or white, whichever is readable on the colour."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    # At the threshold, black and white have the same contrast (WCAG 2.1, relative luminance).
    return INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else "#ffffff"


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
