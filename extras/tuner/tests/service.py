"""Runs priority-tuner, the tuner for servers in use, in tests."""

import ctypes
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priolab.extras.tuner.program import built
from tests.support.waiting import until

_IDS = re.compile(r"^(prog|map|link)_id:\s*(\d+)$", re.MULTILINE)
_BEGUN = "tuning "


@dataclass
class Tuner:
    """A running tuner. out, errors: the files with its output."""

    process: subprocess.Popen[bytes]
    out: Path
    errors: Path

    def said(self, text: str) -> None:
        """Wait until the tuner has said the text."""
        until(lambda: text in self.out.read_text() + self.errors.read_text(), f"it does not say {text}")

    def stop(self) -> None:
        """Stop all threads of the tuner until SIGCONT."""
        self.process.send_signal(signal.SIGSTOP)
        threads = Path(f"/proc/{self.process.pid}/task")
        until(lambda: all(") T " in (thread / "stat").read_text() for thread in threads.iterdir()))

    def end(self, number: signal.Signals = signal.SIGTERM) -> str:
        """End the tuner; return its last line. The exit code must be 0."""
        self.process.send_signal(number)
        assert self.process.wait(10) == 0, self.errors.read_text()
        return self.out.read_text().splitlines()[-1]

    def objects(self) -> set[tuple[str, int]]:
        """Return kind and id of the programs, maps and links that the tuner holds in the kernel."""
        found: set[tuple[str, int]] = set()
        for file in Path(f"/proc/{self.process.pid}/fdinfo").iterdir():
            with suppress(FileNotFoundError):
                found |= {(kind, int(number)) for kind, number in _IDS.findall(file.read_text())}
        return found


def answered(*words: str | Path) -> tuple[int, str, str]:
    """Run a command of the tuner to its end; return exit code, output and errors."""
    done = subprocess.run([built(), *words], capture_output=True, text=True, timeout=20, check=False)
    return done.returncode, done.stdout, done.stderr


def states(*tuner: Tuner) -> list[dict[str, Any]]:
    """Return what `status --json` says about all tuners, or about these."""
    code, out, errors = answered("status", "--json")
    assert (code, errors) == (3 if out == "[]\n" else 0, "")
    own = {number for each in tuner for kind, number in each.objects() if kind == "prog"}
    return [state for state in json.loads(out) if not tuner or state["program_id"] in own]


@contextmanager
def tuning(
    folder: Path, *words: str | Path, by: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Tuner]:
    """Start `priority-tuner run` and yield it once it tunes; kill it at the end. by: a program that starts it."""
    out, errors = folder / "tuner.out", folder / "tuner.errors"
    command = [*by, str(built()), "run", *map(str, words)]
    with (
        out.open("wb") as to,
        errors.open("wb") as also,
        subprocess.Popen(command, stdout=to, stderr=also, env={**os.environ, **(environment or {})}) as process,
    ):
        tuner = Tuner(process, out, errors)
        try:
            until(lambda: _BEGUN in out.read_text() or process.poll() is not None)
            assert process.poll() is None, errors.read_text()
            yield tuner
        finally:
            process.kill()


def still_there(objects: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return those of the objects that the kernel still has. The kernel frees them a little after their last use."""
    libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
    left = set()
    for kind, number in objects:
        descriptor = getattr(libbpf, f"bpf_{kind}_get_fd_by_id")(number)
        if descriptor >= 0:
            os.close(descriptor)
            left.add((kind, number))
    return left


def verified(unit: Path) -> None:
    """Have systemd check a unit."""
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def is_gone(objects: set[tuple[str, int]]) -> bool:
    """Return True if the kernel has none of the objects."""
    return not still_there(objects)
