"""Tests of the choice of a built kernel, and of how programs enter it."""

import dataclasses
import hashlib
from pathlib import Path

import pytest

from priolab.experiments.hosts.virtual import Virtual
from priolab.testbed.guest import kernel, kernel_source
from priolab.testbed.guest.kernel import BuildRecord
from priolab.testbed.guest.kernel_build import options
from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, Version
from priolab.testbed.guest.kernel_patches.study_kernels import Additions, added
from priolab.testbed.guest.kernel_source import SourceChoice

_RECORD = BuildRecord(
    version="7.2.13",
    source="linux-7.2.13.tar.xz",
    compiler="gcc 12",
    changes=["one"],
    lacking=[],
    stands_in=False,
    sha256=hashlib.sha256().hexdigest(),
)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return an empty cache."""
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
    """A kernel counts as built only with its record, so that a killed build is not used."""
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
    """A kernel requested by its version does not replace the pinned one.
    A stand-in replaces the pinned kernel until this is built.
    """
    _built((6, 12))
    assert not kernel.is_built()
    stand_in = _built((6, 1), stands_in=True)
    assert kernel.path() == stand_in
    pinned = _built(kernel_source.PINNED)
    assert kernel.path() == pinned


@pytest.mark.usefixtures("folder")
def test_a_version_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment variable names the version of the kernel."""
    _built(kernel_source.PINNED)
    monkeypatch.setenv(kernel_source.VARIABLE, "6.12")
    assert not kernel.is_built()
    older = _built((6, 12))
    assert kernel.path() == older


@pytest.mark.usefixtures("folder")
def test_the_recipe_is_the_versions_own() -> None:
    """The patches of a kernel are only those that its version needs."""
    names = {version: {change.name for change in kernel.needed(version)} for version in kernel_source.TRIED}
    assert "threads share what is mapped" in names[(6, 1)]
    assert "threads share what is mapped" not in names[(6, 12)]
    assert "floating-point registers stay in place" in names[(6, 12)]
    assert "floating-point registers stay in place" not in names[(7, 2)]
    assert all("random numbers follow from the seed" in each for each in names.values())


@pytest.mark.usefixtures("folder")
def test_a_study_has_a_kernel_of_its_own() -> None:
    """Additions give another kernel, for as long as their context is open. The lab's kernel keeps its name."""
    labs = _built(kernel_source.PINNED)
    change = Change(name="a change", effect=Effect.RESULT, wordings=((Edit("a.c", "one", "two"),),))
    version, names = kernel_source.PINNED, {labs.name}
    needed, lines = kernel.needed(version), options(version)
    for own in (Additions(changes=(change,)), Additions(options=("CONFIG_TLS=y",))):
        with added(own):
            names.add(kernel.path().name)
            assert not kernel.is_built()
            assert kernel.needed(version) == (*needed, *own.changes)
            assert options(version) == [*lines, *own.options]
        assert kernel.path() == labs
    assert len(names) == 3


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
    """Programs enter the kernel by seccomp if kernel and host support it, and run.json records the entry."""
    monkeypatch.setenv(kernel_source.VARIABLE, kernel_source.words(version))
    monkeypatch.setattr(kernel, "_seccomp_refusal", lambda: refusal)
    _built(version)
    assert kernel.words() == words
    assert kernel.entry() == entry
    assert Virtual().kernel_record()["entry"] == entry
    assert Virtual().kernel_record()["changes"] == ["one"]
    assert (kernel.why_ptrace() is None) == (entry == "seccomp")
