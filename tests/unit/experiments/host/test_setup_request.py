"""What a set-up is for: parts, and the knobs of what will be run."""

from pathlib import Path

import pytest

from experiments.host.setup_request import DEFAULT_SWEEP, OF_A_RUN, Part, asked_by, words_in
from experiments.sweep import file

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    ("part", "words", "servers"),
    [
        (Part.EVERYTHING, [], set()),
        (Part.EVERYTHING, ["LOWAT=1"], set()),
        (Part.EVERYTHING, ["SERVER=h2o, caddy"], {"h2o", "caddy"}),
        (Part.EVERYTHING, ["SCENARIO=h2o"], {"h2o"}),
        (Part.EVERYTHING, ["SCENARIO=h2o", "SERVER=nginx"], {"nginx"}),
        (Part.EVERYTHING, ["SCENARIO=no-such-one"], set()),
        (Part.EVERYTHING, ["SWEEP=modem"], {"nginx", "h2o"}),
        (Part.SWEEP, ["LOWAT=1,2"], set()),
        (Part.SWEEP, ["SWEEP=networks", "SERVER=nginx"], {"nginx"}),
        (Part.TEST, ["SERVER=h2o"], {"h2o"}),
    ],
)
def test_which_servers_are_asked_for(part: Part, words: list[str], servers: set[str]) -> None:
    """By name, or by the name of a scenario or sweep that has them."""
    assert asked_by(part, words, ROOT).servers == servers


@pytest.mark.parametrize("words", [[], ["REPEAT=5", "FABRIC=virtual"]])
def test_nobody_names_the_default_sweeps_servers(words: list[str]) -> None:
    """They are of use, and none of them is needed."""
    asked = asked_by(Part.SWEEP, words, ROOT)
    assert not asked.servers
    assert asked.others == {"nginx", "h2o"}


def test_a_scenario_in_a_file(tmp_path: Path) -> None:
    """It names servers, fabrics are the run's."""
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\n[knobs]\nSERVER = "haproxy"\nCLIENT = "chromium"\n')
    asked = asked_by(Part.EVERYTHING, [f"SCENARIO={path}", "FABRIC=netns", "CAPTURE=yes"], ROOT)
    assert asked.servers == {"haproxy"}
    assert asked.clients == {"chromium"}
    assert asked.fabrics == {"netns"}
    assert asked.capture


@pytest.mark.parametrize("content", ["", "title = 1", "[knobs", "knobs = 3"])
def test_a_file_that_says_nothing(tmp_path: Path, content: str) -> None:
    """Whoever runs it will complain."""
    path = tmp_path / "bad.toml"
    path.write_text(content)
    assert asked_by(Part.EVERYTHING, [f"SCENARIO={path}"], ROOT).servers == set()


@pytest.mark.parametrize(
    ("part", "fabric", "here", "guests"),
    [
        (Part.EVERYTHING, "", True, True),
        (Part.EVERYTHING, "FABRIC=auto", True, True),
        (Part.EVERYTHING, "FABRIC=virtual", True, True),
        (Part.EVERYTHING, "FABRIC=netns", True, False),
        (Part.EVERYTHING, "FABRIC=compose", False, False),
        (Part.CAPTURE, "FABRIC=netns", True, False),
        (Part.DEMO, "FABRIC=netns", True, False),
        (Part.ENVIRONMENT, "", False, False),
        (Part.LINT, "", False, False),
        (Part.TEST, "FABRIC=compose", True, True),
    ],
)
def test_where_it_runs(part: Part, fabric: str, *, here: bool, guests: bool) -> None:
    """The guest is for those who may use it, this machine's programs for those who do not bring their own."""
    asked = asked_by(part, [fabric] if fabric else [], ROOT)
    assert (asked.runs_here, asked.in_guests) == (here, guests)


def test_words_of_make() -> None:
    """As make exports them: blanks escaped, dollars doubled."""
    assert words_in(r"RESULTS=my\ results LOWAT=1 SCENARIO=a$$b") == ["RESULTS=my results", "LOWAT=1", "SCENARIO=a$b"]


def test_the_default_sweep() -> None:
    """The set-up knows it as the sweep does, though it may not import it."""
    assert DEFAULT_SWEEP == file.DEFAULT
    assert set(file.RUN_WORDS) == OF_A_RUN
