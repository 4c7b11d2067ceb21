"""Guests that are kept: they carry out the runs of further experiments, to the same bytes, and end with the lab."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from priolab.experiments.results.journal_lines import JOURNALS, lines
from priolab.testbed.process.command_process import CommandProcess, keep_guests
from tests.support.lab import Done, Lab
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("guest", "own_guests")

_SMALL = ("FABRIC=virtual", "CONTROL=no", "SIZE=20000", "RELOADS=0", "SAMPLE=100ms", "LOSS=2%", "JITTER=5ms")
_KEEPS = """
import sys, time
from priolab.experiments.cli import main
from priolab.testbed.process.command_process import keep_guests
with keep_guests():
    main(["run", *sys.argv[1:], "--print-folder"])
    print("idle", flush=True)
    time.sleep(600)
"""


def _journals(done: Done) -> dict[str, list[object]]:
    assert done.code == 0, done.trouble
    assert done.folder is not None
    (run,) = done.folder.glob("*.1")
    return {journal: list(lines(run / journal)) for journal in JOURNALS}


def test_a_kept_guest_gives_the_same_journals(lab: Lab, started: list[CommandProcess]) -> None:
    """A run has the same journals in a guest of its own and in one that has carried out other experiments.

    The others have another front, which this guest had not seen before.
    """
    own = _journals(lab.run_here(*_SMALL, "SERVER=nginx"))
    with keep_guests():
        for server in ("h2o", "apache", "h2o"):
            assert lab.run_here(*_SMALL, f"SERVER={server}", "SEED=3").code == 0
        again = _journals(lab.run_here(*_SMALL, "SERVER=nginx"))
    assert len(started) == 2
    assert all(own.values())
    assert own == again


def test_a_guest_with_other_settings_is_another(lab: Lab, started: list[CommandProcess]) -> None:
    """A guest in which the processor's clock gives the guest's time does not carry out runs without, and vice versa."""
    with keep_guests():
        for server in ("nginx", "go", "nginx", "go"):
            assert lab.run_here(*_SMALL, f"SERVER={server}").code == 0
    assert len(started) == 2


def test_the_last_context_ends_it(lab: Lab, started: list[CommandProcess]) -> None:
    """Contexts of several threads overlap: the guest is kept until the last one ends, and not longer."""
    with ExitStack() as last:
        with keep_guests():
            last.enter_context(keep_guests())
            assert lab.run_here(*_SMALL).code == 0
        assert lab.run_here(*_SMALL, "SEED=3").code == 0
        assert [process.exit_code for process in started] == [None]
    assert [process.exit_code for process in started] != [None]


def test_nothing_is_left_when_its_process_is_killed(lab: Lab) -> None:
    """After kill -9 of a process that keeps a guest, the guest, its supervisor and their folders go within seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", _KEEPS, f"RESULTS={lab.results}", *_SMALL],
        env=lab.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as keeps:
        assert keeps.stdout is not None
        assert [line.strip() for line in (keeps.stdout.readline(), keeps.stdout.readline())][1] == "idle"
        assert any("supervisor.py" in line for line in lab.processes())
        os.kill(keeps.pid, signal.SIGKILL)
    _until_gone(lab)


def _until_gone(lab: Lab) -> None:
    until(lambda: not lab.processes() and not any(lab.temporary.iterdir()))
