"""Every failure prints one line, ends with an exit code, and leaves nothing behind."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.endings import must_have_failed, nothing_is_left
from tests.support.lab import Lab, priolab_here


@pytest.mark.parametrize(
    ("word", "allowed"),
    [
        ("LOWAT=abc", "1 to 4294967295"),
        ("LOWAT=-1", "1 to 4294967295"),
        ("LOWAT=0", "1 to 4294967295"),
        ("LOWAT=5e9", "1 to 4294967295"),
        ("RATE=fast", "128kbps"),
        ("RATE=0", "unlimited"),
        ("SERVER=iis", "h2o"),
        ("QUEUE=0", "1 to 100000 packets"),
        ("REPEAT=0", "1 to 1000"),
        ("FABRIC=cloud", "virtual, compose, netns"),
        ("NATIVE=on", "or h2o"),
        ("SCENARIO=moon", "maps"),
        ("LOWATT=1", "did you mean LOWAT or VIA_LOWAT?"),
    ],
)
def test_bad_input_is_one_clear_line(lab: Lab, word: str, allowed: str) -> None:
    """A bad value gives one line with the knob and what is allowed, exit code 2, and no results folder."""
    done = lab.run_here(word)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert word.partition("=")[0] in done.err
    assert allowed in done.err
    assert not lab.results.exists()


def test_a_results_folder_that_cannot_be_written() -> None:
    """A results folder that cannot be written gives one line with the path, and exit code 1."""
    done = priolab_here("run", "RESULTS=/proc/nowhere")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "/proc/nowhere cannot be written" in done.stderr


@pytest.mark.usefixtures("guest", "own_guests")
def test_a_load_that_never_ends_meets_its_deadline(lab: Lab) -> None:
    """If a load exceeds its deadline, the reason names the load and the unfinished resources."""
    done = lab.run_here("FABRIC=virtual", "DEADLINE=2s", "CONTROL=no", "SAMPLE=none")
    must_have_failed(done, "load 1 of 3", "deadline", "unfinished: image, script")
    nothing_is_left(lab)


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing(lab: Lab, number: signal.Signals) -> None:
    """A signal at any time ends all processes, and no folder is left."""
    pauses = random.Random(number)
    words = ("FABRIC=virtual", "CONTROL=no", "RELOADS=100")  # longer than any pause, on any machine
    for _ in range(3):
        running = subprocess.Popen(
            lab.command(*words), env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert running.stdout is not None
        running.stdout.readline()  # it has begun
        time.sleep(pauses.uniform(0.1, 3.0))
        running.send_signal(number)
        _, err = running.communicate(timeout=30)
        assert running.returncode == 128 + number
        assert b"interrupted by " + number.name.encode() in err
        nothing_is_left(lab)


@pytest.mark.usefixtures("guest")
def test_a_killed_run_leaves_one_partial_folder_that_the_next_names(lab: Lab) -> None:
    """SIGKILL leaves no process and no temporary file; the next run names the partial folder and ignores it."""
    running = subprocess.Popen(lab.command("FABRIC=virtual"), env=lab.environment, stdout=subprocess.PIPE)
    assert running.stdout is not None
    for line in running.stdout:
        if b"load 1 of 3" in line:
            break
    running.kill()
    running.wait(10)
    running.stdout.close()
    nothing_is_left(lab, partial=1)
    done = lab.run_here("FABRIC=virtual", "CONTROL=no", "RELOADS=0", "SIZE=20480", "SAMPLE=none")
    assert done.code == 0
    (wreck,) = lab.results.glob("*.partial")
    assert f"ignoring {wreck}" in done.err


@pytest.mark.usefixtures("guest")
def test_a_mismatch_is_invalid(lab: Lab) -> None:
    """A link whose rate cannot be measured as asked for makes the run invalid; the reason has both rates.

    A queue of one packet holds no train of packets. At 90 Gbit/s the guest's clock, which moves by 256 ns at a time,
    shows no difference between a large packet and a small one. So the rate cannot be confirmed.
    """
    done = lab.run_here("FABRIC=virtual", "RATE=90gbit", "DELAY=0ms", "QUEUE=1", "CONTROL=no", "RELOADS=0")
    assert done.code == 1
    assert done.summary is not None
    assert done.summary["status"] == "invalid"
    assert "rate_bit_s: asked for 90000000000, observed" in done.arm("lowat-131072")["reason"]


def test_a_kernel_build_that_fails_names_its_log(tmp_path: Path) -> None:
    """If the kernel's build fails, one line names the step and the log, and no half-built kernel is left."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "gcc").write_text("#!/bin/sh\necho 'error: no compiler today' >&2\nexit 1\n")
    (tools / "gcc").chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [str(Path(sys.executable).with_name("priolab")), "kernel"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert "building the guest kernel" in line
    log = Path(line.rpartition("(log: ")[2].rstrip(")"))
    assert "no compiler today" in log.read_text()
    assert sorted(path.name for path in (tmp_path / "cache" / "priolab").iterdir()) == [
        "build.lock",
        "kernel-build.log",
    ]
