"""Tests of the commands' output for programs, and of the help of `priolab run`."""

import json

import pytest

from priolab.experiments.cli import main
from priolab.experiments.commands import doctor
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.setup.machine import Capability, LinkOption


def test_names_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """`priolab list --json` has what the list for people has: scenarios, pages, links and sweeps."""
    assert main(["list", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert names["scenarios"]["modem"]["knobs"] == {"RATE": "128kbit"}
    assert names["pages"]["maps"]
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    assert names["links"]["wpt-dsl"] == {
        "RATE": "1500kbit",
        "RATE_UP": "384kbit",
        "DELAY": "25ms",
        "DELAY_UP": "25ms",
    }
    for kind in ("scenarios", "pages", "links", "sweeps"):
        assert all(name in said for name in names[kind])
    assert all(sweep["runs"] > 0 and sweep["levels"] for sweep in names["sweeps"].values())


def test_names_as_json_take_no_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the command for a sweep's results."""
    assert main(["list", "networks", "--json"]) == 2
    assert "takes no sweep; `priolab knee --json`" in capsys.readouterr().err


def test_this_machine_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`priolab doctor --json` has each part and each fabric, and the same exit code."""
    part = Capability(name="tc", present=False, detail="not installed", remedy="apt-get install iproute2")
    link = LinkOption(fabric="netns", shaper="netem", usable=False, reason="none", remedy="use another")
    monkeypatch.setattr(doctor, "examine", lambda: [part])
    monkeypatch.setattr(doctor, "link_options", lambda: [link])
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found == {"parts": [vars(part)], "fabrics": [vars(link)]}


def test_the_help_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The help has the knobs in two groups, and three examples, which the parser takes."""
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    said = capsys.readouterr().out
    measured, _, rest = said.partition("how it is run")
    assert "what is measured" in measured
    assert all(f"--{name.lower().replace('_', '-')} VALUE" in measured for name in KNOBS)
    assert "--repeat VALUE" in rest
    assert said.count("\n  priolab run ") == 3
