"""Tests of packages of a Debian suite: where they come from, whom apt trusts, and the kernel's source among them."""

from pathlib import Path

import pytest

from priolab.common.debian import suite_packages, suite_sources
from priolab.common.debian.suite_packages import CannotFetch, SuitePackages
from priolab.common.debian.suite_sources import Source
from priolab.common.errors import Unavailable
from priolab.testbed.guest import kernel_source
from tests.server.experiments.suite import SUITE, LocalSuite

_SOURCE = "linux-source-7.2"


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalSuite:
    """Return a suite with a kernel's source, for a machine without Debian's sources and without debootstrap."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(suite_packages.VARIABLE, raising=False)
    monkeypatch.delenv(kernel_source.VARIABLE, raising=False)
    monkeypatch.setattr(kernel_source, "_DISTRIBUTION", tmp_path / "src")
    monkeypatch.setattr(suite_packages, "_DEBOOTSTRAP", (tmp_path / "debootstrap",))
    monkeypatch.setattr(suite_packages, "machine_sources", lambda _: [Source(uri="http://ubuntu.example/ubuntu")])
    made = LocalSuite(tmp_path)
    made.add(_SOURCE, "7.2.13-1", {f"usr/src/{_SOURCE}.tar.xz": "the source"}, depends="binutils")
    return made


def _keyring(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (suite_packages, suite_sources):
        monkeypatch.setattr(each, "KEYRING", str(path))


@pytest.mark.parametrize("mirrored", [False, True])
def test_the_kernels_source(
    suite: LocalSuite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, mirrored: bool
) -> None:
    """The package is fetched without those that it depends on, from this machine's source or from MIRROR."""
    (source,) = suite.sources
    if mirrored:
        monkeypatch.setenv(suite_packages.VARIABLE, source.uri)
        source = Source(uri="http://127.0.0.1:1/debian", trust=source.trust)
    monkeypatch.setattr(suite_packages, "machine_sources", lambda _: [source])
    steps: list[str] = []
    tarball = kernel_source.find(kernel_source.chosen(), lambda step, _: steps.append(step))
    assert tarball == tmp_path / "cache/priolab/sources/linux-7.2.13.tar.xz"
    assert tarball.read_text() == "the source"
    assert steps[0] == "looking for the source"
    assert list(tarball.parent.iterdir()) == [tarball]


def test_without_any_address(suite: LocalSuite, tmp_path: Path) -> None:
    """The error says what to give."""
    with pytest.raises(CannotFetch, match="no archive of Debian is among this machine's") as caught:
        SuitePackages(SUITE, tmp_path)
    assert caught.value.remedy == "name a mirror: MIRROR=http://HOST/debian, or install debootstrap, which knows one"
    del suite


def test_without_debians_keys(suite: LocalSuite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without Debian's sources Debian's keys must be installed, and the archive must be signed by them."""
    (source,) = suite.sources
    (tmp_path / "debootstrap").write_text(f'DEF_MIRROR="{source.uri}"\n')
    _keyring(tmp_path / "absent.gpg", monkeypatch)
    with pytest.raises(CannotFetch, match=r"absent\.gpg does not exist") as caught:
        SuitePackages(SUITE, tmp_path)
    assert caught.value.remedy == "run `apt-get install debian-archive-keyring`"
    (tmp_path / "keys.gpg").touch()
    _keyring(tmp_path / "keys.gpg", monkeypatch)
    with pytest.raises(Unavailable, match=r"^the source of Linux 7\.2 cannot be used here: .* is not signed.*KERNEL="):
        kernel_source.find(kernel_source.chosen(), lambda *_: None)
    assert list((tmp_path / "cache/priolab/sources").iterdir()) == []
