"""Tests of the knobs that name files of the user's own: SERVER, PROGRAM and CONFIG."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from priolab.common.errors import ScenarioError
from priolab.experiments.execution.request import arms_for
from priolab.experiments.scenario.knobs import scenario_from, with_absolute_paths
from priolab.experiments.sweep.grid import expand, grid_from
from tests.support.own_files import PLAIN, TEMPLATE, server_folder


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.conf").write_text(PLAIN)
    Path("full.conf").write_text(TEMPLATE)
    server_folder(tmp_path / "mine")


def test_paths_stay_as_they_were_given(tmp_path: Path) -> None:
    """The scenario and its record have paths as given; a process elsewhere gets absolute paths."""
    knobs = {"SERVER": "./mine", "PROGRAM": "new/nginx", "CONFIG": "plain.conf"}
    scenario = scenario_from(knobs)
    record = scenario
    assert (record.server, record.program, record.config) == ("./mine", "new/nginx", "plain.conf")
    assert with_absolute_paths(knobs) == {name: str(tmp_path / path) for name, path in knobs.items()}
    assert with_absolute_paths({"SERVER": "nginx", "PROGRAM": "stock"}) == {"SERVER": "nginx", "PROGRAM": "stock"}
    assert scenario.front.template == tmp_path / "plain.conf"
    assert scenario_from({}).front_key == ("nginx", None, None, None)


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        (
            {"CONFIG": "plain.conf", "RECORD": "1400"},
            "RECORD=1400 .* stock with CONFIG=plain.conf, which lacks @{record}",
        ),
        (
            {"CONFIG": "plain.conf", "BUFFERING": "off"},
            "BUFFERING=off .* on with CONFIG=plain.conf, which lacks @{buffering}",
        ),
        ({"CONFIG": "absent.conf"}, "CONFIG=absent.conf .* a configuration of nginx .*absent.conf: No such file"),
        (
            {"PROGRAM": "./nginx", "SERVER": "nginx@trixie"},
            "PROGRAM=./nginx .* allowed: stock with SERVER=nginx@trixie",
        ),
        ({"PROGRAM": ""}, "PROGRAM= is not allowed; allowed: the path of a program, or stock"),
        ({"SERVER": "./absent"}, "SERVER=./absent .* the path of a server's folder .*absent/server.toml: No such file"),
        ({"SERVER": "mine"}, r"SERVER=mine is not allowed; allowed: \./mine for the folder, with a slash$"),
        ({"TRACE": ""}, r"TRACE= \(no file\) is not allowed; allowed: none, or a file"),
        ({"SERVER": "nginx@buster"}, "SERVER=nginx@buster .* nginx@bookworm, nginx@trixie, nginx@sid, nginx@1.31.3"),
    ],
)
def test_what_does_not_fit(knobs: Mapping[str, str], told: str) -> None:
    """The error names the knob, the value, and what is allowed."""
    with pytest.raises(ScenarioError, match=told):
        scenario_from(knobs)


def test_a_full_configuration_has_all_levels() -> None:
    """With the placeholders in the configuration, the knobs have all their values."""
    scenario_from({"CONFIG": "full.conf", "BUFFERING": "off", "RECORD": "1400"})


@pytest.mark.parametrize("knob", ["PROGRAM", "CONFIG"])
def test_files_are_for_one_server(knob: str) -> None:
    """Several servers cannot have the same program or configuration."""
    told = f"SERVER=nginx,h2o is not allowed; allowed: one server with {knob}=plain.conf"
    with pytest.raises(ScenarioError, match=told):
        arms_for({"SERVER": "nginx,h2o", knob: "plain.conf"}, control=True)
    with pytest.raises(ScenarioError, match=told):
        grid_from({"SERVER": ["nginx", "h2o"], knob: ["stock", "plain.conf"]})


def test_several_files_make_an_arm_each() -> None:
    """Values of PROGRAM and CONFIG make arms, with labels that can be folders' names."""
    words = {"PROGRAM": "./old/nginx,./new/nginx,stock", "CONFIG": "stock,plain.conf", "LOWAT": "16384"}
    names = [arm.name for arm in arms_for(words, control=False)]
    programs, configs = ("old-nginx", "new-nginx", "stock"), ("stock", "plain.conf")
    assert names == [f"{program}-{config}-lowat-16384" for program in programs for config in configs]
    points = expand(grid_from({"PROGRAM": ["./old/nginx", "./new/nginx"]}))
    assert [point.arm.name for point in points][:2] == ["program-old-nginx", "program-new-nginx"]
