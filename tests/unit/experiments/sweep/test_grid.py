"""Tests of a sweep's grid: arms, twins, their order, and grids that are refused."""

from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common.errors import GridError, ScenarioError
from priolab.experiments.run.fabrics import FABRICS
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.sweep.grid import Grid, Point, expand, grid_from
from priolab.experiments.sweep.sweep import Sweep, sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from tests.support.sweeping import sweep_of

VALUES = {
    "LOWAT": ("none", "4096", "64k", "131072"),
    "CC": ("cubic", "bbr", "reno"),
    "RATE": ("128kbps", "1.5mbit", "unlimited"),
    "DELAY": ("0ms", "0.3s"),
    "LOSS": ("0%", "0.5%", "2%"),
    "SNDBUF": ("4M", "stock"),
    "JS_DELAY": ("0ms", "200ms"),
}

grids = st.dictionaries(st.sampled_from(sorted(VALUES)), st.integers(1, 4), min_size=1, max_size=4).map(
    lambda sizes: {name: VALUES[name][:size] for name, size in sizes.items()}
)


@given(grids)
def test_every_combination_is_an_arm(values: dict[str, tuple[str, ...]]) -> None:
    """Every combination is one arm, with its knobs and a unique name that a folder may have.
    Each network has one twin.
    """
    if all(len(given) == 1 for given in values.values()):
        with pytest.raises(GridError, match="nothing varies"):
            grid_from(values)
        return
    grid = grid_from(values)
    points = expand(grid)
    arms, twins = _arms(points), [point for point in points if point.twin_of]
    in_bytes = {**values, "LOWAT": tuple({"64k": "65536"}.get(value, value) for value in values.get("LOWAT", ()))}
    asked = [
        dict(zip(values, combination, strict=True)) for combination in product(*(in_bytes[name] for name in values))
    ]
    assert [{name: point.arm.knobs[name] for name in values} for point in arms] == asked
    assert len(arms) == grid.combinations
    assert all(set(point.arm.knobs) == set(KNOBS) for point in points)
    names = [point.arm.name for point in points]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.") for name in names)
    assert len(twins) == len({point.network for point in arms}) == grid.networks
    for twin in twins:
        (first,) = [point for point in arms if point.arm.name == twin.twin_of]
        assert twin.arm.knobs == first.arm.knobs
        assert twin.network == first.network
        members = [point.arm.knobs["LOWAT"] for point in arms if point.network == twin.network]
        assert twin.arm.knobs["LOWAT"] == ("none" if "none" in members else members[0])


def _arms(points: tuple[Point, ...]) -> list[Point]:
    return [point for point in points if not point.twin_of]


def test_the_issues_grid() -> None:
    """The given arguments make 144 arms in 24 networks, each at four instants, as the default sweep does."""
    words = "LOWAT=none,4096,16384,65536,131072,524288 CC=cubic,bbr RATE=128kbps,1mbit,10mbit DELAY=50ms,300ms"
    request = sweep_request_from([*words.split(), "SERVER=nginx,h2o", "REPEAT=3"])
    assert (request.grid.combinations, request.grid.networks, request.runs) == (4 * 144, 24, 3 * (4 * 144 + 24))
    assert expand(request.grid) == expand(sweep_request_from([]).grid)
    assert expand(request.grid)[0].arm.name == "lowat-none_cc-cubic_rate-128kbps_delay-50ms_server-nginx_js-delay-200ms"


def test_the_default_sweep_does_without_servers_that_are_absent() -> None:
    """The default sweep omits servers that are not installed, and its title says so.
    It stays unchanged if none is installed.
    """
    request = sweep_request_from([], is_absent=["h2o", "caddy"].__contains__)
    assert (request.grid.fixed["SERVER"], request.grid.combinations) == ("nginx", 4 * 72)
    assert request.title == "Which LOWAT is best for which network, without h2o (not installed)"
    assert sweep_request_from(["SWEEP=networks"], is_absent=["h2o"].__contains__) == sweep_request_from([])
    assert sweep_request_from([], is_absent=["h2o", "nginx"].__contains__) == sweep_request_from([])


def test_names_that_would_be_too_long_are_numbers() -> None:
    """Names that would be too long for a folder are replaced by numbers."""
    zeros = "0." + "0" * 80
    values = dict.fromkeys(("DELAY", "DELAY_UP"), (f"{zeros}0s", "1s"))
    points = expand(Grid(levels={**values, "LOWAT": ("none", "4096")}, fixed={}))
    assert [point.arm.name for point in points][:2] == ["arm-1", "arm-2"]
    assert points[-1].arm.name.endswith("_twin")
    assert len({point.arm.name for point in points}) == len(points)


def test_some_of_a_grid_are_spread_over_it() -> None:
    """`some` returns a sample of a grid without making the whole grid.
    The sample has all values of a knob with few values, and many values of a knob with many.
    """
    grid = grid_from({"LOWAT": tuple(map(str, range(1, 1001))), "CC": ("cubic", "bbr"), "SERVER": ("nginx", "h2o")})
    seen = list(grid.some(100))
    assert seen == list(grid.some(100))
    assert len(seen) == 100
    assert {knobs["SERVER"] for knobs in seen} == {"nginx", "h2o"}
    assert len({knobs["LOWAT"] for knobs in seen}) > 50


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["SIZE=20480"], "nothing varies"),
        (["LOWAT=4096,"], "LOWAT= is not allowed"),
        (["LOWAT="], "LOWAT= is not allowed"),
        (["LOWAT=4096,abc"], "LOWAT=abc is not allowed; allowed: 1 to 4294967295 bytes, or none"),
        (["LOWAT=none,4096,none"], "LOWAT=none,4096,none: none is given twice"),
        (["LOWAT=128k,131072"], "LOWAT=128k,131072: 131072 and 128k are the same value"),
        (["LOWAT=none,16k,16384"], "LOWAT=none,16k,16384: 16384 and 16k are the same value"),
        (["LOWAT=none,4096", "LOWAT=none,16384"], "LOWAT is given twice, none,4096 and none,16384; write"),
        (["maps", "loss"], "SWEEP is given twice, maps and loss"),
        (["maps", "SWEEP=loss"], "SWEEP is given twice, maps and loss"),
        (["LOWAT=none,4096", "REPEAT=2", "REPEAT=3"], "REPEAT is given twice, 2 and 3"),
        (["LOWAT=none,4096", "TARGET_DELAY=20ms,50ms"], "TARGET_DELAY=20ms,50ms: applies to LOWAT=auto alone"),
        (["TARGET_DELAY=20ms,50ms"], "TARGET_DELAY=20ms,50ms: applies to LOWAT=auto alone"),
        (["RATE=128kbps,1024kbit"], "1024kbit and 128kbps are the same value"),
        (["LOWATT=1,2"], "LOWATT is not a knob; did you mean LOWAT or VIA_LOWAT?"),
        (["REPEATS=3"], "REPEATS is not a knob; did you mean REPEAT?"),
        (["CONTROL=no"], "CONTROL=no is not allowed; allowed: the knobs of a sweep: REPEAT, SEED"),
        (["LOWAT=none,1", "FABRIC=virtual,netns"], "FABRIC=virtual,netns is not allowed"),
        (["LOWAT=none,1", "REPEAT=1,2"], "REPEAT=1,2 is not allowed; allowed: 1 to 1000"),
        (["moon"], "SWEEP=moon is not allowed; allowed: auto, loss, maps, modem, networks"),
        (
            ["LOWAT=none,1", "SERVER=nginx,h2o", "BUFFERING=off", "JS_DELAY=0ms"],
            "2 of the grid's 4 arms are not allowed; the first is low",
        ),
        (["JITTER=0ms,20ms,400ms", "DELAY=10ms,300ms", "JS_DELAY=0ms"], "3 of the grid's 6 arms are not allowed"),
        (
            [f"LOWAT={','.join(map(str, range(1, 2001)))}", "REPEAT=5", "JS_DELAY=0ms"],
            "10,005 runs: 2,000 arms and 1 twin, 5 times",
        ),
    ],
)
def test_bad_grids_are_refused(words: list[str], told: str) -> None:
    """The error names the fault, before any file is made."""
    with pytest.raises(ScenarioError) as caught:
        sweep_from(sweep_request_from(words), yes=False)
    assert told in str(caught.value)


def test_a_large_grid_is_told_of_with_its_time() -> None:
    """A large grid is refused with its number of runs and its time. With --yes it runs, up to a second limit."""
    lowat, alone = f"LOWAT={','.join(map(str, range(1, 2001)))}", "JS_DELAY=0ms"
    with pytest.raises(GridError, match=r"; about \d+ h \d+ min on this machine; `priolab sweep` with --yes"):
        sweep_from(
            sweep_request_from([lowat, alone, "REPEAT=5", "FABRIC=netns", "SIZE=2k", "RATE=unlimited", "DELAY=0s"]),
            yes=False,
        )
    with pytest.raises(GridError, match=r"2,001,000 runs.*; divide the grid"):
        sweep_from(sweep_request_from([lowat, alone, "REPEAT=1000"]), yes=True)


def test_lowat_is_kept_in_bytes() -> None:
    """Names and records give LOWAT in bytes, in whatever unit it was given."""
    request = sweep_request_from(["LOWAT=none,16k,0128k,auto", "CC=cubic,bbr", "JS_DELAY=0ms"])
    assert request.grid.levels["LOWAT"] == ("none", "16384", "131072", "auto")
    assert [point.arm.name for point in expand(request.grid)][2] == "lowat-16384_cc-cubic"
    assert sweep_request_from(["LOWAT=16k", "CC=cubic,bbr"]).grid.fixed == {"LOWAT": "16384"}


def test_a_target_makes_arms_of_auto_alone() -> None:
    """TARGET_DELAY makes several arms of LOWAT=auto only. A fixed LOWAT is one arm, and each network has one twin."""
    request = sweep_request_from(
        ["LOWAT=none,16384,auto", "TARGET_DELAY=20ms,50ms,90ms", "CC=cubic,bbr", "JS_DELAY=0ms"]
    )
    points = expand(request.grid)
    assert [point.arm.name for point in points if point.arm.knobs["CC"] == "bbr"] == [
        "lowat-none_cc-bbr",
        "lowat-16384_cc-bbr",
        *(f"lowat-auto_target-delay-{target}_cc-bbr" for target in ("20ms", "50ms", "90ms")),
        "lowat-none_cc-bbr_twin",
    ]
    assert (request.grid.combinations, request.grid.networks, request.runs) == (10, 2, 12)
    assert len({point.arm.scenario for point in points}) == 10
    assert {point.arm.knobs["TARGET_DELAY"] for point in points if point.arm.knobs["LOWAT"] != "auto"} == {
        KNOBS["TARGET_DELAY"].default
    }
    only_auto = sweep_request_from(["LOWAT=auto", "TARGET_DELAY=20ms,50ms", "JS_DELAY=0ms"])
    assert (only_auto.runs, len(expand(only_auto.grid))) == (3, 3)


def test_words_of_make_come_first() -> None:
    """Variables of make override the other arguments."""
    request = sweep_request_from(["maps", "REPEAT=2"], over=["REPEAT=5", "CC=reno", "SWEEP=loss"])
    assert (request.name, request.run["REPEAT"], request.grid.fixed["CC"]) == ("loss", 5, "reno")


def test_words_over_a_named_sweep() -> None:
    """Arguments after the name of a sweep or scenario override its values."""
    request = sweep_request_from(["maps", "CC=reno", "REPEAT=2"])
    assert (request.name, list(request.grid.levels), request.grid.fixed) == ("maps", ["LOWAT"], {"CC": "reno"})
    assert request.runs == (4 * 8 + 1) * 2
    request = sweep_request_from(["SWEEP=maps", "REPEAT=1"])
    assert request.run["REPEAT"] == 1
    request = sweep_request_from(["SCENARIO=modem", "LOWAT=none, 4096"])
    assert request.grid.levels == {"LOWAT": ("none", "4096")}
    assert request.grid.fixed["RATE"] == "128kbit"
    assert request.run["SAMPLE"] == 10**8


def test_seeds_and_order() -> None:
    """A repetition has the same seed in every arm, twins have seeds of their own, and the order depends on the seed."""
    sweep = sweep_of({"LOWAT": ("none", "4096"), "CC": ("cubic", "bbr")}, repeat=3, seed=7)
    seeds = {name: run.seed for name, run in sweep.runs().items()}
    assert [seeds[f"lowat-4096_cc-bbr.{number}"] for number in (1, 2, 3)] == [7, 8, 9]
    assert [seeds[f"lowat-none_cc-bbr_twin.{number}"] for number in (1, 2, 3)] == [10, 11, 12]
    assert len(seeds) == (4 + 2) * 3
    assert sorted(sweep.order()) == sorted(seeds)
    assert sweep.order() == sweep.order() != list(seeds)
    assert sweep_of({"LOWAT": ("none", "4096"), "CC": ("cubic", "bbr")}, repeat=3, seed=8).order() != sweep.order()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title = ", "a readable TOML file"),
        ('titel = "x"', "titel is not allowed; allowed: the keys title, grid, knobs, run"),
        ("grid = 3", "a table, [grid]"),
        ("[grid]\nLOWAT = 4096", "a list of values; a single value must be under [knobs]"),
        ("[grid]\nLOWAT = [[1]]", "text or a number"),
        ("[grid]\nLOWAT = [true]", "text or a number"),
        ("[grid]\nLOWAT = []", "LOWAT= is not allowed; allowed: at least one value"),
        ("[grid]\nLOWATT = [1, 2]", "LOWATT is not a knob; did you mean LOWAT or VIA_LOWAT?"),
        ("[grid]\nREPEAT = [1, 2]", "REPEAT must be under [run], not under [grid]"),
        ("[grid]\nCAPTURE = [1, 2]", "CAPTURE is not a knob"),
        ("[run]\nLOWAT = 1", "LOWAT must be under [grid] or [knobs], not under [run]"),
        ("[grid]\nLOWAT = [1, 2]\n[knobs]\nLOWAT = 1", "LOWAT is both under [grid] and under [knobs]"),
        ("[knobs]\nLOWAT = 1", "nothing varies"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, told: str) -> None:
    """A file that is not TOML, has an unknown key, or has a value in the wrong table is refused."""
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        sweep_request_from([str(path)])
    assert told in str(caught.value)


def test_a_file(tmp_path: Path) -> None:
    """A file has a title, lists, single values, and execution options. Numbers may be in quotes."""
    path = tmp_path / "mine.toml"
    path.write_text(
        'title = "Mine"\n[grid]\nLOWAT = ["none", 4096]\n[knobs]\nSIZE = 20480\n[run]\nREPEAT = 2\nSAMPLE = "20ms"\n'
    )
    request = sweep_request_from([str(path), "RELOADS=0"])
    assert (request.name, request.title, request.runs) == ("mine", "Mine", 2 * (4 * 2 + 1))
    fixed = {"SIZE": "20480", "RELOADS": "0"}
    assert request.grid == Grid(levels={"LOWAT": ("none", "4096")}, fixed=fixed, instants=4)
    assert (request.run["REPEAT"], request.run["SAMPLE"]) == (2, 2 * 10**7)


def test_a_sweep_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep has its arms, its seeds, and its execution options.
    The fabric is chosen for one scenario of each kind, and not for every scenario.
    """
    shown: list[Any] = []

    def choose(name: str, scenarios: list[Any], shaper: object) -> tuple[Any, str]:
        shown.extend(scenarios)
        return FABRICS[name], str(shaper)

    monkeypatch.setattr("priolab.experiments.sweep.sweep.choose", choose)
    words = [
        "LOWAT=none,1,2,3",
        "CC=cubic,bbr",
        "SIZE=4k,8k",
        "FABRIC=virtual",
        "SEED=5",
        "DEADLINE=9s",
        "JS_DELAY=0ms",
    ]
    sweep: Sweep = sweep_from(sweep_request_from(words), yes=False)
    assert {(each.congestion_control, each.size_bytes) for each in shown} == set(
        product(("cubic", "bbr"), (4096, 8192))
    )
    assert len(shown) == 4
    assert len(sweep.points) == prod((4, 2, 2)) + 4
    assert (sweep.seed, sweep.order_seed, sweep.run_settings.load_deadline_ns) == (5, 5, 9 * 10**9)
    assert (sweep.run_settings.fabric.name, sweep.run_settings.sample, sweep.run_settings.capture) == (
        "virtual",
        10**8,
        False,
    )


def test_a_server_is_tried_as_it_is_installed() -> None:
    """HAProxy, which is installed with BUFFERING=off, has networks of both levels, each with a twin; nginx has one."""
    request = sweep_request_from(["SERVER=haproxy,nginx", "LOWAT=none,4096", "JS_DELAY=0ms"])
    points = expand(request.grid)
    arms = [(point.levels["SERVER"], point.arm.knobs["BUFFERING"]) for point in _arms(points)]
    assert arms == [("haproxy", "on"), ("haproxy", "off")] * 2 + [("nginx", "on")] * 2
    assert (request.grid.combinations, request.grid.networks, request.runs) == (6, 3, len(points))
    assert len({point.network for point in points}) == 3


@pytest.mark.parametrize("word", ["BUFFERING=on", "BUFFERING=off", "CONFIG=my.cfg", "SERVER=nginx"])
def test_a_configuration_that_is_given_counts(word: str) -> None:
    """With BUFFERING, or a CONFIG of one's own, or another server nothing is tried beside."""
    words = ["SERVER=haproxy"] if not word.startswith("SERVER") else []
    assert not sweep_request_from([*words, word, "LOWAT=none,4096"]).grid.buffering


def test_the_instant_varies_within_a_write() -> None:
    """Without JS_DELAY each arm is tried at four instants, a quarter of a packet buffer's time apart.

    On a fast link they are a millisecond apart. The instants are of one network, whose twin has the first.
    """
    request = sweep_request_from(["LOWAT=none,4096", "RATE=1mbit,10gbit"])
    points = expand(request.grid)
    found: dict[str, list[str]] = {"1mbit": [], "10gbit": []}
    for point in _arms(points):
        if point.levels["LOWAT"] == "4096":
            found[point.levels["RATE"]].append(point.arm.knobs["JS_DELAY"])
    assert found == {
        "1mbit": ["200ms", "331ms", "462ms", "593ms"],
        "10gbit": ["200ms", "201ms", "202ms", "203ms"],
    }
    assert (request.grid.combinations, request.grid.networks, request.runs) == (16, 2, len(points))
    assert [point.arm.knobs["JS_DELAY"] for point in points if point.twin_of] == ["200ms", "200ms"]


@pytest.mark.parametrize("word", ["JS_DELAY=0ms", "JS_DELAY=0ms,1ms", "PAGE=news", "PAGE=maps,news", "SCENARIO=tokens"])
def test_an_instant_that_is_given_counts(word: str) -> None:
    """With JS_DELAY, or a page with delays of its own, no further instant is tried."""
    assert sweep_request_from([word, "LOWAT=none,4096"]).grid.instants == 1
