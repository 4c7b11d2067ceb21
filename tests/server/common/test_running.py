"""Tests of programs that run until they end: their output, their limit of time, and the end of their children."""

import sys
import time
from pathlib import Path

import pytest

from priolab.common.running import CannotStart, ProgramFailed, TookTooLong, finished, piped

_SOON_S = 5.0
_PARENT = "sleep 60 & echo $! >{file}; echo begun; wait"


def _has_ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def _child(file: Path) -> int:
    """Return the id of the child that `_PARENT` has started, once this child has ended."""
    pid, end_s = int(file.read_text()), time.monotonic() + _SOON_S
    while not _has_ended(pid):
        assert time.monotonic() < end_s, f"process {pid} still runs"
        time.sleep(0.01)
    return pid


def test_the_output_of_a_program(tmp_path: Path) -> None:
    """Output and errors are text, apart or merged. The program has its own input, folder and environment."""
    script = "cat; pwd; echo $NAME; printf '\\377' >&2; exit 3"
    done = finished(["sh", "-c", script], 10, text_in="in\n", folder=tmp_path, environment={"NAME": "value"})
    assert (done.program, done.code, done.out) == ("sh", 3, f"in\n{tmp_path}\nvalue\n")
    assert done.errors == "\ufffd"
    merged = finished(["sh", "-c", "echo one; echo two >&2; cat"], None, merges=True)
    assert (merged.code, merged.out, merged.errors) == (0, "one\ntwo\n", "")
    assert merged.checked() is merged


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo out; echo first >&2; echo last >&2; exit 3", "sh ended with exit code 3: last"),
        ("echo out; exit 3", "sh ended with exit code 3: out"),
        ("kill -KILL $$", "sh ended with exit code -9"),
    ],
)
def test_a_program_that_fails(script: str, text: str) -> None:
    """The error has the program's last line."""
    with pytest.raises(ProgramFailed) as caught:
        finished(["sh", "-c", script], 10).checked()
    assert str(caught.value) == text


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    """The error names the program and the reason."""
    with pytest.raises(CannotStart, match=r"^no-such-program is not installed$"):
        finished(["no-such-program"], 10)
    with pytest.raises(CannotStart, match=f"^{tmp_path}: Permission denied$"):
        finished([str(tmp_path)], 10)


def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    """The child ends, too, also if it alone holds the output open."""
    for script in (_PARENT, "sleep 60 & echo $! >{file}"):
        began_s, file = time.monotonic(), tmp_path / "child"
        with pytest.raises(TookTooLong, match=r"^sh took more than 0\.3 s$"):
            finished(["sh", "-c", script.format(file=file)], 0.3)
        assert time.monotonic() - began_s < _SOON_S
        assert _child(file)


def test_an_interruption_ends_a_program_with_its_children(tmp_path: Path) -> None:
    """`look` is called while the program runs; its exception ends the program."""
    file, looks = tmp_path / "child", []

    def look() -> None:
        looks.append(file.read_text())
        if len(looks) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finished(["sh", "-c", _PARENT.format(file=file)], 60, text_in="", look=look)
    assert _child(file)


def test_a_limit_holds_while_somebody_looks() -> None:
    """A program that is looked at has the same limit."""
    with pytest.raises(TookTooLong, match=r"^sleep took more than 0\.6 s$"):
        finished(["sleep", "60"], 0.6, look=lambda: None)


@pytest.mark.parametrize(
    ("first", "second", "code", "out"),
    [
        ("echo text", "cat", 0, "text\n"),
        ("echo text; exit 3", "cat", 3, "text\n"),
        ("yes", "head -n 1; echo last >&2; exit 4", 4, "y\n"),
    ],
)
def test_two_programs_in_a_pipe(first: str, second: str, code: int, out: str) -> None:
    """The second reads what the first writes. The exit code shows if either has failed."""
    done = piped(["sh", "-c", first], ["sh", "-c", second], 10)
    assert (done.code, done.out) == (code, out)


def test_a_pipe_that_takes_too_long() -> None:
    """Both programs are ended."""
    began_s = time.monotonic()
    with pytest.raises(TookTooLong):
        piped(["sleep", "60"], ["cat"], 0.3)
    with pytest.raises(CannotStart):
        piped([sys.executable, "-c", "import time; time.sleep(60)"], ["no-such-program"], 10)
    assert time.monotonic() - began_s < _SOON_S
