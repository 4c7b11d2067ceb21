"""What a set-up is for: parts, and the knobs of what will be run."""

from pathlib import Path

import pytest

from experiments.execution.invocation import RUN_KNOBS
from experiments.host.setup_request import DEFAULT_SWEEP, RUN_WORDS, SetupPart, setup_request_from, words_in
from experiments.sweep import sweep_file

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    ("part", "words", "servers"),
    [
        (SetupPart.EVERYTHING, [], set()),
        (SetupPart.EVERYTHING, ["LOWAT=1"], set()),
        (SetupPart.EVERYTHING, ["SERVER=h2o, caddy"], {"h2o", "caddy"}),
        (SetupPart.EVERYTHING, ["SCENARIO=h2o"], {"h2o"}),
        (SetupPart.EVERYTHING, ["SCENARIO=h2o", "SERVER=nginx"], {"nginx"}),
        (SetupPart.EVERYTHING, ["SCENARIO=no-such-one"], set()),
        (SetupPart.EVERYTHING, ["SWEEP=modem"], {"nginx", "h2o"}),
        (SetupPart.SWEEP, ["LOWAT=1,2"], set()),
        (SetupPart.SWEEP, ["SWEEP=networks", "SERVER=nginx"], {"nginx"}),
        (SetupPart.TEST, ["SERVER=h2o"], {"h2o"}),
    ],
)
def test_which_servers_are_asked_for(part: SetupPart, words: list[str], servers: set[str]) -> None:
    """By name, or by the name of a scenario or sweep that has them."""
    assert setup_request_from(part, words, ROOT).servers == servers


@pytest.mark.parametrize("words", [[], ["REPEAT=5", "FABRIC=virtual"]])
def test_nobody_names_the_default_sweeps_servers(words: list[str]) -> None:
    """They are of use, and none of them is needed."""
    request = setup_request_from(SetupPart.SWEEP, words, ROOT)
    assert not request.servers
    assert request.others == {"nginx", "h2o"}


def test_a_scenario_in_a_file(tmp_path: Path) -> None:
    """It names servers, fabrics are the run's."""
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\n[knobs]\nSERVER = "haproxy"\nCLIENT = "chromium"\n')
    request = setup_request_from(SetupPart.EVERYTHING, [f"SCENARIO={path}", "FABRIC=netns", "CAPTURE=yes"], ROOT)
    assert request.servers == {"haproxy"}
    assert request.clients == {"chromium"}
    assert request.fabrics == {"netns"}
    assert request.capture


@pytest.mark.parametrize("content", ["", "title = 1", "[knobs", "knobs = 3"])
def test_a_file_that_says_nothing(tmp_path: Path, content: str) -> None:
    """Whoever runs it will complain."""
    path = tmp_path / "bad.toml"
    path.write_text(content)
    assert setup_request_from(SetupPart.EVERYTHING, [f"SCENARIO={path}"], ROOT).servers == set()


@pytest.mark.parametrize(
    ("part", "fabric", "here", "guests"),
    [
        (SetupPart.EVERYTHING, "", True, True),
        (SetupPart.EVERYTHING, "FABRIC=auto", True, True),
        (SetupPart.EVERYTHING, "FABRIC=virtual", True, True),
        (SetupPart.EVERYTHING, "FABRIC=netns", True, False),
        (SetupPart.EVERYTHING, "FABRIC=compose", False, False),
        (SetupPart.CAPTURE, "FABRIC=netns", True, False),
        (SetupPart.DEMO, "FABRIC=netns", True, False),
        (SetupPart.ENVIRONMENT, "", False, False),
        (SetupPart.LINT, "", False, False),
        (SetupPart.TEST, "FABRIC=compose", True, True),
    ],
)
def test_where_it_runs(part: SetupPart, fabric: str, *, here: bool, guests: bool) -> None:
    """The guest is for those who may use it, this machine's programs for those who do not bring their own."""
    request = setup_request_from(part, [fabric] if fabric else [], ROOT)
    assert (request.runs_here, request.in_guests) == (here, guests)


def test_words_of_make() -> None:
    """As make exports them: blanks escaped, dollars doubled."""
    assert words_in(r"RESULTS=my\ results LOWAT=1 SCENARIO=a$$b") == ["RESULTS=my results", "LOWAT=1", "SCENARIO=a$b"]


def test_the_default_sweep() -> None:
    """It is a named one, and the words about the run alone are execution options."""
    assert DEFAULT_SWEEP in sweep_file.catalogue()
    assert set(RUN_WORDS) <= set(RUN_KNOBS)
