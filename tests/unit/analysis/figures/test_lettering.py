"""Tests of text in figures: widths, line breaks, labels."""

import io

import pytest
import vl_convert
from PIL import Image, ImageChops

from priolab.analysis.figures.lettering import text_px
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
