"""Published files: what is in them, and that docs/explore.html is what the code makes of the recordings in the tree."""

import html
import re
from collections.abc import Mapping

import pytest

from priolab.common.errors import ScenarioError, Unavailable
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.request import RunSettings
from priolab.experiments.run.fabrics import FABRICS
from priolab.extras.demo import publish
from priolab.extras.demo.choices import LOWATS
from priolab.extras.demo.finale import finale
from priolab.extras.demo.publish import PREVIEW, choices_of, combinations, written
from priolab.extras.demo.recorded import Recordings, in_tree
from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.story import steps


def test_explore_is_what_the_code_makes() -> None:
    """The page in the tree has the bytes that `make explore` writes, and can be sent to anybody."""
    assert EXPLORE.read_text() == written(in_tree(), finale(None))
    assert EXPLORE.stat().st_size < 900_000


@pytest.mark.parametrize(
    "address", ["https://lab.example/talks/lab.html?lang=en&at=line", "https://lab.example/talks/"]
)
def test_a_shared_address_has_a_picture(address: str) -> None:
    """With an address the file names it, and that of the picture beside it, as a whole. Without one it has a name."""
    last = {**finale(None), "address": address}
    tags = dict(re.findall(r'<meta property="og:(url|image)" content="([^"]+)">', written(in_tree(), last)))
    assert {name: html.unescape(text) for name, text in tags.items()} == {
        "url": address,
        "image": f"https://lab.example/talks/{PREVIEW}",
    }
    assert EXPLORE.with_name(PREVIEW).exists()
    assert f'<meta property="og:image" content="{PREVIEW}">' in EXPLORE.read_text()


def test_what_explore_offers() -> None:
    """It has every step of the story, every stop of the slider, and where they came from."""
    offered = choices_of(in_tree())
    assert [step["title"] for step in offered["story"]] == [step.title for step in steps()]
    assert tuple(offered["lowats"]) == LOWATS
    assert set(offered["published"]) == {"Command", "Lab", "Kernel", "Places", "Recorded"}


def test_only_what_was_recorded_is_offered() -> None:
    """Values, steps and scenarios without a recording are left out."""
    usual = [arm for arm in in_tree().arms if arm["knobs"]["LOWAT"] in ("none", "131072")]
    few = [arm for arm in usual if arm["run"] in ("usual.1", "lowat-none.1")]
    assert len(few) == 2
    offered = choices_of(Recordings.of(few, {}))
    values = {knob["name"]: knob["values"] for knob in offered["knobs"]}
    assert values["LOWAT"] == offered["lowats"] == ["none", "131072"]
    assert {name for name, given in values.items() if len(given) > 1} == {"LOWAT"}
    assert [each["name"] for each in offered["scenarios"]] == ["maps"]
    assert len(offered["story"]) == 1


def test_rates_are_in_order() -> None:
    """The panel lists the recorded rates from the lowest to none, whatever their notation."""
    rates = ("128kbps", "unlimited", "10mbit", "1mbit", "64kbps")
    arms = [{**in_tree().arms[0], "knobs": {"RATE": rate}} for rate in rates]
    offered = choices_of(Recordings.of(arms, {}))
    (values,) = (knob["values"] for knob in offered["knobs"] if knob["name"] == "RATE")
    assert values == ["64kbps", "1mbit", "128kbps", "10mbit", "unlimited"]


def test_a_grid_has_its_control() -> None:
    """Every combination is there, with LOWAT=none beside the other values of LOWAT."""
    grid = combinations({"LOWAT": ("16384",), "RATE": ("1mbit", "2mbit")})
    assert [(each["LOWAT"], each["RATE"]) for each in grid] == [
        ("none", "1mbit"),
        ("none", "2mbit"),
        ("16384", "1mbit"),
        ("16384", "2mbit"),
    ]
    assert {each["LOWAT"] for each in combinations({"RATE": ("1mbit",)})} == {"none", "131072"}


def test_a_server_that_is_not_here_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings of the usual grid that cannot be made here are left out, and one line says how many, why, and how to
    have them.
    """

    def lack_of(knobs: Mapping[str, str], _: RunSettings) -> Unavailable | None:
        absent = knobs["SERVER"] == "h2o"
        return Unavailable("SERVER=h2o", "h2o is not installed", "`make setup SERVER=h2o`") if absent else None

    monkeypatch.setattr(publish, "lack_of", lack_of)
    run_settings = RunSettings(fabric=FABRICS["virtual"], fabric_reason="")
    grid = publish.left_in(publish.combinations({"SERVER": ("nginx", "h2o")}), run_settings, Report())
    assert {each["SERVER"] for each in grid} == {"nginx"}
    assert capsys.readouterr().out == (
        "left out: 2 recordings: SERVER=h2o cannot be used here: h2o is not installed; `make setup SERVER=h2o`\n"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"LOWAT": ("none", "12x")}, "LOWAT=12x is not allowed"),
        ({"LWAT": ("1",)}, "LWAT is not a knob"),
        ({"SEED": tuple(map(str, range(1001)))}, "2002 combinations"),
    ],
)
def test_a_grid_that_is_refused(given: dict[str, tuple[str, ...]], words: str) -> None:
    """A bad value, an unknown knob and too many combinations are refused before anything is run."""
    with pytest.raises(ScenarioError, match=words):
        combinations(given)


@pytest.mark.parametrize("address", ["lab.example", "file:///talk.html", "https://", "https://lab example", ""])
def test_no_address(address: str) -> None:
    """The closing slide's address is one that a telephone can open."""
    with pytest.raises(ScenarioError, match=r"--address=.* is not allowed; allowed: an address that begins with https"):
        finale(address)
