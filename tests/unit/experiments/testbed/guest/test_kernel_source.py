"""Tests of the choice of a kernel source, and of the places where it is searched."""

from pathlib import Path

import pytest

from priolab.experiments.errors import ScenarioError, StepFailed, Unavailable
from priolab.experiments.testbed.guest import kernel_source
from priolab.experiments.testbed.guest.kernel_patches.edit import Version
from priolab.experiments.testbed.guest.kernel_source import SourceChoice, chosen, find, mirrors, version_of


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Provide an empty cache, an empty /usr/src, and no package sources."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(kernel_source.VARIABLE, raising=False)
    (tmp_path / "cache/priolab/sources").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    monkeypatch.setattr(kernel_source, "_DISTRIBUTION", tmp_path / "src")
    monkeypatch.setattr(kernel_source, "_LISTS", tmp_path / "apt")
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
    with pytest.raises(Unavailable, match=r"Linux 7\.2 .*no Debian archive"):
        find(SourceChoice(version=(7, 2)), _silent)


@pytest.mark.usefixtures("folders")
def test_nothing_is_here() -> None:
    """The error is one line with the missing source and the remedy."""
    with pytest.raises(Unavailable, match=r"no Debian archive .* KERNEL=/path/linux-7\.2\.tar\.xz$"):
        find(chosen(), _silent)


def test_a_fetch_that_fails(monkeypatch: pytest.MonkeyPatch, folders: Path) -> None:
    """The error gives the message of apt-get, and no incomplete file is left."""
    (folders / "apt").mkdir()
    (folders / "apt/sources.list").write_text("deb http://127.0.0.1:9/debian bookworm main\n")
    keyring = folders / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(kernel_source, "_KEYRING", keyring)
    programs = folders / "bin"
    programs.mkdir()
    (programs / "apt-get").write_text("#!/bin/sh\necho 'E: no archive today' >&2\nexit 100\n")
    (programs / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    with pytest.raises(Unavailable, match="E: no archive today"):
        find(chosen(), _silent)
    assert list((folders / "cache/priolab/sources").iterdir()) == []


def test_mirrors(tmp_path: Path) -> None:
    """`mirrors` reads both formats of lists, and skips other archives and comments."""
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://old.example/debian woody main\ndeb [arch=amd64] http://one.example/debian/ bookworm main\n"
    )
    (tmp_path / "sources.list.d/debian.sources").write_text(
        "Types: deb\nURIs: http://two.example/debian\nSuites: trixie\n\n"
        "Types: deb\nURIs: http://two.example/debian-security\nSuites: trixie-security\n"
    )
    (tmp_path / "sources.list.d/other.list").write_text("deb https://other.example/node_20.x nodistro main\n")
    (tmp_path / "sources.list.d/saved.bak").write_text("deb http://three.example/debian sid main\n")
    assert mirrors(tmp_path) == ["http://one.example/debian", "http://two.example/debian"]
    assert mirrors(tmp_path / "nowhere") == []
    assert mirrors(tmp_path, "debian-security") == ["http://two.example/debian-security"]


@pytest.mark.parametrize(
    ("suite", "archives"),
    [
        (
            "bookworm",
            [("http://a.example/debian", "bookworm"), ("http://b.example/debian-security", "bookworm-security")],
        ),
        ("sid", [("http://a.example/debian", "sid")]),
    ],
)
def test_a_stable_suite_has_newer_sources_in_its_security_archive(
    suite: str, archives: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources of a stable suite are also searched in its security archive, which may have newer ones.
    For example, it had Linux 6.1.192 when the main archive had 6.1.176.
    """
    (tmp_path / "sources.list").write_text(
        "deb http://a.example/debian trixie main\ndeb http://b.example/debian-security trixie-security main\n"
    )
    monkeypatch.setattr(kernel_source, "_LISTS", tmp_path)
    assert list(kernel_source._archives(suite)) == archives


def test_a_step_that_fails_is_told(folders: Path) -> None:
    """The error gives the command, its exit code, and its last line."""
    with pytest.raises(StepFailed, match=r"a step: sh -c ended with exit code 3: no more"):
        kernel_source._run(["sh", "-c", "echo less >&2; echo no more >&2; exit 3"], folders, {}, "a step")
