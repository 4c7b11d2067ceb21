"""Tests of the choice of a kernel source, and of the places where it is searched."""

from pathlib import Path

import pytest

from priolab.common.debian import suite_packages
from priolab.common.errors import ScenarioError, Unavailable
from priolab.testbed.guest import kernel_source
from priolab.testbed.guest.kernel_patches.edit import Version
from priolab.testbed.guest.kernel_source import SourceChoice, chosen, find, version_of


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Provide an empty cache, an empty /usr/src, and no package sources."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(kernel_source.VARIABLE, raising=False)
    (tmp_path / "cache/priolab/sources").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    monkeypatch.setattr(kernel_source, "_DISTRIBUTION", tmp_path / "src")
    monkeypatch.delenv(suite_packages.VARIABLE, raising=False)
    monkeypatch.setattr(suite_packages, "_ETC", tmp_path / "apt")
    monkeypatch.setattr(suite_packages, "_DEBOOTSTRAP", ())
    return tmp_path


def _silent(step: str, fraction: float) -> None:
    assert step
    assert 0 <= fraction <= 1


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("linux-source-6.1.tar.xz", (6, 1)),
        ("linux-source-6.8.0.tar.bz2", (6, 8)),
        ("linux-7.2.13.tar.xz", (7, 2)),
        ("linux-7.3-rc1.tar.gz", (7, 3)),
        ("linux-source-7.2.patch.xz", None),
        ("busybox-1.36.tar.xz", None),
    ],
)
def test_names_of_tarballs(name: str, version: Version | None) -> None:
    """Versions are read from the names of Debian's, Ubuntu's, and kernel.org's archives."""
    assert version_of(Path(name)) == version


@pytest.mark.usefixtures("folders")
def test_the_pinned_version_is_wanted() -> None:
    """The pinned version is used by default."""
    assert chosen() == SourceChoice(version=kernel_source.PINNED, pinned=True)


def test_a_wish(monkeypatch: pytest.MonkeyPatch, folders: Path) -> None:
    """The environment variable is a version or the path of an archive."""
    monkeypatch.setenv(kernel_source.VARIABLE, "6.12")
    assert chosen() == SourceChoice(version=(6, 12))
    tarball = folders / "linux-6.19.3.tar.xz"
    tarball.touch()
    monkeypatch.setenv(kernel_source.VARIABLE, str(tarball))
    assert chosen() == SourceChoice(version=(6, 19), tarball=tarball)
    assert find(chosen(), _silent) == tarball


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize("wish", ["newest", "7", "7.2.13", "/nowhere/linux-7.2.tar.xz"])
def test_an_odd_wish(monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    """The error says what is allowed."""
    monkeypatch.setenv(kernel_source.VARIABLE, wish)
    with pytest.raises(ScenarioError, match=r"KERNEL.*a version such as 7\.2"):
        chosen()


def test_what_is_here_is_taken(folders: Path) -> None:
    """A source in the cache is preferred to the distribution's package."""
    installed = folders / "src" / "linux-source-7.2.tar.xz"
    installed.touch()
    assert find(chosen(), _silent) == installed
    fetched = folders / "cache/priolab/sources/linux-7.2.13.tar.xz"
    fetched.touch()
    assert find(chosen(), _silent) == fetched


def test_the_distributions_source_stands_in(folders: Path) -> None:
    """The distribution's newest source replaces the pinned one, but not a version that was requested."""
    for name in ("linux-source-6.1.tar.xz", "linux-source-6.12.tar.xz"):
        (folders / "src" / name).touch()
    assert find(chosen(), _silent).name == "linux-source-6.12.tar.xz"
    with pytest.raises(Unavailable, match=r"Linux 7\.2 .*no archive of Debian"):
        find(SourceChoice(version=(7, 2)), _silent)


@pytest.mark.usefixtures("folders")
def test_nothing_is_here() -> None:
    """The error is one line with the missing source, and with all that the user can give."""
    given = r"MIRROR=http://HOST/debian, or install debootstrap.*KERNEL=/path/linux-7\.2\.tar\.xz`$"
    with pytest.raises(Unavailable, match=rf"^the source of Linux 7\.2 .*no archive of Debian.*{given}"):
        find(chosen(), _silent)
