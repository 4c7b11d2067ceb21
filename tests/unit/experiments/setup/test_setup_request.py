"""Tests of a set-up's request: its part, and the knobs of later runs."""

from pathlib import Path

import pytest

from priolab.experiments.execution.cli_request import RUN_KNOBS
from priolab.experiments.setup.setup_request import DEFAULT_SWEEP, RUN_WORDS, SetupPart, setup_request_from, words_in
from priolab.experiments.sweep import sweep_file

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
    """Servers are requested by name, or by the name of a scenario or sweep."""
    assert setup_request_from(part, words, ROOT).servers == servers


@pytest.mark.parametrize("words", [[], ["REPEAT=5", "FABRIC=virtual"]])
def test_nobody_names_the_default_sweeps_servers(words: list[str]) -> None:
    """The default sweep's servers are optional."""
    request = setup_request_from(SetupPart.SWEEP, words, ROOT)
    assert not request.servers
    assert request.others == {"nginx", "h2o"}


def test_a_scenario_in_a_file(tmp_path: Path) -> None:
    """A scenario file names servers and clients. The fabric comes from the command line."""
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\n[knobs]\nSERVER = "haproxy"\nCLIENT = "chromium"\n')
    request = setup_request_from(SetupPart.EVERYTHING, [f"SCENARIO={path}", "FABRIC=netns", "CAPTURE=yes"], ROOT)
    assert request.servers == {"haproxy"}
    assert request.clients == {"chromium"}
    assert request.fabrics == {"netns"}
    assert request.capture


@pytest.mark.parametrize("content", ["", "title = 1", "[knobs", "knobs = 3"])
def test_a_file_that_says_nothing(tmp_path: Path, content: str) -> None:
    """The set-up ignores a bad scenario file, because the lab's own error reports it."""
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
        (SetupPart.KERNEL, "", False, True),
        (SetupPart.SITE, "", False, False),
        (SetupPart.TEST, "FABRIC=compose", True, True),
    ],
)
def test_where_it_runs(part: SetupPart, fabric: str, *, here: bool, guests: bool) -> None:
    """Guests are set up if they may be used, and this machine's programs unless containers are used."""
    request = setup_request_from(part, [fabric] if fabric else [], ROOT)
    assert (request.runs_here, request.in_guests) == (here, guests)


def test_words_of_make() -> None:
    """Words are read as make exports them: spaces escaped, dollar signs doubled."""
    assert words_in(r"RESULTS=my\ results LOWAT=1 SCENARIO=a$$b") == ["RESULTS=my results", "LOWAT=1", "SCENARIO=a$b"]


def test_the_default_sweep() -> None:
    """The default sweep exists, and RUN_WORDS are execution options."""
    assert DEFAULT_SWEEP in sweep_file.catalogue()
    assert set(RUN_WORDS) <= set(RUN_KNOBS)
