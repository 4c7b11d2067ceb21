"""Cells and matrices that are made up for tests."""

from dataclasses import replace

from priolab.analysis.loads.probe import Probe
from priolab.extras.matrix.cells import Cell, Pair, Unasked
from priolab.extras.matrix.crossing import Crossing, Span, spans
from priolab.extras.matrix.matrix import Front, Matrix, in_order


def crossing(script_last_ms: int, image_last_ms: int, before: float = 0.2) -> Crossing:
    """Returns a load in which the script begins at 1000 ms. before: the fraction of the image that came earlier."""
    early = round(100 * before)
    pieces = [(500, "image", early), (1000, "script", 50), (script_last_ms, "script", 50)]
    pieces.append((image_last_ms, "image", 100 - early))
    return Crossing(spans=tuple(spans(sorted((t_ms * 10**6, name, size) for t_ms, name, size in pieces))))


AFTER = Crossing(
    spans=(
        Span(resource="image", first_ms=500, last_ms=4000, size_bytes=100),
        Span(resource="script", first_ms=4100, last_ms=8000, size_bytes=100),
    )
)
"""A load in which the script begins when the image is complete."""
NOTHING = Pair(asked=AFTER, swapped=AFTER)
ALL = Pair(asked=crossing(4000, 8000), swapped=AFTER)
SOME = Pair(asked=crossing(7000, 8000), swapped=crossing(8000, 7400))


def probe(script: int) -> Probe:
    """Returns a probe in which the script got this percentage of the bytes."""
    served = (("script", script), ("image", 100 - script))
    return Probe(important="script", steps=100, served=tuple(each for each in served if each[1]))


def cell(
    asked: int = 100,
    swapped: int = 0,
    unasked: int = 50,
    turned: int = 50,
    *,
    control: Pair | None = NOTHING,
    lowat: Pair | None = ALL,
    native: Pair | None = None,
    strong: tuple[int, int] | None = None,
) -> Cell:
    """Returns a cell with the percentages of the bytes that the script got in four probes.

    asked: the script is asked for first. swapped: the image is asked for first. unasked: no priorities, the image is
    requested first. turned: no priorities, the script is requested first. strong: the percentages of asked and swapped
    with weights that differ much; None without these probes.
    """
    probes = {"spdy": probe(asked), "swap": probe(swapped), "none": probe(unasked), "reversed": probe(turned)}
    told = {"spdy": "weights 183:147 ask for 55%"}
    if strong is not None:
        probes |= {"strong-spdy": probe(strong[0]), "strong-swap": probe(strong[1])}
        told["strong-spdy"] = "weights 256:32 ask for 89%"
    return Cell(
        server="nginx",
        version="1.0",
        dialect="plain",
        probes=probes,
        control=control,
        lowat=lowat,
        native=native,
        signals={"spdy": ("script <1>",), "swap": ("image",)},
        asked=told,
        arms="nginx.plain",
    )


def matrix(*cells: Cell) -> Matrix:
    return Matrix(
        date="2026-11-24",
        fronts=in_order([Front(name=each.server, said=f"{each.server} <{each.version}>") for each in cells]),
        cells={(each.server, each.dialect): each for each in cells},
        unasked={each.server: Unasked(control=AFTER, lowat=AFTER) for each in cells},
        absent={"caddy": "not installed"},
    )


OLD = cell()
NEW = replace(cell(0, 0, 0, 100, control=None, lowat=None), server="nginx@sid", version="2.0")
"""A server that followed a dialect, and the next version, which does not."""
