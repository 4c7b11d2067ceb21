"""Which built kernel serves, and how programs enter it."""

import dataclasses
from pathlib import Path

import pytest

from experiments.testbed.guest import kernel, kernel_source
from experiments.testbed.guest.kernel import BuildRecord
from experiments.testbed.guest.kernel_patches.edit import Version
from experiments.testbed.guest.kernel_source import SourceChoice
from experiments.testbed.guest.virtual import Virtual

_RECORD = BuildRecord(
    version="7.2.13", source="linux-7.2.13.tar.xz", compiler="gcc 12", changes=["one"], lacking=[], stands_in=False
)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(kernel_source.VARIABLE, raising=False)
    (tmp_path / "priolab").mkdir()
    return tmp_path / "priolab"


def _built(version: Version, *, stands_in: bool = False) -> Path:
    file = kernel._file(SourceChoice(version=version))
    file.touch()
    kernel._write(file, dataclasses.replace(_RECORD, version=f"{kernel_source.words(version)}.9", stands_in=stands_in))
    return file


def test_a_kernel_without_its_record_is_not_there(folder: Path) -> None:
    """A build that was killed between the two never looks finished."""
    file = kernel.path()
    assert file.parent == folder
    assert not kernel.is_built()
    file.touch()
    assert not kernel.is_built()
    kernel._write(file, _RECORD)
    assert kernel.is_built()
    assert kernel.record() == _RECORD


@pytest.mark.usefixtures("folder")
def test_another_kernel_serves_only_as_a_stand_in() -> None:
    """One that was asked for by name is not taken for the pinned one; a stand-in is, until that is built."""
    _built((6, 12))
    assert not kernel.is_built()
    stand_in = _built((6, 1), stands_in=True)
    assert kernel.path() == stand_in
    pinned = _built(kernel_source.PINNED)
    assert kernel.path() == pinned


@pytest.mark.usefixtures("folder")
def test_a_version_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment variable."""
    _built(kernel_source.PINNED)
    monkeypatch.setenv(kernel_source.VARIABLE, "6.12")
    assert not kernel.is_built()
    older = _built((6, 12))
    assert kernel.path() == older


@pytest.mark.usefixtures("folder")
def test_the_recipe_is_the_versions_own() -> None:
    """Changes that a version does not need do not make another kernel of it."""
    names = {version: {change.name for change in kernel.needed(version)} for version in kernel_source.TRIED}
    assert "threads share what is mapped" in names[(6, 1)]
    assert "threads share what is mapped" not in names[(6, 12)]
    assert "floating-point registers stay in place" in names[(6, 12)]
    assert "floating-point registers stay in place" not in names[(7, 2)]
    assert all("random numbers follow from the seed" in each for each in names.values())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("version", "refusal", "words", "entry"),
    [
        ((6, 1), None, [], "ptrace"),
        ((7, 2), None, ["seccomp=on"], "seccomp"),
        ((7, 2), "this system refuses seccomp(2): EPERM", ["seccomp=off"], "ptrace"),
    ],
)
def test_the_way_in(
    monkeypatch: pytest.MonkeyPatch, version: Version, refusal: str | None, words: list[str], entry: str
) -> None:
    """By seccomp where the kernel knows it and the host allows it; run.json says which."""
    monkeypatch.setenv(kernel_source.VARIABLE, kernel_source.words(version))
    monkeypatch.setattr(kernel, "_seccomp_refusal", lambda: refusal)
    _built(version)
    assert kernel.words() == words
    assert kernel.entry() == entry
    assert Virtual().kernel_record()["entry"] == entry
    assert Virtual().kernel_record()["changes"] == ["one"]
    assert (kernel.why_ptrace() is None) == (entry == "seccomp")
