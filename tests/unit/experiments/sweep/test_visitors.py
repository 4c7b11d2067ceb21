"""The file of a mix of visitors, and the sweep of its networks."""

from pathlib import Path

import pytest

from priolab.analysis.sweeps.folder import load_sweep
from priolab.common.errors import ScenarioError
from priolab.experiments import cli
from priolab.experiments.sweep.grid import expand
from priolab.experiments.sweep.sweep_request import sweep_request_from
from priolab.experiments.sweep.visitors import read, results
from tests.support.sweeps import knobs, write_run, write_sweep

EXAMPLE = Path(__file__).resolve().parents[4] / "docs/examples/visitors.toml"


def test_the_example() -> None:
    """The example's shares add up to one, and its sweep has each network with its own rates and delays."""
    mix = read(EXAMPLE)
    assert sum(mix.shares.values()) == pytest.approx(1)
    assert mix.shares["wpt-4g"] == pytest.approx(0.45)
    assert mix.names["40mbit/10mbit/25ms"] == "home, as our logs have it"
    request = sweep_request_from([*mix.sweep, "JS_DELAY=200ms"])
    assert request.grid.levels["LOWAT"] == ("none", "4096", "16384", "65536", "131072", "524288", "auto")
    scenarios = {point.levels["LINK"]: point.arm.scenario for point in expand(request.grid)}
    assert list(scenarios) == list(mix.shares)
    measured = scenarios["40mbit/10mbit/25ms"]
    assert (measured.rate_bit_s, measured.rate_up_bit_s, measured.delay_ns) == (40 * 10**6, 10**7, 12_500_000)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "=x is not allowed; allowed: the keys title, network, lowat, knobs"),
        ("", "network=nothing is not allowed; allowed: at least one table"),
        ("[[network]]\nlink = 'wpt-4g'", "network 1: share=nothing is not allowed; allowed: a number above 0"),
        ("[[network]]\nshare = -1\nlink = 'wpt-4g'", "network 1: share=-1 is not allowed; allowed: a number above 0"),
        ("[[network]]\nshare = inf\nlink = 'wpt-4g'", "network 1: share=inf is not allowed; allowed: a number above 0"),
        ("[[network]]\nshare = nan\nlink = 'wpt-4g'", "network 1: share=nan is not allowed; allowed: a number above 0"),
        ("[[network]]\nshare = 1", "network 1: a network has either link, or rate and round_trip"),
        ("[[network]]\nshare = 1\nlink = 'wpt-4g'\nrate = '1mbit'", "network 1: a network has either link, or rate"),
        ("[[network]]\nshare = 1\nlink = '4g'", "network 1: link=4g is not allowed; allowed: sitespeed-4g, wpt-4g"),
        ("[[network]]\nshare = 1\nlink = ''", "network 1: link= is not allowed; allowed: sitespeed-3g, "),
        ("[[network]]\nshare = 1\nlink = 'none'", "network 1: link=none is not allowed; allowed: a profile"),
        (
            "[[network]]\nshare = 1\nrate = '5'\nround_trip = '1ms'",
            "network 1: rate=5 is not allowed; allowed: a rate with a unit",
        ),
        (
            "[[network]]\nshare = 1\nrate = '5mbit/1mbit'\nround_trip = '1ms'",
            "network 1: rate=5mbit/1mbit is not allowed; allowed: a rate with a unit",
        ),
        (
            "[[network]]\nshare = 1\nrate = '5mbit'\nrate_up = '0mbit'\nround_trip = '1ms'",
            "network 1: rate_up=0mbit is not allowed; allowed: a rate with a unit",
        ),
        (
            "[[network]]\nshare = 1\nrate = '5mbit'\nround_trip = '-1ms'",
            "network 1: round_trip=-1ms is not allowed; allowed: a time with a unit",
        ),
        (2 * "[[network]]\nshare = 1\nlink = 'wpt-4g'\n", "network 2: wpt-4g is given twice; add the shares"),
        (
            "[[network]]\nshare = 1\nlink = 'wpt-4g'\n[[network]]\nname = 'wpt-4g'\nshare = 1\nlink = 'wpt-lte'",
            "network 2: the name wpt-4g is given twice",
        ),
        (
            "[[network]]\nshare = 1\nlink = 'wpt-4g'\n[knobs]\nRATE = '1mbit'",
            "knobs=RATE is not allowed; allowed: other",
        ),
        (
            "[[network]]\nshare = 1\nlink = 'wpt-4g'\n[knobs]\nSWEEP = 'maps'",
            "knobs=SWEEP is not allowed; allowed: other",
        ),
    ],
)
def test_a_faulty_file(tmp_path: Path, text: str, told: str) -> None:
    """The error is one line, which has the place in the file, the value, and what is allowed."""
    file = tmp_path / "mix.toml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        read(file)
    assert told in str(caught.value)
    assert "or none" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_sweep_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep that is named is read, and nothing is run; one without a network of the mix is refused."""
    file = tmp_path / "mix.toml"
    file.write_text("[[network]]\nshare = 3\nlink = 'wpt-4g'\n[[network]]\nshare = 1\nlink = 'wpt-lte'\n")
    arms = {
        f"{link}-{lowat}": knobs(LINK=link, LOWAT=lowat)
        for link in ("wpt-4g", "wpt-lte")
        for lowat in ("none", "16384")
    }
    folder = write_sweep(
        tmp_path / "sweep", [{"arm": name, "knobs": words, "twin_of": None} for name, words in arms.items()]
    )
    for name, words in arms.items():
        write_run(folder, name, 1, words, 2000.0 if words["LOWAT"] == "none" else 1000.0)
    (found,) = results(read(file), load_sweep(folder), 0.01)
    assert found.recommended == "16384"
    assert found.shares == {"wpt-4g": 0.75, "wpt-lte": 0.25}
    assert cli.main(["knee", str(folder), "--visitors", str(file)]) == 0
    assert "The recommended value for all is LOWAT=16384." in capsys.readouterr().out
    file.write_text("[[network]]\nshare = 3\nlink = 'wpt-dsl'\n")
    with pytest.raises(ScenarioError, match="allowed: a sweep with LINK=wpt-dsl"):
        results(read(file), load_sweep(folder), 0.01)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--visitors", str(EXAMPLE), "--most-loss", "3"), "--most-loss=3 is not allowed; allowed: 0% to 50%"),
        (("--visitors", str(EXAMPLE), "--most-loss", "51%"), "--most-loss=51% is not allowed; allowed: 0% to 50%"),
        (("--most-loss", "3%"), "--most-loss is for --visitors MIX.toml"),
        (("--visitors", "nowhere.toml"), "--visitors=nowhere.toml is not allowed; allowed: a readable TOML file"),
    ],
)
def test_bad_options(options: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad options are refused in one line, before anything is run."""
    assert cli.main(["knee", *options]) == 2
    assert told in capsys.readouterr().err
