"""Tests of failures told in the words of the server that caused them."""

from pathlib import Path

import pytest

from priolab.common.errors import StepFailed
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.run.server_error import in_the_servers_words


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Return a run's folder with logs of the front that have some lines already."""
    made = RunFolder(tmp_path)
    made.front.mkdir()
    (made.front / "error.log").write_text("[notice] started\n[warn] an old error\n")
    (made.front / "output.log").write_text("")
    return made


def _fail(folder: RunFolder, wrote: dict[str, str], why: str, step: str = "the client") -> None:
    with in_the_servers_words(folder):
        for name, text in wrote.items():
            with (folder.path / name).open("a") as log:
                log.write(text)
        raise StepFailed(step, why, folder.client / "output.log")


def reason(folder: RunFolder, wrote: dict[str, str], why: str = "the stream was reset") -> tuple[str, Path | None]:
    """Return reason and log of a failure during which the front wrote lines to its logs."""
    with pytest.raises(StepFailed) as caught:
        _fail(folder, wrote, why)
    return caught.value.reason, caught.value.log


@pytest.mark.parametrize(
    ("line", "later"),
    [
        # One line of each kind of log: nginx, h2o, Apache, HAProxy, Caddy, Go, Node, nghttpx, a Python program.
        ("[info] 11#11: *3 client timed out (110: Connection timed out) while sending to client, client: ::1", ""),
        ('[crit] 11#11: *3 open() "/run/p/1" failed (13: Permission denied) while reading upstream', ""),
        ("[lib/core/proxy.c] in request:/script.js:I/O error (upstream)", ""),
        ("[Fri Jan 02] [http2:error] [pid 9] AH03069: stream 3: RST", "[mpm_event:notice] one more thread\n"),
        ("[ALERT]    (12) : Current worker (14) exited with code 139 (Segmentation fault)", ""),
        ('{"level":"error","msg":"aborting with incomplete response"}', '{"level":"info","msg":"serving"}\n'),
        ("panic: runtime error: index out of range [3] with length 3", "goroutine 1 [running]:\nmain.main()\n"),
        ("Error: ENOSPC: no space left on device, write", "    at Object.writeSync (node:fs:926:3)\n"),
        ("recv() failed (104: Connection reset by peer) while reading response header from upstream", ""),
        ("upstream prematurely closed connection while reading upstream", ""),
    ],
)
@pytest.mark.parametrize("log", ["front/error.log", "front/output.log"])
def test_the_last_line_about_an_error(folder: RunFolder, line: str, later: str, log: str) -> None:
    """The reason ends with the last line about an error since the step began, and the error names its log."""
    gone = "[info] client prematurely closed connection while processing HTTP/2 connection\n"
    told = reason(folder, {log: f"an earlier error\n{line}\n{later}{gone}"})
    assert told == (f"the stream was reset; the front said: {line}", folder.path / log)


def test_a_line_that_is_about_no_error(folder: RunFolder) -> None:
    """If no line looks like an error, the last line is quoted; a line in the other log that does precedes it."""
    assert reason(folder, {"front/output.log": "one\ntwo\n\n"})[0].endswith("; the front said: two")
    told, log = reason(folder, {"front/error.log": "three\n", "front/output.log": "it cannot go on\n"})
    assert told.endswith("; the front said: it cannot go on")
    assert log == folder.front / "output.log"


def test_the_second_front(folder: RunFolder) -> None:
    """With VIA the second front's logs count, too; those of the front come first."""
    folder.second.mkdir()
    lines = {"second/error.log": "no memory: fatal\n"}
    assert reason(folder, lines) == (
        "the stream was reset; the second front said: no memory: fatal",
        folder.second / "error.log",
    )
    assert "; the front said: an error" in reason(folder, lines | {"front/error.log": "an error\n"})[0]


@pytest.mark.parametrize(
    "wrote",
    [
        {},
        {"front/error.log": "client closed connection\nwrite: broken pipe\nhttp2: context canceled\n"},
        {"front/error.log": "SSL_write() failed (104: Connection reset by peer)\n"},
    ],
)
def test_nothing_relevant(folder: RunFolder, wrote: dict[str, str]) -> None:
    """Without new lines, or if they only say that the client has gone, the error stays as it is."""
    assert reason(folder, wrote) == ("the stream was reset", folder.client / "output.log")


@pytest.mark.parametrize("step", ["the origin", "the link", "the capture at the front"])
def test_what_a_front_only_notices(folder: RunFolder, step: str) -> None:
    """If another program fails, the error stays as it is: the front's words would be those of a consequence."""
    with pytest.raises(StepFailed) as caught:
        _fail(folder, {"front/error.log": "connect() failed (111: Connection refused)\n"}, "it ended", step)
    assert (caught.value.reason, caught.value.log) == ("it ended", folder.client / "output.log")


def test_nothing_twice(folder: RunFolder) -> None:
    """A line that the error has already is not quoted again."""
    why = "it was ended by SIGSEGV: fatal: no room"
    assert reason(folder, {"front/output.log": "fatal: no room\n"}, why)[0] == why
