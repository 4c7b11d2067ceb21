"""Tests of programs that run until they end: their output, their limit of time, and the end of their children."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from priolab.common.running import CannotStart, ProgramFailed, TookTooLong, finished, piped
from tests.support.waiting import until

_PARENT = "sleep 60 & echo $! >child; wait"
_LEAVING = "sleep 60 & echo $! >child"


def _child_has_ended(folder: Path) -> bool:
    state = Path("/proc", (folder / "child").read_text().strip(), "status")
    return not state.exists() or "State:\tZ" in state.read_text()


def _shell(script: str) -> Sequence[str]:
    return ["sh", "-c", script]


def test_the_output_of_a_program(tmp_path: Path) -> None:
    """Output and errors are text, apart or merged. The program has its own input, folder and environment."""
    script = "cat; pwd; echo $NAME; printf '\\377' >&2; exit 3"
    done = finished(_shell(script), 10, text_in="in\n", folder=tmp_path, environment={"NAME": "value"})
    assert (done.program, done.code, done.out, done.errors) == ("sh", 3, f"in\n{tmp_path}\nvalue\n", "\ufffd")
    merged = finished(_shell("echo one; echo two >&2; cat"), None, merges=True)
    assert (merged.checked().out, merged.errors) == ("one\ntwo\n", "")


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
        finished(_shell(script), 10).checked()
    assert str(caught.value) == text


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    """The error names the program and the reason."""
    with pytest.raises(CannotStart, match=r"^no-such-program is not installed$"):
        finished(["no-such-program"], 10)
    with pytest.raises(CannotStart, match=f"^{tmp_path}: Permission denied$"):
        finished([str(tmp_path)], 10)


@pytest.mark.parametrize("script", [_PARENT, _LEAVING])
@pytest.mark.parametrize("looks", [False, True])
def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path: Path, script: str, *, looks: bool) -> None:
    """The child ends, too, even if it alone holds the output open."""
    with pytest.raises(TookTooLong, match=r"^sh took more than 0\.6 s$"):
        finished(_shell(script), 0.6, folder=tmp_path, look=(lambda: None) if looks else None)
    until(lambda: _child_has_ended(tmp_path))


def test_an_interruption_ends_a_program_with_its_children(tmp_path: Path) -> None:
    """`look` is called while the program runs; its exception ends the program."""

    def look() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finished(_shell(_PARENT), 60, text_in="", folder=tmp_path, look=look)
    until(lambda: _child_has_ended(tmp_path))


@pytest.mark.parametrize(
    ("first", "second", "code", "out"),
    [
        ("echo text", "cat", 0, "text\n"),
        ("echo text; exit 3", "cat", 3, "text\n"),
        ("yes", "head -n 1; exit 4", 4, "y\n"),
    ],
)
def test_two_programs_in_a_pipe(first: str, second: str, code: int, out: str) -> None:
    """The second reads what the first writes. The exit code shows if either has failed."""
    done = piped(_shell(first), _shell(second), 10)
    assert (done.code, done.out) == (code, out)


@pytest.mark.parametrize(("second", "error"), [("cat", TookTooLong), ("no-such-program", CannotStart)])
def test_a_pipe_whose_second_program_fails_to_end(second: str, error: type[ProgramFailed]) -> None:
    """The first program is ended, too."""
    with pytest.raises(error):
        piped(["sleep", "60"], [second], 0.3)
