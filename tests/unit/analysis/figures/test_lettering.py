"""Tests of text in figures: widths, line breaks, labels."""

import io

import pytest
import vl_convert
from PIL import Image, ImageChops

from priolab.analysis.figures.lettering import Label, beside, edges, spans, text_px, wrapped
from priolab.analysis.figures.sheet import CONFIG, layer

FONT_PX = 24


@pytest.mark.parametrize(
    "text",
    [
        "first byte 12.41 s, last byte 12.87 s",
        "script available at the front 0.506 s",
        "nginx · 12,500 kB/s (100,000 kbit/s) · delay 300 ms · cubic · send buffer 4 MiB · load 3 on one connection",
        "NATIVE=on · PRIORITY=swap · GSO=2 · LOSS=0.5% · JITTER=20ms · virtual, netem · control: failed",
        "75% of the image arrived before the script's first byte; after that both shared the link",
    ],
)
def test_widths_are_those_of_the_picture(text: str) -> None:
    """The estimated width of a text is within 5 % of the width that Vega draws."""
    mark = {"type": "text", "align": "left", "fontSize": FONT_PX}
    label = layer([{}], mark, text={"value": text}, x={"value": 10})
    png = vl_convert.vegalite_to_png(label | {"width": 1500, "config": CONFIG}, ppi=72)
    with Image.open(io.BytesIO(png)) as picture:
        grey = picture.convert("L")
    box = ImageChops.invert(grey).getbbox()
    assert box is not None
    assert text_px(text, FONT_PX) == pytest.approx(box[2] - box[0], rel=0.05)


def test_lines_break_between_parts() -> None:
    """Lines break only between parts, no part is lost, and separators are only inside lines.

    A line exceeds the width only if it is a single part.
    """
    parts = ["nginx", "a send buffer", "of 4 MiB", "on one connection"]
    width_px = text_px("nginx · a send buffer", FONT_PX)
    assert wrapped(parts, " · ", FONT_PX, width_px) == ["nginx · a send buffer", "of 4 MiB", "on one connection"]
    assert wrapped(parts, " · ", FONT_PX, 10_000) == [" · ".join(parts)]
    assert wrapped(parts, " · ", FONT_PX, 1) == parts


def test_a_label_stands_where_it_fits() -> None:
    """A label is to the right of its position if the text fits into the figure, otherwise to the left."""
    width_px = text_px("words", FONT_PX)
    assert beside("words", 100, FONT_PX, 101 + width_px).side == 1
    assert beside("words", 100, FONT_PX, 99 + width_px).side == -1


def test_edges_of_a_long_and_of_a_short_lane() -> None:
    """A long lane has a label at each end; a short lane has one joint label, which stays inside the figure."""
    assert [(label.at_px, label.side) for label in edges("first", "last", (100, 900), FONT_PX, 1400)] == [
        (100, 1),
        (900, -1),
    ]
    (label,) = edges("first", "last", (100, 150), FONT_PX, 1400)
    assert (label.text, label.at_px, label.side) == ("first, last", 100, 1)
    (label,) = edges("first", "last", (1380, 1390), FONT_PX, 1400)
    assert (label.text, label.at_px, label.side) == ("first, last", 1390, -1)


@pytest.mark.parametrize("side", [1, -1])
def test_what_a_label_covers(side: int) -> None:
    """A label covers the width of its text on its side, and a margin on both sides."""
    label = Label(text="words", at_px=500, side=side, font_px=FONT_PX)
    far_px = text_px("words", FONT_PX) + 9
    covered = [label.covers(500 + side * offset_px, 10) for offset_px in (-11, -9, 0, far_px, far_px + 2)]
    assert covered == [False, True, True, True, False]


def test_a_line_leaves_rows_free() -> None:
    """A line is interrupted at each given row; without rows the line is in one piece."""
    assert spans(0, 4, [], 0.25) == [(0, 4)]
    assert spans(0, 4, [1, 3], 0.25) == [(0, 0.75), (1.25, 2.75), (3.25, 4)]
