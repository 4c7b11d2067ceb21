"""Tests of error messages of `priolab tune`, for root and for other users."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from priolab.experiments.cli import main
from priolab.experiments.commands import tune
from priolab.proxy.tuner import compiler, libbpf, userland
from priolab.proxy.tuner.tuner import CannotTune


@pytest.fixture(autouse=True, params=[0, 1000], ids=["root", "anybody"])
def user(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test as root and as another user."""
    monkeypatch.setattr(os, "geteuid", lambda: request.param)


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["tune", *words])
    return code, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target-delay", "50"], "--target-delay=50 is not allowed; allowed: a time from 1ms to 10s"),
        (["--target-delay", "0ms"], "--target-delay=0ms is not allowed; allowed: a time from 1ms to 10s"),
        (["--target-delay", "5000s"], "--target-delay=5000s is not allowed; allowed: a time from 1ms to 10s"),
        (["--floor", "1_000"], "--floor=1_000 is not allowed; allowed: 1 to 67108864 bytes"),
        (["--floor", "0"], "--floor=0 is not allowed; allowed: 1 to 67108864 bytes"),
        (["--floor", "many"], "--floor=many is not allowed; allowed: 1 to 67108864 bytes"),
        (["--ceiling", "0"], "--ceiling=0 is not allowed; allowed: 4096 (the floor) to 2147483647 bytes"),
        (["--ceiling", "many"], "--ceiling=many is not allowed; allowed: 4096 (the floor) to 2147483647 bytes"),
        (
            ["--floor", "9000", "--ceiling", "8999"],
            "--ceiling=8999 is not allowed; allowed: 9000 (the floor) to 2147483647 bytes",
        ),
        (["--port", "70000"], "--port=70000 is not allowed; allowed: 1 to 65535"),
        (["--port", ""], "--port= is not allowed; allowed: 1 to 65535"),
        (["--pid", "0"], "--pid=0 is not allowed; allowed: 1 to 4194304"),
        (["--pid", "99999999999"], "--pid=99999999999 is not allowed; allowed: 1 to 4194304"),
    ],
)
def test_words_that_are_not_allowed(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line that says what is allowed, with exit code 2."""
    assert _said(capsys, "--pid", "1", *words) == (2, f"priolab: {message}")


def test_no_such_process(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names a process that has ended."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    code, said = _said(capsys, "--pid", str(child))
    assert code == 1
    reason = f"there is no process {child}; name the server's first process"
    assert said == f"priolab: priolab tune cannot be used here: {reason}"


def test_a_process_of_somebody_elses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The error says which user may tune another user's process, and gives no other advice."""

    def refused(_: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(userland, "check_borrowing", refused)
    code, said = _said(capsys, "--pid", str(os.getpid()))
    assert code == 1
    assert said.endswith("(see ptrace(2)); run as the process's user, or as root with CAP_SYS_PTRACE")


def test_no_such_cgroup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names a folder that is missing, or is no cgroup."""
    for path in (tmp_path / "none", tmp_path):
        code, said = _said(capsys, "--cgroup", str(path))
        assert code == 2
        assert said.startswith(f"priolab: --cgroup={path} is not allowed; allowed: a folder of a cgroup2 hierarchy")


def test_a_cgroup_that_may_not_be_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is one line if the cgroup's folder cannot be read."""

    def refused(*_: object, **__: object) -> os.stat_result:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", refused)
        code, said = _said(capsys, "--cgroup", str(tmp_path))
    assert (code, said) == (1, f"priolab: tuning: {tmp_path}: Permission denied")


def test_a_log_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log that cannot be written is reported before anything is tuned."""
    code, said = _said(capsys, "--pid", str(os.getpid()), "--log", str(tmp_path))
    assert (code, said.endswith("cannot be written: Is a directory")) == (1, True)


def test_no_log_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If nothing can be tuned, no log file is created."""
    log = tmp_path / "log"
    for words in (["--pid", "0"], ["--cgroup", str(tmp_path)]):
        assert _said(capsys, *words, "--log", str(log))[0] == 2
    assert not log.exists()


@pytest.fixture
def cgroup(tmp_path: Path) -> Path:
    """Return a folder that looks like a cgroup."""
    (tmp_path / "cgroup.controllers").touch()
    return tmp_path


def test_no_compiler(cgroup: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the packages to install."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    code, said = _said(capsys, "--cgroup", str(cgroup))
    remedy = "install gcc-bpf and libbpf-dev, or use --pid for a server of your own"
    assert (code, said.endswith(f"no compiler for BPF is installed; {remedy}")) == (1, True)


def test_a_kernel_that_does_not_take_it(
    cgroup: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error gives the remedy if there is one, and always proposes `--pid`, the user-space tuner."""
    reasons = iter([CannotTune("it may not", "run as root"), CannotTune("it will not")])

    def refusing(*_: object, **__: object) -> None:
        raise next(reasons)

    monkeypatch.setattr(compiler, "compiled", lambda _: cgroup / "x.o")
    monkeypatch.setattr(tune, "InKernel", refusing)
    for said in ("it may not; run as root, or use --pid", "it will not; use --pid"):
        assert said in _said(capsys, "--cgroup", str(cgroup))[1]


def test_no_libbpf(
    cgroup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the missing library."""
    libbpf._library.cache_clear()
    monkeypatch.setattr(libbpf, "_LIBRARY", "libbpf.so.0.none")
    monkeypatch.setattr(compiler, "compiled", lambda _: tmp_path / "x.o")
    code, said = _said(capsys, "--cgroup", str(cgroup))
    assert (code, "libbpf.so.0.none is not installed" in said) == (1, True)


@pytest.mark.usefixtures("gcc")
def test_a_program_that_cannot_be_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the compiler's first error, and no incomplete file is left."""
    broken = tmp_path / "broken.c"
    broken.write_text("int f(void) { return none; }\n")
    monkeypatch.setattr(compiler, "command", lambda: ["gcc"])
    with pytest.raises(CannotTune, match=r"gcc failed: .*error"):
        compiler.compiled(tmp_path / "cache", (broken,))
    assert list((tmp_path / "cache").iterdir()) == []
