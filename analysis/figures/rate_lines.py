"""Draws changes of the link's rate: thin vertical lines through a panel, each with the new rate beside it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from priolab.analysis.figures import lettering
from priolab.analysis.figures.lettering import Label
from priolab.analysis.figures.palette import QUIET
from priolab.analysis.figures.sheet import SMALL, WIDTH, Declaration, Panel
from priolab.common.amounts import kilobytes
from priolab.common.formats.run import Observed

_LINE_PX = 1.5
_MARGIN_PX = 8


def steps_made(observed: Observed, until_s: float) -> list[tuple[float, int]]:
    """Returns the changes of the link's rate that the run made up to until_s, each as (seconds, new rate in bit/s).

    The seconds count from the start of the measured load.
    """
    made = [
        ((step.at_ns + step.late_ns) / 10**9, step.rate_bit_s)
        for step in observed.rate_steps
        if step.late_ns is not None and step.rate_bit_s is not None
    ]
    return [(at_s, rate_bit_s) for at_s, rate_bit_s in made if at_s <= until_s]


def rate_lines(
    steps: Iterable[tuple[float, int]], panel: Panel, row: float, rows: Mapping[float, Sequence[Label]], half: float
) -> list[Declaration]:
    """Draws a line for each change of the rate, from the panel's bottom up to `row`, with the new rate as its label.

    steps: (seconds, bits per second) of each change. row: the height of the labels. rows: other labels that a line must
    not cross, by height. half: half the height of a label.
    """
    made: list[Declaration] = []
    placed = list(_placed(steps, panel))
    for at_s, label in placed:
        at_px = panel.axis.pixels(at_s)
        # The line's own label is beside the line. The label of another line may cross it.
        others = [other for _, other in placed if other is not None and other is not label]
        in_the_way = [
            height
            for height, labels in sorted({**rows, row: others}.items())
            if any(each.covers(at_px, _MARGIN_PX) for each in labels)
        ]
        made.append(panel.instant(at_s, lettering.spans(panel.bottom, row, in_the_way, half), QUIET, width_px=_LINE_PX))
        if label is not None:
            made.append(panel.text(label, row, QUIET))
    return made


def _placed(steps: Iterable[tuple[float, int]], panel: Panel) -> Iterator[tuple[float, Label | None]]:
    """Yields (seconds, label) for each step. The label is None if it would overlap the previous label."""
    free_from_px = 0.0
    for at_s, rate_bit_s in steps:
        at_px = panel.axis.pixels(at_s)
        label = lettering.beside(kilobytes(rate_bit_s), at_px, SMALL, WIDTH)
        width_px = lettering.text_px(label.text, label.font_px) + _MARGIN_PX
        starts_px = at_px if label.side > 0 else at_px - width_px
        if starts_px < free_from_px:
            yield at_s, None
            continue
        free_from_px = starts_px + width_px + _MARGIN_PX
        yield at_s, label
