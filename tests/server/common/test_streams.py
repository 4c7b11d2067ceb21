"""Commands whose standard streams are closed, full or odd, and Ctrl-C while a command starts: no traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

_PRIOLAB = str(Path(sys.executable).with_name("priolab"))
_LIST, _REFUSED, _FAILED, _SHOWN = ("list",), ("run", "LOWAT=x"), ("show", "nothing"), ("--version",)
_FULL = "priolab: writing: No space left on device; nothing was kept"
_WAYS = {
    "<&-": {_LIST: 0, _REFUSED: 2, _FAILED: 1, _SHOWN: 0},
    ">&-": {_LIST: 0, _REFUSED: 2, _FAILED: 1, _SHOWN: 0},
    "2>&-": {_LIST: 0, _REFUSED: 2, _FAILED: 1, _SHOWN: 0},
    "<&- >&- 2>&-": {_LIST: 0, _REFUSED: 2, _FAILED: 1, _SHOWN: 0},
    ">/dev/full": {_LIST: 1, _REFUSED: 2, _FAILED: 1, _SHOWN: 1},
    "2>/dev/full": {_LIST: 0, _REFUSED: 2, _FAILED: 1, _SHOWN: 0},
    ">/dev/full 2>/dev/full": {_LIST: 1, _REFUSED: 2, _FAILED: 1, _SHOWN: 1},
}
"""What a shell may do with the streams, and the exit code of each command then."""

_ODD_SURROUNDINGS = (
    {"LC_ALL": "C", "HOME": "relative", "XDG_CACHE_HOME": "relative"},
    {"LC_ALL": "tr_TR.ISO-8859-9", "LANG": "xx"},
    {"PYTHONIOENCODING": "ascii"},
    {"HOME": "/nonexistent"},
    {"HOME": ""},
    {"HOME": "/dev/null"},
    {"XDG_CACHE_HOME": "/dev/null"},
    {"TMPDIR": "/nonexistent"},
    {"PATH": ""},
    {"TERM": "\udcff", "COLUMNS": "9" * 30, "LINES": "-1", "FORCE_COLOR": "1"},
    {"PRIOLAB_KNOBS": "\udcff=1"},
    {"PRIOLAB_KERNEL": "\udcff"},
)
_TIMES, _STARTS_S = 24, 0.12


def _ended(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("way", _WAYS)
def test_streams_that_are_closed_or_full(way: str) -> None:
    """Each command ends with its code; if its output is lost for want of space, with 1 and one line."""
    for words, code in _WAYS[way].items():
        done = _ended(f"{_PRIOLAB} {' '.join(words)} {way}")
        assert done.returncode == code, (words, done)
        assert len(done.stderr.splitlines()) <= 1, (words, done)
        if code == 1 and words in (_LIST, _SHOWN):
            assert done.stderr.rstrip() == ("" if "2>" in way else _FULL)


def test_a_reader_that_has_gone() -> None:
    """A command whose output nobody reads ends with the code of SIGPIPE, and says nothing."""
    for words in (_SHOWN, ("run", "--help")):
        done = _ended(f"({_PRIOLAB} {' '.join(words)}; echo $? >&2) | true")
        assert done.stderr.strip() in ("141", "0"), (words, done)  # 0: it was sooner than the end of its reader
    slow = _ended(f"(sleep 0.5; {_PRIOLAB} list; echo $? >&2) | true")
    assert slow.stderr.strip() == "141"


@pytest.mark.parametrize("way", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_file_of_the_labs(tmp_path: Path, way: str) -> None:
    """What a command writes to a closed stream gets into no file that it opens."""
    document = tmp_path / "trace"
    done = _ended(f"{_PRIOLAB} trace make lte {document} {way}")
    assert done.returncode == 0
    assert all(line.isdigit() for line in document.read_text().splitlines())


@pytest.mark.parametrize("words", [("list",), ("sandbox", "--", "true")], ids=" ".join)
def test_ctrl_c_while_a_command_starts(words: tuple[str, ...]) -> None:
    """Whenever SIGINT comes, the command says at most one line, without a traceback."""
    codes = set()
    for number in range(_TIMES):
        with subprocess.Popen(
            [_PRIOLAB, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as command:
            time.sleep(number * _STARTS_S / _TIMES)
            command.send_signal(signal.SIGINT)
            said = command.communicate(timeout=60)[1]
        codes.add(command.returncode)
        assert len(said.splitlines()) <= 1, said
        assert command.returncode in (-signal.SIGINT, 128 + signal.SIGINT, 0), said
        if command.returncode > 0:
            assert said.startswith("priolab: interrupted by SIGINT; "), said
    assert 128 + signal.SIGINT in codes


@pytest.mark.parametrize("variables", _ODD_SURROUNDINGS, ids=ascii)
def test_odd_surroundings(variables: dict[str, str]) -> None:
    """An odd locale, home or cache makes no command end with a traceback."""
    for words in ("show nothing", "run LOWAT=\udcff"):
        done = _ended(f"{_PRIOLAB} {words} </dev/null", **variables)
        assert "Traceback" not in done.stderr, (words, done.stderr)
        assert done.returncode in (0, 1, 2), (words, done)
        if done.returncode:
            assert len(done.stderr.splitlines()) == 1, (words, done.stderr)


@pytest.mark.needs("root")
def test_a_user_without_a_home_and_folders_that_nobody_may_read(tmp_path: Path) -> None:
    """A user whom no file lists, whose current folder and home cannot be read, gets one line."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "page.toml").write_text("")
    tmp_path.chmod(0o755)
    become = "setpriv --reuid=12345 --regid=12345 --clear-groups env -u HOME"
    for words in ("list", f"show {closed}", f"run PAGE={closed}/page.toml", f"list RESULTS={closed} LOWAT=none,1"):
        done = _ended(f"cd / && {become} {_PRIOLAB} {words} </dev/null")
        assert "Traceback" not in done.stderr, (words, done.stderr)
        assert len(done.stderr.splitlines()) == bool(done.returncode), (words, done.stderr)
