"""`priolab sandbox` at a terminal: a shell in the guest, whose clock stands still while it waits for keys."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from priolab.common.descriptors import process_ids
from tests.support.endings import words_of
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("guest")

_COMMAND = (sys.executable, "-m", "priolab.experiments", "sandbox")
_PROMPT = r"> "
_SHELL = ("--env", f"PS1={_PROMPT}", "--", "bash", "--norc", "--noediting")
_NS = 10**9
_WAITS = """
import select, subprocess, sys, time
with subprocess.Popen(["sh", "-c", "sleep 0.8; echo other"], stdout=subprocess.PIPE) as other:
    assert select.select([0, other.stdout], [], [])[0] == [other.stdout]
begun = time.monotonic()
print("other", flush=True)
select.select([0], [], [], 5)
print(time.monotonic() - begun)
"""


class Session:
    """A session, seen from the terminal's other side. temporary: the command's TMPDIR."""

    def __init__(self, folder: Path, temporary: Path, *words: str) -> None:
        """Start the command in the folder, at a terminal of its own."""
        self.temporary = temporary
        self._text = ""
        self._own, self._its = os.openpty()
        self.resize(30, 100)
        self._before = termios.tcgetattr(self._its)
        self.process = subprocess.Popen(
            [*_COMMAND, *words],
            cwd=folder,
            env=os.environ | {"TMPDIR": str(temporary), "TERM": "vt100"},
            stdin=self._its,
            stdout=self._its,
            stderr=self._its,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    @property
    def processes(self) -> list[int]:
        """The processes of the session's guest, and those that look after it."""
        return [pid for pid in process_ids() if str(self.temporary) in words_of(pid)]

    def close(self) -> None:
        """End the command, if it runs, and close the terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self._own)
        os.close(self._its)

    def resize(self, rows: int, columns: int) -> None:
        """Change the window's size."""
        fcntl.ioctl(self._its, termios.TIOCSWINSZ, struct.pack("=HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._own, keys.encode())

    def reads(self, pattern: str, limit_s: float = 60.0) -> str:
        """Return the text up to the pattern's match, when it has appeared."""
        end_s = time.monotonic() + limit_s
        while (found := re.search(pattern, self._text)) is None:
            assert select.select([self._own], [], [], max(0.0, end_s - time.monotonic()))[0], self._text
            self._text += os.read(self._own, 65_536).decode(errors="replace")
        text, self._text = self._text[: found.end()], self._text[found.end() :]
        return text

    def answers(self, line: str) -> str:
        """Give the shell a line, and return what comes before its next prompt."""
        self.type(f"{line}; echo '<'\n")
        return self.reads(rf"(?s)\n.*<\r\n{_PROMPT}").partition("\n")[2].partition("<\r")[0].strip()

    def clock_ns(self) -> int:
        """Return the guest's time."""
        return int(self.answers("date +%s%N"))

    def ends(self) -> int:
        """Return the exit code, when the terminal is as it was before, and nothing is left."""
        code = self.process.wait(60)
        assert termios.tcgetattr(self._its) == self._before
        until(lambda: not list(self.temporary.iterdir()) and not self.processes)
        return code


@contextmanager
def _session(tmp_path: Path, *words: str) -> Iterator[Session]:
    folder, temporary = tmp_path / "here", tmp_path / "tmp"
    for each in (folder, temporary):
        each.mkdir(exist_ok=True)
    session = Session(folder, temporary, *words)
    try:
        yield session
    finally:
        session.close()


@pytest.mark.needs("curl")
def test_a_shell(tmp_path: Path) -> None:
    """The clock stands still while the shell waits, and jumps over what a command waits for; background jobs go on
    with it. The window's size and the exit code are passed on.
    """
    server = f"{sys.executable} -m http.server 80"
    with _session(tmp_path, "DELAY=20ms", "--server", server, *_SHELL) as session:
        session.reads(_PROMPT)
        assert session.answers("tty; stty size; echo $TERM").split() == ["/dev/pts/0", "30", "100", "vt100"]
        session.resize(40, 120)
        time.sleep(1)
        assert session.answers("stty size") == "40 120"
        before_ns = session.clock_ns()
        assert session.answers("(sleep 1; echo ticked; sleep 1; echo tocked) & :").startswith("[1]")
        time.sleep(2)
        assert session.clock_ns() - before_ns < _NS // 10
        assert "ticked" in session.answers("sleep 1.5")
        begun_s = time.monotonic()
        assert "tocked" in session.answers("sleep 1000")
        assert time.monotonic() - begun_s < 20
        assert 1001 * _NS < session.clock_ns() - before_ns < 1002 * _NS
        took_s = session.answers("curl -s -o /dev/null -w '%{time_total}' http://server/ || echo 0")
        assert 0.02 < float(took_s) < 0.06
        session.type("exit 7\n")
        assert session.ends() == 7


def test_keys_that_send_signals(tmp_path: Path) -> None:
    """Ctrl-C ends what waits, what writes, and what computes without end; Ctrl-Z and Ctrl-\\ arrive, too.

    The line of what computes may be seen with the Ctrl-C only (docs/reference/sandbox.md, Limits).
    """
    with _session(tmp_path, *_SHELL) as session:
        session.reads(_PROMPT)
        for endless in ("while :; do sleep 1; done", "yes", f"{sys.executable} -c 'while True: pass'"):
            session.type(f"{endless}\n")
            time.sleep(3)
            session.type("\x03")
            session.reads(rf"\^C(?s:.*){_PROMPT}")
        session.type("cat\n")
        time.sleep(2)
        session.type("\x1a")
        session.reads(rf"Stopped(?s:.*){_PROMPT}")
        session.type("fg\n")
        time.sleep(2)
        session.type("\x1c")
        session.reads(rf"Quit(?s:.*){_PROMPT}")
        session.type("\x04")
        assert session.ends() == 128 + signal.SIGQUIT


def test_a_program_that_waits_for_more_than_the_terminal(tmp_path: Path) -> None:
    """It has a second for what else it waits for; then the clock stands still, as for a program that reads."""
    with _session(tmp_path, "--", sys.executable, "-c", _WAITS) as session:
        session.reads("other\r\n")
        time.sleep(3)
        session.type("\n")
        assert 1.0 < float(session.reads(r"\d\.\d+\r\n").strip()) < 1.2
        assert session.ends() == 0


def test_a_long_paste(tmp_path: Path) -> None:
    """More keys arrive than any buffer on the way holds."""
    lines = "".join(f"{number:063d}\n" for number in range(2000))
    with _session(tmp_path, "--", "sh", "-c", "stty -echo; echo ready; cat > pasted") as session:
        session.reads("ready")
        for at in range(0, len(lines), 1000):
            session.type(lines[at : at + 1000])
        session.type("\x04")
        assert session.ends() == 0
        assert (tmp_path / "here/pasted").read_text() == lines


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_lab_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    """A signal to the lab ends it in one line; the terminal is as it was, and nothing is left."""
    with _session(tmp_path, *_SHELL) as session:
        session.reads(_PROMPT)
        session.process.send_signal(number)
        assert session.ends() == 128 + number


def test_the_lab_is_killed(tmp_path: Path) -> None:
    """After kill -9 the guest that stands still, its supervisor and their folders go within seconds."""
    with _session(tmp_path, *_SHELL) as session:
        session.reads(_PROMPT)
        assert session.processes
        session.process.kill()
        until(lambda: not list(session.temporary.iterdir()) and not session.processes)


def test_ctrl_c_before_the_client_begins(tmp_path: Path) -> None:
    """Until then it ends the command."""
    with _session(tmp_path, "--server", f"{sys.executable} -c 'while True: pass'", *_SHELL) as session:
        until(lambda: session.processes)
        time.sleep(2)
        session.type("\x03")
        assert session.ends() == 128 + signal.SIGINT


@pytest.mark.usefixtures("netns")
def test_a_terminal_on_a_real_clock(tmp_path: Path) -> None:
    """It is one like any other."""
    with _session(tmp_path, "FABRIC=netns", *_SHELL) as session:
        session.reads(_PROMPT)
        assert session.answers("tty").startswith("/dev/pts/")
        session.type("sleep 1000\n")
        time.sleep(1)
        session.type("\x03")
        session.reads(_PROMPT)
        session.type("exit 7\n")
        assert session.ends() == 7
