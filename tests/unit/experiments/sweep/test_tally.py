"""How far a sweep is, and how long it takes."""

from collections.abc import Mapping

import pytest

from experiments.scenario.knobs import scenario_from
from experiments.scenario.named import entry_of
from experiments.sweep import estimate
from experiments.sweep.estimate import duration
from experiments.sweep.tally import Tally, link_s
from tests.unit import builders

RUN = builders.run(
    loads=[builders.load_record((1.0, last), (1.0, other)) for last, other in ((12e3, 9e3), (5e3, 13e3))]
).record
BAD = builders.run(status="failed").record


def tally(seconds: float = 4.0) -> Tally:
    arms = {f"{arm}.{number}": arm for arm in ("a", "b", "c") for number in (1, 2)}
    return Tally(arms=arms, estimates_s=dict.fromkeys(arms, seconds), side_by_side=2, now_s=0.0)


def test_link_time() -> None:
    """Of all page loads, to the end of the later resource; nothing of a run without any."""
    assert link_s(RUN) == 25.0
    assert link_s(BAD) == 0.0


def test_the_line() -> None:
    """Arms and runs done, what went wrong, link time, how much faster than real time, and what is left."""
    counted = tally()
    assert counted.line(0.0) == "0 of 3 arms, 0 of 6 runs; about 12 s left"
    counted.ended("a.1", RUN)
    counted.ended("b.1", BAD)
    counted.ended("a.2", RUN)
    assert counted.line(5.0).startswith("1 of 3 arms, 3 of 6 runs, 1 failed; 50 s of link time, 10x real time; about")
    for name in ("b.2", "c.1", "c.2"):
        counted.ended(name, RUN)
    assert counted.line(200.0) == "3 of 3 arms, 6 of 6 runs, 1 failed; 2 min of link time, 1x real time; 3 min"
    assert counted.runs_left == 0


def test_what_was_done_before_counts_as_done_but_not_as_speed() -> None:
    """Link time and time left are those of this time."""
    counted = tally()
    counted.begin(100.0, ["a.1", "a.2"])
    assert counted.line(101.0) == "1 of 3 arms, 2 of 6 runs; about 8 s left"
    counted.ended("b.1", RUN)
    assert "25 s of link time, 5x real time" in counted.line(105.0)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_time_left_is_corrected_by_what_took_place(factor: float) -> None:
    """An estimate that was wrong by a factor is right in the end, and never jumps at the first run."""
    arms = {f"{number}.1": str(number) for number in range(1000)}
    counted = Tally(arms=arms, estimates_s=dict.fromkeys(arms, 2.0), side_by_side=2, now_s=0.0)
    counted.ended("0.1", RUN)
    assert 800 < counted.left_s(2 * factor) < 1500
    for number in range(1, 500):
        counted.ended(f"{number}.1", RUN)
    assert counted.left_s(500 * factor) == pytest.approx(500 * factor, rel=0.05)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (99, "99 s"), (110, "2 min"), (3599, "1 h 0 min"), (12_000, "3 h 20 min"), (187_000, "2 d 3 h")],
)
def test_durations(seconds: float, words: str) -> None:
    """In two units at most."""
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("knobs", "measured_s"),
    [
        ({}, 37.5),
        ({"RATE": "10mbit", "DELAY": "50ms"}, 4.4),
        ({"SIZE": "20480", "RELOADS": "0"}, 1.2),
    ],
)
def test_link_time_is_about_what_was_measured(knobs: dict[str, str], measured_s: float) -> None:
    """Good to a factor of two."""
    assert measured_s / 2 < estimate.link_s(scenario_from(knobs)) < measured_s * 2


def test_what_makes_a_run_longer() -> None:
    """A slower link, a longer delay, losses, a late script and more pages do, on the link."""
    usual = estimate.link_s(scenario_from({}))
    slower = ({"RATE": "64kbps"}, {"DELAY": "3s"}, {"LOSS": "5%"}, {"JS_DELAY": "30s"}, {"RELOADS": "3"})
    assert all(estimate.link_s(scenario_from(knobs)) > usual for knobs in slower)
    bbr = {"CC": "bbr"}
    assert estimate.link_s(scenario_from({**bbr, "LOSS": "5%"})) == estimate.link_s(scenario_from(bbr))
    modem = scenario_from({"RATE": "1kbit"})
    assert estimate.wall_s(modem, virtual_clock=True) == estimate.wall_s(scenario_from({}), virtual_clock=True)
    assert estimate.wall_s(modem, virtual_clock=False) > estimate.link_s(modem)
    both = estimate.of_all([modem, modem], 10, virtual_clock=False, side_by_side=2, runs_per_command=1)
    assert both.wall_s == pytest.approx(5 * estimate.wall_s(modem, virtual_clock=False))
    assert both.link_s == pytest.approx(10 * estimate.link_s(modem))


@pytest.mark.parametrize(
    ("knobs", "measured_s"),
    [
        ({}, 20.7),
        ({"RELOADS": "0"}, 11.4),
        ({"RATE": "unlimited", "DELAY": "1ms"}, 9.8),
        (entry_of("modem").knobs, 75.0),
    ],
)
def test_a_browser_takes_its_time(knobs: Mapping[str, str], measured_s: float) -> None:
    """In the guest, too: to begin, and for each second of link time; good to a factor of two."""
    scenario = scenario_from({**knobs, "CLIENT": "chromium"})
    assert measured_s / 2 < estimate.wall_s(scenario, virtual_clock=True) < measured_s * 2


def test_a_guest_takes_a_while_to_begin() -> None:
    """Fewer of them take less; what they are divided among is what the executor divides by."""
    scenario = scenario_from({})
    runs_s = 50 * estimate.wall_s(scenario, virtual_clock=True)

    def guests_s(runs_per_command: int) -> float:
        about = estimate.of_all([scenario], 100, virtual_clock=True, side_by_side=2, runs_per_command=runs_per_command)
        return about.wall_s - runs_s

    assert guests_s(1) == pytest.approx(100 * 2.0 / 2)
    assert 0 < guests_s(40) < guests_s(10) < guests_s(1) / 5
