"""The reproduction's timelines, drawn from a recorded experiment."""

from typing import Any

import pytest

from priolab import FolderError, load_experiment
from priolab.analysis.figures import timeline
from priolab.common.home import ROOT
from priolab.extras.reproduction import pictures
from priolab.extras.reproduction.loads import loads_seen
from tests.support.declarations import valid

_GOLDEN = ROOT / "tests" / "golden" / "format-3"


def test_pictures_to_be_compared_have_the_same_scales() -> None:
    """Two pictures of one arm each have the time and the bytes at the same places, as one picture of both has them."""
    experiment = load_experiment(_GOLDEN)
    runs = [arm.runs[0] for arm in experiment.arms.values()]
    made = [valid(dict(figure.vega_lite)) for figure in pictures._timelines(runs)]
    both = experiment.figure("timeline").vega_lite
    scales = [_scales(panel) for figure in (*made, both) for panel in figure["vconcat"]]
    assert len(scales) == 4
    assert all(time == scales[0][0] for time, _ in scales)
    # A panel leaves out a mark where it writes LOWAT.
    marks = set().union(*(heights for _, heights in scales))
    assert len(marks) == len({(text, at < timeline.UNSENT[0]) for text, at in marks}) > 1
    assert [figure["vconcat"][0]["layer"][0]["encoding"]["x"]["axis"]["labels"] for figure in made] == [True, True]
    # Each heading speaks of its own arm alone.
    assert [arm for figure in made for arm in ("control", "lowat") if arm in str(figure["title"]["text"])] == []


def test_runs_that_had_another_lowat_are_named() -> None:
    """If folders were exchanged, so that no run has the article's LOWAT, the error names the folder and the value."""
    others = load_experiment(_GOLDEN)
    with pytest.raises(FolderError, match=r"format-3: no run has LOWAT=131072$"):
        pictures.pictures(pictures.Experiments(fast=others, slow=others, growing=others))


def _scales(panel: dict[str, Any]) -> Any:
    """Return the scale of time, and the marks of the scales of bytes with their heights."""
    texts = [layer for layer in panel["layer"] if layer["mark"]["type"] == "text"]
    rows = [row for layer in texts for row in layer["data"]["values"]]
    marks = {(row["text"], row["base"]) for row in rows if row["text"].endswith("KiB")}
    return panel["layer"][0]["encoding"]["x"]["scale"], marks


def test_loads_one_by_one() -> None:
    """The load of a recorded run has its number, verdict, send buffer and first byte."""
    (seen,) = loads_seen(load_experiment(_GOLDEN).arms["control"].runs[0])
    assert (seen.number, seen.verdict, seen.sndbuf_bytes) == (1, "inverted", 4 * 2**20)
    assert round(seen.first_byte_s, 3) == 1.126
    assert seen.before == 1
