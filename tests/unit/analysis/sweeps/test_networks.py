"""Tests of the networks of a sweep, read from the sweep's folder."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.records.runs import load_run
from priolab.analysis.sweeps.folder import load_sweep
from priolab.analysis.sweeps.knee import find
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import Network, networks
from priolab.analysis.sweeps.words import instants, lowat
from priolab.common.formats.reading import FolderError
from tests.support.sweeps import knobs, write_run, write_sweep


def arm(name: str, twin_of: str | None = None, **words: str) -> dict[str, Any]:
    return {"arm": name, "knobs": knobs(**words), "twin_of": twin_of}


def found(folder: Path) -> list[Network]:
    return networks(load_sweep(folder))


def two_networks(folder: Path) -> Path:
    """Writes a sweep of LOWAT none and 4096 at two rates, with two repetitions. The first network has a twin."""
    arms = [
        arm("a", RATE="1mbit", LOWAT="none"),
        arm("a-twin", "a", RATE="1mbit", LOWAT="none"),
        arm("b", RATE="1mbit", LOWAT="4096"),
        arm("c", RATE="2mbit", LOWAT="none"),
        arm("d", RATE="2mbit", LOWAT="4096"),
    ]
    write_sweep(folder, arms, repeat=2, changes={"fixed": {"DELAY": "300ms"}})
    for each in arms:
        for number in (1, 2):
            write_run(folder, each["arm"], number, each["knobs"], 1000.0 + number)
    return folder


def test_all_but_lowat_is_a_network(tmp_path: Path) -> None:
    """Arms that differ in LOWAT alone are one network, which is named by the varied knobs.

    `words` are the knobs that make the network again. The twin is in the pair, and is no level.
    """
    one, other = found(two_networks(tmp_path))
    assert (one.name, other.name) == ("RATE=1mbit", "RATE=2mbit")
    assert one.words == ("DELAY=300ms", "RATE=1mbit")
    assert [level.value for level in one.levels] == ["4096", "none"]
    assert one.unset is one.levels[-1]
    assert one.unset.estimate(Measure.FIRST_BYTE).median == 1001.5
    assert one.pair is not None
    assert [half.repetitions for half in one.pair] == [2, 2]
    assert other.pair is None
    assert one.grains[Measure.FIRST_BYTE] == 2 * other.grains[Measure.FIRST_BYTE]


def test_one_network_is_named_by_what_says_most(tmp_path: Path) -> None:
    """If only LOWAT varies, the network is named by RATE, DELAY, CC and SERVER."""
    write_sweep(tmp_path, [arm("a", LOWAT="none"), arm("b", LOWAT="4096")])
    (one,) = found(tmp_path)
    assert one.name == "RATE=128kbps DELAY=300ms CC=cubic SERVER=nginx"


def test_a_second_fronts_value_makes_networks_of_its_own(tmp_path: Path) -> None:
    """If VIA_LOWAT varies, it is recommended for each LOWAT; a network without a twin has the pair of another LOWAT."""
    of_arms = [(lowat, via) for lowat in ("none", "4096") for via in ("none", "65536")]
    arms = [arm(f"{lowat}-{via}", VIA="nginx", LOWAT=lowat, VIA_LOWAT=via) for lowat, via in of_arms]
    arms.append(arm("twin", "none-none", VIA="nginx", LOWAT="none", VIA_LOWAT="none"))
    write_sweep(tmp_path, arms)
    for each in arms:
        write_run(tmp_path, each["arm"], 1, each["knobs"], 1000.0 if each["knobs"]["VIA_LOWAT"] == "none" else 500.0)
    networks_found = found(tmp_path)
    assert [(each.knob, each.name) for each in networks_found] == [
        ("LOWAT", "VIA_LOWAT=none"),
        ("LOWAT", "VIA_LOWAT=65536"),
        ("VIA_LOWAT", "LOWAT=none"),
        ("VIA_LOWAT", "LOWAT=4096"),
    ]
    assert all(each.pair for each in networks_found[2:])
    recommended = find(networks_found[-1]).recommended
    assert recommended is not None
    assert lowat(recommended) == "VIA_LOWAT=65536"


def test_a_value_is_the_mean_over_instants(tmp_path: Path) -> None:
    """Arms that differ in JS_DELAY are one value, whose repetitions are means over the instants.

    4096 is the soonest at one instant, and 16384 on average. A repetition without a run at one instant does not count.
    """
    times = {"4096": (1000.0, 3000.0), "16384": (1500.0, 1700.0), "none": (5000.0, 5000.0)}
    arms = [arm(f"{lowat}-{delay}", LOWAT=lowat, JS_DELAY=f"{delay}ms") for lowat in times for delay in (200, 300)]
    write_sweep(tmp_path, arms, repeat=2)
    for each in arms:
        first_ms = times[each["knobs"]["LOWAT"]][each["knobs"]["JS_DELAY"] == "300ms"]
        for number in (1, 2):
            write_run(tmp_path, each["arm"], number, each["knobs"], first_ms)
    shutil.rmtree(tmp_path / "16384-300.2")
    (one,) = found(tmp_path)
    knee = find(one)
    assert one.instants == [200, 300]
    chosen = one.level("16384")
    assert chosen is not None
    assert chosen is knee.recommended is knee.best
    assert (chosen.estimate(Measure.FIRST_BYTE).median, chosen.repetitions) == (1600.0, 1)
    assert chosen.instants == {200: 1500.0, 300: 1700.0}
    told = instants(one, knee)
    assert "means over 2 instants, JS_DELAY=200ms to 300ms" in told
    assert "1.30 s to 1.40 s with LOWAT=16384, 4.70 s to 4.80 s with LOWAT unset" in told
    assert told.endswith(
        "Sooner than the recommended value at one instant, but not on average: LOWAT=4096 (JS_DELAY=200ms)."
    )


def test_what_steers_auto_belongs_to_its_value(tmp_path: Path) -> None:
    """LOWAT=auto has a level for each TARGET_DELAY.

    A fixed LOWAT has one level, from its first arm, because TARGET_DELAY does not affect the runs.
    """
    arms = [
        {"arm": f"{lowat}-{target}", "knobs": knobs(LOWAT=lowat) | {"TARGET_DELAY": target}}
        for lowat in ("none", "4096", "auto")
        for target in ("20ms", "50ms")
    ]
    write_sweep(tmp_path, arms)
    for number, target in enumerate(("20ms", "50ms")):
        write_run(tmp_path, f"4096-{target}", 1, knobs(LOWAT="4096"), 1000.0 + number)
    (one,) = found(tmp_path)
    assert [level.value for level in one.levels] == ["4096", "none", "auto TARGET_DELAY=20ms", "auto TARGET_DELAY=50ms"]
    assert (one.levels[0].repetitions, one.levels[0].estimate(Measure.FIRST_BYTE).median) == (1, 1000)
    assert [level.is_steered for level in one.levels] == [False, False, True, True]


def test_what_is_missing_or_not_good_is_named(tmp_path: Path) -> None:
    """Runs that are missing, unfinished or invalid are listed with a reason, and do not count."""
    folder = two_networks(tmp_path)
    shutil.rmtree(folder / "b.1")
    (folder / "d.2").rename(folder / "d.2.partial")
    document = json.loads((folder / "c.1" / "run.json").read_text())
    changes = {"status": "invalid", "reason": "rate: asked for 1, observed 2", "loads": [], "observed": {}}
    (folder / "c.1" / "run.json").write_text(json.dumps(document | changes))
    sweep = load_sweep(folder)
    assert not sweep.is_finished
    assert [(trouble.run, trouble.status, trouble.reason) for arm in sweep.arms for trouble in arm.troubles] == [
        ("b.1", "missing", "the run has not begun"),
        ("c.1", "invalid", "rate: asked for 1, observed 2"),
        ("d.2", "missing", "the run began, but did not end"),
    ]
    assert [[level.repetitions for level in network.levels] for network in networks(sweep)] == [[1, 2], [1, 1]]


def test_a_run_in_which_nothing_took_any_time(tmp_path: Path) -> None:
    """A run whose payload came at one instant is listed as invalid; the other runs count."""
    folder = two_networks(tmp_path)
    document = json.loads((folder / "c.1" / "run.json").read_text())
    edges = ("first_byte_ms", "important_last_byte_ms", "others_first_byte_ms", "others_last_byte_ms")
    document["loads"][-1] |= dict.fromkeys(edges, 5.0)
    (folder / "c.1" / "run.json").write_text(json.dumps(document))
    sweep = load_sweep(folder)
    assert [(trouble.run, trouble.status, trouble.reason) for arm in sweep.arms for trouble in arm.troubles] == [
        ("c.1", "invalid", "all payload arrived at one instant, so there is no goodput")
    ]
    assert [[level.repetitions for level in network.levels] for network in networks(sweep)] == [[2, 2], [2, 1]]


def test_lowat_in_other_words(tmp_path: Path) -> None:
    """In an older sweep LOWAT may be `16k`; a run's record has the number of bytes.

    Without an ok run of this LOWAT the sweep is refused.
    """
    arms = [arm("a", LOWAT="none"), arm("b", LOWAT="16k"), arm("c", "b", LOWAT="16k")]
    write_sweep(tmp_path, arms)
    with pytest.raises(FolderError, match=r"sweep\.json: LOWAT=16k is no number of bytes"):
        load_sweep(tmp_path)
    write_run(tmp_path, "a", 1, knobs(LOWAT="none"), 6700.0)
    write_run(tmp_path, "b", 1, knobs(LOWAT="16k"), 1000.0)
    (one,) = found(tmp_path)
    assert [(level.value, level.lowat_bytes) for level in one.levels] == [("16384", 16384), ("none", None)]
    assert one.fixed == [one.levels[0]]
    assert find(one).recommended is one.levels[0]


def test_a_sweep_that_has_only_begun(tmp_path: Path) -> None:
    """A sweep without runs has networks without results."""
    write_sweep(tmp_path, [arm("a", LOWAT="none")])
    (one,) = found(tmp_path)
    assert not one.levels[0].is_good
    assert (one.unset, one.fixed, one.grains, one.record_ms) == (None, [], {}, 0)


def test_no_sweep(tmp_path: Path) -> None:
    """FolderError names sweep.json if the file is missing."""
    with pytest.raises(FolderError, match=r"sweep\.json: missing; the folder is no results folder"):
        load_sweep(tmp_path)


def test_another_format(tmp_path: Path) -> None:
    """A sweep of another format is refused, with both formats in the message."""
    with pytest.raises(FolderError, match=r"sweep\.json: format 2; this version reads format 1$"):
        load_sweep(write_sweep(tmp_path, [arm("a")], changes={"format": 2}))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"arms": []}, r"Expected `array` of length >= 1 - at `\$\.arms`"),
        ({"repeat": 0}, r"Expected `int` >= 1 - at `\$\.repeat`"),
        ({"grid": {"LOWAT": "none"}}, r"Expected `array`, got `str` - at `\$\.grid"),
        ({"fabric": None}, r"Expected `str`, got `null` - at `\$\.fabric`"),
    ],
)
def test_a_damaged_sweep(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    """The message has the damaged place in sweep.json and what is wrong."""
    with pytest.raises(FolderError, match=f"sweep.json: {told}"):
        load_sweep(write_sweep(tmp_path, [arm("a")], changes=changes))


def test_a_twin_of_nobody(tmp_path: Path) -> None:
    """A twin is refused if its original does not exist, or has other knobs."""
    with pytest.raises(FolderError, match="b is the twin of x, but the sweep has no arm x with the same knobs"):
        load_sweep(write_sweep(tmp_path, [arm("a"), arm("b", "x")]))
    with pytest.raises(FolderError, match="b is the twin of a"):
        load_sweep(write_sweep(tmp_path, [arm("a"), arm("b", "a", RATE="1mbit")]))


def test_a_run_of_another_arm(tmp_path: Path) -> None:
    """A run folder with the run of another arm is refused."""
    folder = two_networks(tmp_path)
    shutil.rmtree(folder / "b.1")
    shutil.copytree(folder / "d.1", folder / "b.1")
    with pytest.raises(FolderError, match=r"b\.1/run\.json: the run belongs to arm d, not to b"):
        load_sweep(folder)


def test_a_damaged_run(tmp_path: Path) -> None:
    """The message names the damaged run.json."""
    folder = two_networks(tmp_path)
    (folder / "d.1" / "run.json").write_text("{")
    with pytest.raises(FolderError, match=r"d\.1/run\.json: "):
        load_sweep(folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: run["scenario"].update(resources=[]), "Expected `array` of length >= 1"),
        (lambda run: run["scenario"]["resources"][-1].update(name="x"), "load 1: its resources are not those of"),
        (lambda run: run["loads"][0]["resources"].popitem(), "load 1: its resources are not those of the scenario"),
        (lambda run: run["loads"][0].update(focal="x"), "load 1: its resources are not those of the scenario"),
    ],
)
def test_resources_that_do_not_match(tmp_path: Path, damage: Callable[[Any], object], message: str) -> None:
    """A run whose loads have other resources than its scenario is refused, whatever the name of its page."""
    file = two_networks(tmp_path) / "d.1" / "run.json"
    document = json.loads(file.read_text())
    document["scenario"]["page"] = "x"
    damage(document)
    file.write_text(json.dumps(document))
    with pytest.raises(FolderError, match=re.escape(f"{file}: {message}")):
        load_run(file.parent)
