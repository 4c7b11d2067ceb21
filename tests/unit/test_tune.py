"""`priolab tune`: what it says when it cannot."""

import os
import shutil
from pathlib import Path

import pytest

from experiments.cli import main
from proxy.tuner import compiler, libbpf
from proxy.tuner.tuner import CannotTune


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["tune", *words])
    return code, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target-delay", "50"], "--target-delay=50 is not allowed; allowed: a time such as 50ms"),
        (["--target-delay", "0ms"], "--target-delay=0ms is not allowed; allowed: a time such as 50ms"),
        (["--floor", "0"], "--floor=0 is not allowed; allowed: 1 to 67108864 bytes"),
        (["--floor", "many"], "--floor=many is not allowed; allowed: 1 to 67108864 bytes"),
        (["--port", "70000"], "--port=70000 is not allowed; allowed: 1 to 65535"),
    ],
)
def test_words_that_are_not_allowed(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, what is allowed, and the code for bad input."""
    assert _said(capsys, "--pid", "1", *words) == (2, f"priolab: {message}")


def test_no_such_process(capsys: pytest.CaptureFixture[str]) -> None:
    """A process that has ended."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    code, said = _said(capsys, "--pid", str(child))
    assert code == 1
    assert f"there is no process {child}; name the server's first process" in said


def test_no_such_cgroup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is not there, and one that is no cgroup."""
    for path in (tmp_path / "none", tmp_path):
        code, said = _said(capsys, "--cgroup", str(path))
        assert code == 2
        assert said.startswith(f"priolab: --cgroup={path} is not allowed; allowed: a folder of a cgroup2 hierarchy")


def test_a_log_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before anything is tuned."""
    code, said = _said(capsys, "--pid", "1", "--log", str(tmp_path))
    assert (code, said.endswith("cannot be written: Is a directory")) == (1, True)


@pytest.fixture
def cgroup(tmp_path: Path) -> Path:
    """What looks like one."""
    (tmp_path / "cgroup.controllers").touch()
    return tmp_path


def test_no_compiler(cgroup: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The remedy is named."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    code, said = _said(capsys, "--cgroup", str(cgroup))
    assert (code, "no compiler for BPF is installed" in said) == (1, True)


def test_no_libbpf(
    cgroup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library is named."""
    libbpf._library.cache_clear()
    monkeypatch.setattr(libbpf, "_LIBRARY", "libbpf.so.0.none")
    monkeypatch.setattr(compiler, "compiled", lambda _: tmp_path / "x.o")
    code, said = _said(capsys, "--cgroup", str(cgroup))
    assert (code, "libbpf.so.0.none is not installed" in said) == (1, True)


def test_a_program_that_cannot_be_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler's first error is the reason, and nothing half-made is left."""
    broken = tmp_path / "broken.c"
    broken.write_text("int f(void) { return none; }\n")
    monkeypatch.setattr(compiler, "_SOURCES", (broken,))
    monkeypatch.setattr(compiler, "command", lambda: ["gcc"])
    with pytest.raises(CannotTune, match=r"gcc failed: .*error"):
        compiler.compiled(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
