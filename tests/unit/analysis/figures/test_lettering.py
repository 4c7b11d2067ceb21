"""Words of the figures."""

import io

import altair as alt
import pytest
import vl_convert
from PIL import Image, ImageChops

from analysis.figures.lettering import Label, beside, edges, spans, text_px, wrapped

FONT_PX = 24


@pytest.mark.parametrize(
    "text",
    [
        "first byte 12.41 s, last byte 12.87 s",
        "script available at the front 0.506 s",
        "nginx · 12,500 kB/s (100,000 kbit/s) · 300 ms · cubic · send buffer 4 MiB · page load 3 on one connection",
        "NATIVE=on · PRIORITY=swap · GSO=2 · LOSS=0.5% · JITTER=20ms · virtual, netem · control: failed",
        "75% of the image arrived before the script's first byte; after that they shared the link",
    ],
)
def test_widths_are_those_of_the_picture(text: str) -> None:
    """The estimate is within a twentieth of what is drawn."""
    drawn = (
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_text(align="left", fontSize=FONT_PX)
        .encode(text=alt.value(text), x=alt.value(10))
        .properties(width=1500)
        .configure(font="Liberation Sans, Helvetica, Arial, sans-serif", background="white")
        .configure_view(stroke=None)
    )
    png = vl_convert.vegalite_to_png(drawn.to_dict(), ppi=72)
    with Image.open(io.BytesIO(png)) as picture:
        grey = picture.convert("L")
    box = ImageChops.invert(grey).getbbox()
    assert box is not None
    assert text_px(text, FONT_PX) == pytest.approx(box[2] - box[0], rel=0.05)


def test_lines_break_between_parts() -> None:
    """No line is too wide, nothing is lost, and a separator stands only within a line."""
    parts = ["nginx", "a send buffer", "of 4 MiB", "on one connection"]
    width_px = text_px("nginx · a send buffer", FONT_PX)
    assert wrapped(parts, " · ", FONT_PX, width_px) == ["nginx · a send buffer", "of 4 MiB", "on one connection"]
    assert wrapped(parts, " · ", FONT_PX, 10_000) == [" · ".join(parts)]
    assert wrapped(parts, " · ", FONT_PX, 1) == parts


def test_a_label_stands_where_it_fits() -> None:
    """To the right of its instant, at the end of the picture to the left."""
    width_px = text_px("words", FONT_PX)
    assert beside("words", 100, FONT_PX, 101 + width_px).side == 1
    assert beside("words", 100, FONT_PX, 99 + width_px).side == -1


def test_edges_of_a_long_and_of_a_short_lane() -> None:
    """Labels stand within a lane that has room for both; otherwise they are one, which stays in the picture."""
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
    """The width of its text on its side, and a margin on both."""
    label = Label(text="words", at_px=500, side=side, font_px=FONT_PX)
    far_px = text_px("words", FONT_PX) + 9
    covered = [label.covers(500 + side * offset_px, 10) for offset_px in (-11, -9, 0, far_px, far_px + 2)]
    assert covered == [False, True, True, True, False]


def test_a_line_leaves_rows_free() -> None:
    """In one piece if nothing is in its way."""
    assert spans(0, 4, [], 0.25) == [(0, 4)]
    assert spans(0, 4, [1, 3], 0.25) == [(0, 0.75), (1.25, 2.75), (3.25, 4)]
