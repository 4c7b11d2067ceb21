"""Programs enter the guest's kernel by ptrace(2) if the host refuses seccomp(2), and results are the same."""

import subprocess
from collections.abc import Sequence

import pytest

from tests.support.lab import Lab
from tests.support.refusing import refuse_seccomp

pytestmark = pytest.mark.usefixtures("guest", "own_guests")

_WORDS = ("FABRIC=virtual", "CONTROL=no", "LOWAT=16384", "SIZE=100000", "RELOADS=0", "DELAY=50ms", "RATE=1mbit")


def _refused(lab: Lab, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process that is refused seccomp(2)."""
    return subprocess.run(
        command,
        env=lab.environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        preexec_fn=refuse_seccomp,
    )


@pytest.mark.needs("seccomp")
def test_a_run_by_ptrace(lab: Lab) -> None:
    """run.json names ptrace, and the client's events equal those of a run with seccomp."""
    usual = lab.run_here(*_WORDS)
    slower = lab.latest(_refused(lab, lab.command(*_WORDS, "--print-folder")))
    events = []
    for done, entry in ((usual, "seccomp"), (slower, "ptrace")):
        assert done.code == 0, done.trouble
        assert done.folder is not None
        run = done.folder / "lowat-16384.1"
        assert f'"entry": "{entry}"' in (run / "run.json").read_text()
        events.append((run / "client/events.jsonl").read_bytes())
    assert events[0] == events[1]


def test_the_doctor_says_what_it_costs(lab: Lab) -> None:
    """The doctor says that ptrace makes runs slower, and gives the reason."""
    done = _refused(lab, [*lab.command()[:3], "doctor"])
    said = " ".join(done.stdout.split())
    assert "entered by ptrace, so runs take about twice as long: this system refuses seccomp(2): EPERM" in said
