"""One value for visitors of two networks, in the guest."""

import json
from pathlib import Path

import pytest

from priolab.experiments import cli

_MIX = """
lowat = [16384]
[[network]]
share = 3
link = "wpt-cable"
[[network]]
share = 1
name = "measured"
rate = "2mbit"
round_trip = "40ms"
[knobs]
SIZE = 400000
RELOADS = 0
JS_DELAY = "200ms"
"""


@pytest.mark.usefixtures("guest")
def test_a_mix_is_run_and_reused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command runs the sweep of the networks; the next one reads it, and prints JSON alone."""
    file, results = tmp_path / "mix.toml", tmp_path / "results"
    file.write_text(_MIX)
    words = ["knee", "--visitors", str(file), "--results", str(results)]
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    assert "The recommended value for all is LOWAT=16384." in said
    assert "(LOWAT=auto) would bring it" in said
    assert cli.main([*words, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["results"]
    assert found["shares"] == {"wpt-cable": 0.75, "measured": 0.25}
    values = {each["value"]: each for each in found["values"]}
    assert list(values) == ["16384", "none", "auto"]
    assert all(each["gain_ms"] > 100 for each in values["16384"]["networks"].values())
    assert len(list(results.glob("sweep-*"))) == 1
