"""Draws the figure of a sweep: script first byte, wait in the send queue and goodput, by LOWAT, for each network.

The knee is the largest LOWAT with which the script comes as early as with the best value. A ring marks it.

The networks' plots are side by side and have the same axis (analysis/figures/knee_plot.py).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from priolab.analysis.figures import lettering, picture
from priolab.analysis.figures.knee_plot import AXIS_PX, GAP_PX, Axis, Plot, Size
from priolab.analysis.figures.palette import INK, QUIET
from priolab.analysis.figures.sheet import CONFIG, Declaration, heading
from priolab.analysis.sweeps import words
from priolab.analysis.sweeps.folder import Sweep
from priolab.analysis.sweeps.knee import Knee, find, goodput_part
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import Network, networks

NAME = "knee"
"""The name of the figure's files, without suffix."""

_SIZES = ((1, Size(columns=1, font_px=22)), (4, Size(columns=2, font_px=19)), (10**6, Size(columns=3, font_px=16)))


def save(sweep: Sweep) -> list[Path]:
    """Writes the figure into the sweep's folder, as SVG, PNG and HTML. Returns the paths; none if no run is ok.

    Raises FolderError, OSError.
    """
    declaration = draw(sweep)
    return picture.save(declaration, sweep.path, NAME) if declaration else []


def draw(sweep: Sweep) -> Declaration | None:
    """Returns the figure as a Vega-Lite declaration; None if no run is ok. Raises FolderError."""
    found = networks(sweep)
    shown = [network for network in found if any(level.is_good for level in network.levels)]
    if not shown:
        return None
    size = next(size for most, size in _SIZES if len(shown) <= most)
    axis = Axis.of(shown)
    cells = [_cell(network, axis, size, number) for number, network in enumerate(shown)]
    _level_titles(cells)
    return {
        "title": heading(_headline(sweep, found, shown)),
        "vconcat": [
            {"hconcat": cells[start : start + size.columns], "spacing": GAP_PX}
            for start in range(0, len(cells), size.columns)
        ],
        "spacing": 30,
        "resolve": {"scale": {"color": "shared"}},
        "config": CONFIG,
    }


def _headline(sweep: Sweep, found: Sequence[Network], shown: Sequence[Network]) -> Iterator[str]:
    record = sweep.record
    yield record.name
    yield f"{len(found)} network{'s' if len(found) > 1 else ''}"
    yield record.fabric
    yield "one repetition" if record.repeat == 1 else f"{record.repeat} repetitions"
    yield "ring: recommended"
    yield "grey: noise band"
    if troubles := sum(len(arm.troubles) for arm in sweep.arms):
        yield f"{troubles} run{'s' if troubles > 1 else ''} missing or not ok"
    yield from (f"{network.name}: no run is ok" for network in found if network not in shown)


def _cell(network: Network, axis: Axis, size: Size, number: int) -> Declaration:
    knee = find(network)
    room_px = size.width_px + AXIS_PX
    title = {
        "text": lettering.wrapped(network.name.split(), " ", size.font_px, room_px),
        "subtitle": lettering.wrapped(_subtitle(network, knee).split(), " ", size.font_px - 2, room_px),
        "fontSize": size.font_px,
        "subtitleFontSize": size.font_px - 2,
        "subtitleColor": QUIET,
        "color": INK,
        "anchor": "start",
        "offset": 8,
    }
    above = Plot(network, knee, axis, size, (Measure.SEND_QUEUE, Measure.FIRST_BYTE))
    below = Plot(network, knee, axis, size, (Measure.GOODPUT,))
    plots = [above.declaration(f"move{number}above"), below.declaration(f"move{number}below")]
    return {"title": title, "vconcat": plots, "spacing": 10}


def _level_titles(cells: Sequence[Declaration]) -> None:
    """Gives all titles the same number of lines, so that the plots of a row are at the same height."""
    most = max(len(cell["title"]["text"]) + len(cell["title"]["subtitle"]) for cell in cells)
    for cell in cells:
        title = cell["title"]
        title["text"] = ["\u00a0"] * (most - len(title["text"]) - len(title["subtitle"])) + title["text"]


def _subtitle(network: Network, knee: Knee) -> str:
    if knee.recommended is None:
        said = "no value can be recommended"
    else:
        first = words.interval(Measure.FIRST_BYTE, knee.recommended.estimate(Measure.FIRST_BYTE))
        said = f"recommended: {words.lowat(knee.recommended)}, script first byte {first}"
    if knee.falls_at:
        said += f"; goodput falls by {1 - goodput_part(knee.falls_at, knee.reference):.1%} at {knee.falls_at.value}"
    if network.thin:
        said += f"; LOWAT with too few ok runs: {', '.join(level.value for level in network.thin)}"
    missing = [level.value for level in network.levels if not level.is_good]
    return f"{said}; LOWAT without an ok run: {', '.join(missing)}" if missing else said
