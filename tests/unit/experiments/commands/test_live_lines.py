"""Tests of the progress of arms, and of the lines that a terminal shows of it: states at given times."""

from pathlib import Path

import pytest

from priolab.experiments.commands.durations import about, clock
from priolab.experiments.commands.eta import head
from priolab.experiments.commands.live_lines import lines
from priolab.experiments.commands.progress import Planned, Work

PLACES = "places of client, link, front and origin"


class Experiment:
    """An experiment whose runs need 4 s by their cost, for 40 s of link time. The test sets the link's clocks."""

    def __init__(self, *arms: str, repeat: int = 1, side_by_side: int = 2, pace: float | None = 1.0) -> None:
        self.clocks: dict[str, float] = {}
        self.arms = Work(
            arms=dict.fromkeys(arms, Planned(cost_s=4.0, link_s=40.0)),
            runs={f"{arm}.{number}": arm for number in range(1, repeat + 1) for arm in arms},
            side_by_side=side_by_side,
            slowness=pace,
            start_s=1.0,
            link_clock=lambda folder: self.clocks.get(str(folder)),
        )

    def begun(self, name: str, now_s: float) -> None:
        self.arms.begun(name, Path(name), now_s)

    def seen(self, now_s: float, width: int = 80, height: int = 24) -> list[str]:
        return [text for text, _ in self.styled(now_s, width, height)]

    def styled(self, now_s: float, width: int = 80, height: int = 24) -> list[tuple[str, str]]:
        text = head("maps", self.arms, now_s, now_s)
        return lines((text, "bold"), self.arms.of_arms(now_s), width=width, height=height)


def test_an_experiment_from_begin_to_end() -> None:
    """Each arm has a line with its phase, link time, clock, and the time left as far as something is known."""
    seen = Experiment("control", "lowat-131072")
    assert seen.seen(0.5) == [
        "maps: 0 of 2 runs done, 0 s, about 4 s left; preparing",
        "arm           phase                         link time    time    left",
        "control       waiting",
        "lowat-131072  waiting",
    ]
    seen.begun("control.1", 1.0)
    seen.begun("lowat-131072.1", 1.0)
    assert seen.seen(2.0)[0] == "maps: 0 of 2 runs done, 2 s, about 3 s left"
    assert seen.seen(2.0)[2] == "control       starting the guest                          1 s     3 s"
    for name in ("control.1", "lowat-131072.1"):
        for step in (PLACES, "origin and front", "link", "load 1 of 3"):
            seen.arms.step(name, step, 2.0)
    seen.arms.step("control.1", "load 3 of 3", 3.0)
    seen.clocks = {"control.1": 30.0, "lowat-131072.1": 10.0}
    assert seen.seen(4.0) == [
        "maps: 0 of 2 runs done, 4 s, about 6 s left",
        "arm           phase                         link time    time    left",
        "control       page load 3 of 3, measured       30.0 s     3 s     1 s",
        "lowat-131072  page load 1 of 3                 10.0 s     3 s     6 s",
    ]
    seen.arms.step("control.1", "counters", 5.0)
    assert seen.seen(5.0)[2] == "control       reading counters, stopping                  4 s"
    seen.arms.carried_out("control.1")
    assert seen.seen(5.5)[2] == "control       evaluating the run's files                  4 s"
    seen.arms.ended("control.1", "ok", 6.0)
    seen.arms.ended("lowat-131072.1", "failed", 8.0)
    assert seen.seen(70.0) == [
        "maps: 2 of 2 runs done, 1:10",
        "arm           phase                         link time    time    left",
        "control       ok                                          5 s",
        "lowat-131072  failed                                      7 s",
    ]
    assert [style for _, style in seen.styled(9)[2:]] == ["green", "bold red"]


@pytest.mark.parametrize(
    ("step", "phase"),
    [
        (PLACES, "making the places"),
        ("origin and front", "starting origin and front"),
        ("link", "calibrating the link"),
        ("load 1 of 1", "page load 1 of 1, measured"),
        ("counters", "reading counters, stopping"),
        ("building the image of the front from debian:trixie", "building the image of the fr"),
        ("\x1b[31mred", "\\x1b[31mred"),
    ],
)
def test_phases(step: str, phase: str) -> None:
    """A step is called by what happens in it. An unknown step is shown as it is, without control characters."""
    seen = Experiment("control")
    seen.begun("control.1", 0)
    seen.arms.step("control.1", step, 0)
    assert seen.seen(1)[2].startswith(f"control  {phase}")


def test_no_number_where_nothing_is_known() -> None:
    """Without a pace no time left is shown, until the link's clock, or a run that has ended, tells something."""
    seen = Experiment("a", "b", side_by_side=1, pace=None)
    seen.begun("a.1", 0)
    assert seen.seen(3)[0] == "maps: 0 of 2 runs done, 3 s"
    seen.arms.step("a.1", "load 1 of 3", 4)
    seen.clocks = {"a.1": 1.0}
    assert "left" not in seen.seen(5)[0], "a fortieth of the link time tells too little"
    seen.clocks = {"a.1": 20.0}
    assert seen.seen(6)[2].split()[-2:] == ["2", "s"]
    assert "left" not in seen.seen(6)[0], "nothing is known of the other run"
    seen.arms.ended("a.1", "ok", 8)
    assert seen.seen(8)[0] == "maps: 1 of 2 runs done, 8 s, about 8 s left"
    seen.begun("b.1", 8)
    assert "left" not in seen.seen(17)[0], "a run that takes longer than expected ends at an unknown time"


def test_repetitions() -> None:
    """An arm's line counts its repetitions and shows the one at work."""
    seen = Experiment("control", "new", repeat=3, side_by_side=2)
    assert seen.seen(0)[2:] == ["control 1/3  waiting", "new 1/3      waiting"]
    seen.begun("control.1", 0)
    seen.arms.ended("control.1", "ok", 5)
    assert seen.seen(5)[2] == "control 1/3  waiting"
    seen.begun("control.2", 6)
    assert seen.seen(7)[2].startswith("control 2/3  starting the guest")
    for number in (2, 3):
        seen.arms.ended(f"control.{number}", "ok" if number == 3 else "invalid", 9)
    assert seen.seen(9)[2].startswith("control 3/3  invalid")


def test_many_arms_on_a_low_terminal() -> None:
    """Arms at work come first, then bad ones; the last line counts those that do not fit."""
    seen = Experiment(*(f"arm-{number}" for number in range(20)))
    seen.arms.ended("arm-0.1", "ok", 1)
    seen.arms.ended("arm-1.1", "failed", 1)
    seen.begun("arm-12.1", 1)
    found = seen.seen(2, height=7)
    assert [line.split("  ")[0] for line in found[2:]] == ["arm-12", "arm-1", "arm-2", "and 17 more: 16 waiting, 1 ok"]
    assert len(seen.seen(2, height=24)) == 22


@pytest.mark.parametrize("width", [30, 40, 50, 60, 66, 72, 80, 120])
def test_every_width(width: int) -> None:
    """No line is wider than the terminal. A long name is shortened in the middle, and 80 columns show everything."""
    name = "lowat-131072_rate-128kbps_delay-300ms_cc-cubic"
    seen = Experiment(name)
    seen.begun(f"{name}.1", 0)
    seen.arms.step(f"{name}.1", "load 3 of 3", 2000)
    seen.clocks = {f"{name}.1": 39.5}
    found = seen.seen(4000, width=width)
    assert all(len(line) <= width for line in found)
    assert "about 30 s left" in " ".join(found)
    assert ("page load 3 of 3, measured" in found[-1]) == (width >= 40)
    if width >= 80:
        assert found[-1].split()[-5:] == ["39.5", "s", "1:06:40", "30", "s"]
    assert ("…" in found[-1]) == (width < 120)


def test_what_the_lab_prepares() -> None:
    """A step that is not a run's is shown beside the experiment."""
    seen = Experiment("control")
    seen.arms.step("preparation", "building the image", 0)
    assert seen.seen(1)[0].endswith("; preparation: building the image")


def test_times() -> None:
    """Times left are rounded up; clocks are not."""
    assert [about(time_s) for time_s in (0.2, 9.0, 9.1, 11, 89, 90, 91)] == [
        "1 s", "9 s", "10 s", "15 s", "90 s", "2 min", "2 min",
    ]  # fmt: skip
    assert [clock(time_s) for time_s in (0.9, 59.9, 60, 3599, 3661)] == ["0 s", "59 s", "1:00", "59:59", "1:01:01"]
