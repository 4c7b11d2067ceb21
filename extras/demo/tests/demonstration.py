"""The demo as its user starts it, on a free port."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.lab import Lab

_BEGIN_S = 60.0
_END_S = 60.0
_TICK_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A running demo. address: the URL that it printed, but of Explore; log: its output."""

    lab: Lab
    process: subprocess.Popen[bytes]
    address: str
    log: Path

    @property
    def origin(self) -> str:
        """Return the URL without path and token."""
        return self.address.partition("/?")[0]

    @property
    def token(self) -> str:
        """Return the token, which every request needs."""
        return self.address.partition("#")[2]

    @property
    def port(self) -> int:
        """Return the port on 127.0.0.1."""
        return int(self.origin.rpartition(":")[2])

    def experiments(self) -> set[str]:
        """Return the names of the experiments in the results folder."""
        files = self.lab.results.glob("*/experiment.json")
        return {file.parent.name for file in files if not file.parent.is_symlink()}

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to the demo. Return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(_END_S)


@contextmanager
def demonstration(lab: Lab, *words: str, idle: bool = True, begin_s: float = _BEGIN_S) -> Iterator[Demo]:
    """Start the demo. Stop it at the end of the block, unless the block has ended it.

    idle: False to let the demo run arms beforehand. begin_s: the time that it may take to print its address.
    """
    log = lab.root / "demo.log"
    command = [sys.executable, "-m", "priolab.experiments", "demo", "--port", "0", "--no-browser"]
    command += ["--idle"] if idle else []
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, f"RESULTS={lab.results}", *words],
            env=lab.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Demo(lab=lab, process=process, address=_address(process, log, begin_s), log=log)
        if process.poll() is None:
            process.terminate()
            code = process.wait(_END_S)
            assert code == 128 + signal.SIGTERM, log.read_text()
    finally:
        process.kill()
        process.wait()


def _address(process: subprocess.Popen[bytes], log: Path, begin_s: float) -> str:
    end = time.monotonic() + begin_s
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"^open (http://\S+)\n", log.read_text(), re.MULTILINE):
            return found[1].replace("/#", "/?explore#")
        time.sleep(_TICK_S)
    raise AssertionError(log.read_text())
