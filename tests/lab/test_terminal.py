"""The output on a terminal and in a pipe, while an experiment runs and afterwards."""

import re
import subprocess

import pytest

from tests.lab.terminal import seen
from tests.support.endings import nothing_is_left
from tests.support.lab import Lab

SMALL = ("FABRIC=virtual", "LOWAT=131072", "SAMPLE=none")
HEADLINE = "the script came 3.7 s sooner in lowat-131072 than in control:"

pytestmark = pytest.mark.usefixtures("guest")


@pytest.mark.parametrize("columns", [80, 120])
def test_an_experiment_on_a_terminal(lab: Lab, columns: int) -> None:
    """Each arm has a live line with true phases and link time. Then the lines are gone, and the headline comes first.
    No column of the table is missing, no word is broken, and only paths may be wider than the terminal.
    """
    shown = seen(lab.command("FABRIC=virtual", "LOWAT=131072"), lab.environment, columns=columns)
    assert shown.code == 0
    for words in ("starting the guest", "page load", "of 2 runs done", "link time"):
        assert words in shown.raw
    assert shown.has_cursor
    assert shown.colours
    screen = [line.rstrip() for line in shown.screen]
    assert not any("runs done" in line or "drawing" in line for line in screen)
    headline = next(number for number, line in enumerate(screen) if line.startswith(HEADLINE[:60]))
    table = next(number for number, line in enumerate(screen) if line.startswith("arm "))
    assert headline < table
    text = " ".join(" ".join(screen).split())
    assert f"{HEADLINE} first byte at 2.96 s, not 6.69 s (kept 2.15 s late, not inverted)" in text
    headings = [word for line in screen if line.startswith(("arm ", "   ")) for word in line.split()]
    for word in ("verdict", "possible", "by", "first", "last", "before", "needless", "time"):
        assert word in headings
    assert all(len(line) <= columns for line in screen if str(lab.results) not in line)
    assert any(line == f"results: {(lab.results / 'latest').resolve()}" for line in screen), "a path stays whole"


def test_a_terminal_without_colours(lab: Lab) -> None:
    """With NO_COLOR there is no colour on a terminal."""
    shown = seen(lab.command(*SMALL, "RELOADS=0", "SIZE=20480"), lab.environment | {"NO_COLOR": "1"})
    assert shown.code == 0
    assert shown.colours == set()


def test_a_pipe(lab: Lab) -> None:
    """A pipe gets a plain line for each step, no control sequence, and one line for each arm of the table."""
    words = lab.command(*SMALL, "RELOADS=0")
    done = subprocess.run(words, env=lab.environment, capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    for step in ("origin and front", "link", "load 1 of 1", "counters", "ok"):
        assert sum(line.endswith(f" s  control.1: {step}") for line in lines) == 1
    (heading,) = (number for number, line in enumerate(lines) if line.startswith("arm "))
    assert lines[heading].split()[:3] == ["arm", "verdict", "possible"]
    assert lines[heading].split()[-3:] == ["before", "needless", "time"]
    assert [line.split()[0] for line in lines[heading + 1 : heading + 3]] == ["control", "lowat-131072"]


def test_an_interruption(lab: Lab) -> None:
    """Ctrl-C in the middle of a load gives the cursor back, removes the live lines, and leaves nothing."""
    shown = seen(
        lab.command("FABRIC=virtual", "RELOADS=100"),
        lab.environment,
        # A busy terminal does not show every load.
        interrupt_at=lambda output: re.search(r"page load ([2-9]|[1-9]\d) of 101", output) is not None,
    )
    assert shown.code == 130
    assert shown.has_cursor
    assert [line for line in shown.screen if line][-1] == "priolab: interrupted by SIGINT; nothing was kept"
    assert not any("runs done" in line or "page load" in line for line in shown.screen)
    nothing_is_left(lab)


def test_arms_that_fail(lab: Lab) -> None:
    """Failed arms are told in the headline, in the table and with their reasons; the exit code is 1."""
    shown = seen(lab.command(*SMALL, "DEADLINE=2s"), lab.environment)
    assert shown.code == 1
    assert shown.has_cursor
    text = " ".join(" ".join(shown.screen).split())
    assert "no arm is ok, so there is nothing to compare" in text
    assert "control: failed - the client: load 1 of 3: the load took longer than its deadline" in text


def test_a_sweep(lab: Lab) -> None:
    """A sweep shows its tally and a line for each run at work; the table of results stays."""
    words = ("FABRIC=virtual", "LOWAT=none,4096", "JS_DELAY=200ms", "REPEAT=2", "SAMPLE=none")
    shown = seen(lab.sweep_command(*words), lab.environment)
    assert shown.code == 0
    assert "of 6 runs" in shown.raw
    assert "starting the guest" in shown.raw
    assert "page load" in shown.raw
    assert shown.has_cursor
    assert not any("page load" in line for line in shown.screen)
    assert sum(line.rstrip().endswith("2/2") for line in shown.screen) == 3
