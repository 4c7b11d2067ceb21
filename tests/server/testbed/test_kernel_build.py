"""Tests of the build of a guest kernel from a source of three files: it resumes, and it fails with one line."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from priolab.common.errors import StepFailed
from priolab.testbed.guest import kernel, kernel_build, kernel_source
from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("gcc")

# Compiles a, b, and c, one after the other, and waits before c as long as the file `wait` exists.
_MAKEFILE = """VERSION = 7
PATCHLEVEL = 2
SUBLEVEL = 99
allnoconfig:
	@cp $(KCONFIG_ALLCONFIG) .config
prepare:
	@true
linux: a.o b.o c.o
	@echo '  LD      linux' && cp /bin/true linux
c.o: a.o
%.o: %.c
	@{ [ $@ = c.o ] || cp $< $@; } && echo '  CC      $@'
	@[ $@ != c.o ] || { while [ -e $(WAIT) ]; do sleep 0.1; done; cp $< $@; }
"""
_CHANGE = Change(name="a change", effect=Effect.SPEED, wordings=((Edit("a.c", "one", "two"),),))
_LACKING = Change(name="another", effect=Effect.SPEED, wordings=((Edit("a.c", "nowhere", ""),),))


@pytest.fixture
def tarball(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a kernel source archive. The cache is empty, and one of the two patches fits the source."""
    tree = tmp_path / "linux-7.2.99"
    tree.mkdir()
    (tree / "Makefile").write_text(_MAKEFILE.replace("$(WAIT)", str(tmp_path / "wait")))
    for name in "abc":
        (tree / f"{name}.c").write_text("one\n")
    (tree / "large.bin").write_bytes(os.urandom(2**16))
    (tree / "Documentation/deep").mkdir(parents=True)
    (tree / "Documentation/deep/long.rst").write_text("nobody compiles this\n")
    packed = tmp_path / "linux-7.2.99.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        archive.add(tree, tree.name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(kernel_source.VARIABLE, str(packed))
    monkeypatch.setattr(kernel, "CHANGES", (_CHANGE, _LACKING))
    monkeypatch.setattr(kernel_build, "_POLL_S", 0.05)
    return packed


def _cache(tarball: Path) -> Path:
    return tarball.parent / "cache" / "priolab"


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "build.lock")


class _Told:
    """A record of the build's progress. trouble: an exception to raise while the kernel is compiled."""

    def __init__(self, trouble: BaseException | None = None) -> None:
        self.steps: list[str] = []
        self.fractions: list[float] = []
        self._trouble = trouble

    def __call__(self, step: str, fraction: float, left_s: float | None) -> None:
        assert left_s is None or left_s >= 0
        self.steps.append(step)
        self.fractions.append(fraction)
        if self._trouble and step == "compiling" and fraction > 0.6:
            raise self._trouble


def test_a_kernel_and_its_record(tarball: Path) -> None:
    """The record has the version, the patches in force, and those that did not fit. No source tree is left."""
    told = _Told()
    built = kernel.build(told)
    record = kernel.record()
    assert record is not None
    assert built == kernel.path()
    assert (record.version, record.changes, record.lacking) == ("7.2.99", ["a change"], ["another"])
    assert record.source == tarball.name
    assert list(dict.fromkeys(told.steps))[:3] == ["unpacking", "configuring", "counting the files to compile"]
    assert told.fractions == sorted(told.fractions)
    assert _files(_cache(tarball) / "build") == []
    assert _files(_cache(tarball)) == ["build", "kernel-build.log", built.name, f"{built.name}.json"]


def test_an_interrupted_build_goes_on(tarball: Path) -> None:
    """An interrupted build leaves no finished kernel, and the next build compiles no file twice."""
    wait = tarball.with_name("wait")
    wait.touch()
    with pytest.raises(KeyboardInterrupt):
        kernel.build(_Told(KeyboardInterrupt()))
    assert not kernel.is_built()
    (tree,) = (_cache(tarball) / "build").iterdir()
    assert (tree / "a.o").read_text() == "two\n"
    assert not (tree / "Documentation/deep/long.rst").exists()
    wait.unlink()
    told = _Told()
    kernel.build(told)
    assert kernel.is_built()
    assert told.steps[0] == "counting the files to compile"
    log = (_cache(tarball) / "kernel-build.log").read_text()
    assert "CC      c.o" in log
    assert "CC      a.o" not in log


def test_a_killed_build_goes_on(tarball: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build removes the remains of a build killed while it unpacked, and the source tree of an older recipe."""
    for name in (f"{kernel.path().name}.partial", "linux-6.1-0"):
        (_cache(tarball) / "build" / name).mkdir(parents=True)
    kernel.build(_Told())
    assert _files(_cache(tarball) / "build") == []
    monkeypatch.setattr(kernel, "CHANGES", (_CHANGE,))
    assert not kernel.is_built()


def test_a_build_whose_lab_is_killed(tarball: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After kill -9 of the lab no make and no compiler goes on in the tree that the next build uses."""
    tarball.with_name("wait").touch()
    monkeypatch.setattr(kernel, "CHANGES", ())
    code = "from priolab.testbed.guest import kernel; kernel.CHANGES = (); kernel.build(lambda *_: None)"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as lab:
        until(lambda: _at_work(tarball) >= 2, "make and its shell", limit_s=30)
        lab.kill()
    until(lambda: not _at_work(tarball), "they go on", limit_s=10)
    tarball.with_name("wait").unlink()
    kernel.build(_Told())
    assert kernel.is_built()


def _at_work(tarball: Path) -> int:
    """Return the number of processes whose working folder is in the build's folder."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += (process / "cwd").readlink().is_relative_to(_cache(tarball) / "build")
    return found


@pytest.mark.usefixtures("tarball")
@pytest.mark.parametrize("damage", ["cut off", "changed", "without a record"])
def test_a_kernel_that_was_damaged_is_built_anew(damage: str) -> None:
    """A kernel whose digest is another than that of its build does not count as built."""
    file = kernel.build(_Told())
    if damage == "without a record":
        file.with_name(f"{file.name}.json").unlink()
    else:
        content = file.read_bytes()
        file.write_bytes(content[:-1] if damage == "cut off" else content[:-1] + bytes([content[-1] ^ 1]))
    assert not kernel.is_built()
    kernel.build(_Told())
    assert kernel.is_built()


def _fails(tarball: Path, pattern: str) -> None:
    with pytest.raises(StepFailed, match=pattern):
        kernel.build(_Told())
    assert not kernel.is_built()
    build_folder = _cache(tarball) / "build"
    assert not build_folder.exists() or _files(build_folder) == []


def test_a_change_that_decides_results_must_fit(tarball: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch that affects results must fit: a kernel without it would give other figures without a message."""
    lacking = Change(name="the clock", effect=Effect.RESULT, wordings=_LACKING.wordings)
    monkeypatch.setattr(kernel, "CHANGES", (lacking,))
    _fails(tarball, r"Linux 7\.2 has other lines than the change 'the clock' expects; .*MIRROR=.*KERNEL=")


def test_a_source_that_does_not_fit_is_unpacked_once_and_not_to_the_end(
    tarball: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that decides results is checked as soon as its files are unpacked. A second build reports the same."""
    tree = tarball.with_name("linux-7.2.99")
    (tree / "later").mkdir()
    for number in range(1000):
        (tree / "later" / f"{number:04}").write_bytes(os.urandom(2**12))
    with tarfile.open(tarball, "w:xz", preset=0) as archive:
        archive.add(tree, tree.name)
    lacking = Change(name="the clock", effect=Effect.RESULT, wordings=_LACKING.wordings)
    monkeypatch.setattr(kernel, "CHANGES", (lacking,))
    told = _Told()
    with pytest.raises(StepFailed, match="the change 'the clock' expects"):
        kernel.build(told)
    assert told.steps[-1] == "unpacking"
    assert told.fractions[-1] < kernel_build._CONFIGURING
    again = _Told()
    with pytest.raises(StepFailed, match="the change 'the clock' expects"):
        kernel.build(again)
    assert again.steps == []
    monkeypatch.setattr(kernel, "CHANGES", (_CHANGE,))
    assert kernel.build(again) == kernel.path()


@pytest.mark.parametrize(
    ("program", "text", "pattern"),
    [
        (
            "gcc",
            "echo 'error: no compiler today' >&2; exit 1",
            "gcc cannot compile a program of one line: error: no com",
        ),
        (
            "make",
            "echo 'make: *** no rule today' >&2; exit 2",
            r"make ARCH=um .* ended with exit code 2: make: \*\*\* no rule today",
        ),
    ],
)
def test_what_fails_is_told(
    tarball: Path, monkeypatch: pytest.MonkeyPatch, program: str, text: str, pattern: str
) -> None:
    """The error names the failed step, its first error, and the log. No kernel and no source tree are left."""
    folder = tarball.with_name("bin")
    folder.mkdir()
    (folder / program).write_text(f"#!/bin/sh\n{text}\n")
    (folder / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    _fails(tarball, rf"{pattern}.*\(log: .*kernel-build\.log\)$")


def test_what_is_not_installed_is_told(tarball: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing programs and the packages to install are named before anything is downloaded or unpacked."""
    monkeypatch.setattr(kernel_build, "_TOOLS", ("gcc", "no-such-tool"))
    _fails(tarball, "not installed: no-such-tool; install: gcc make flex bison bc xz-utils libc6-dev")


def test_a_source_that_is_none(tarball: Path) -> None:
    """The error is that of tar if the source is no archive."""
    tarball.write_bytes(b"no archive\n" * 1000)
    _fails(tarball, r"tar -x .* ended with exit code 2: .*File format not recognized")


def _in_a_small_cache(tarball: Path, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    mount = f'mount -t tmpfs -o size=16k none {tarball.parent}/cache && exec "$@"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "-", *words], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.needs("root")
def test_a_full_disk(tarball: Path) -> None:
    """A full disk causes one line of error and exit code 1."""
    (tarball.parent / "cache").mkdir()
    done = _in_a_small_cache(tarball, [str(Path(sys.executable).with_name("priolab")), "kernel"])
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert "No space left on device" in line
