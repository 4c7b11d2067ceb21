"""Tests of facts about a machine: its distribution, installed programs, and restrictions."""

import os
from pathlib import Path

import pytest

from priolab.common.process.search_path import find
from priolab.experiments.setup import machine
from priolab.experiments.setup.packages import Want
from priolab.testbed.topology.namespace_requirements import no_namespaces

_TRIXIE = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nNAME="Debian GNU/Linux"\nID=debian\n'
_NOBLE = "PRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\nID=ubuntu\nID_LIKE=debian\nLOGO='ubuntu-logo'\n"
_MINT = 'NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n'


@pytest.mark.parametrize(
    ("release", "name", "families"),
    [
        (_TRIXIE, "Debian GNU/Linux 13 (trixie)", ("debian",)),
        (_NOBLE, "Ubuntu 24.04.3 LTS", ("ubuntu", "debian")),
        (_MINT, "Linux Mint", ("linuxmint", "ubuntu", "debian")),
        ("", "this system", ()),
        ("not a release file\n", "this system", ()),
    ],
)
def test_distributions(release: str, name: str, families: tuple[str, ...]) -> None:
    """Name and families come from os-release; without it the name is `this system`."""
    assert machine.distribution(release) == machine.Distribution(name=name, families=families)


def _setting(folder: Path, name: str, value: str) -> Path:
    path = folder / name.replace(".", "/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{value}\n")
    return folder


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("kernel.apparmor_restrict_unprivileged_userns", "0", None),
        ("kernel.unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("user.max_user_namespaces", "0", "user.max_user_namespaces=10000"),
        ("user.max_user_namespaces", "96365", None),
    ],
)
def test_settings_that_forbid_namespaces(tmp_path: Path, name: str, value: str, remedy: str | None) -> None:
    """An ordinary user is told the setting and its remedy. For root the setting does not matter."""
    settings = _setting(tmp_path, name, value)
    told = no_namespaces(settings, is_root=False)
    expected = (
        f"the setting {name}={value} forbids user namespaces to ordinary users; run as root, or `sudo sysctl {remedy}`"
    )
    assert told == (expected if remedy else None)
    assert no_namespaces(settings, is_root=True) is None


def test_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `Want` is met if one of its programs and all of its files exist. Files may be patterns."""
    (tmp_path / "a-server").write_text("#!/bin/sh\n")
    (tmp_path / "a-server").chmod(0o755)
    (tmp_path / "source-6.8.0.tar.bz2").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    there = [
        Want(packages=("a",), programs=("a-server",)),
        Want(packages=("a",), programs=("not-there", "a-server")),
        Want(packages=("s",), files=(f"{tmp_path}/source-*.tar.*",)),
        Want(packages=("a",), programs=("a-server",), files=(str(tmp_path / "a-server"),)),
    ]
    not_there = [
        Want(packages=("b",), programs=("not-there",)),
        Want(packages=("s",), files=(f"{tmp_path}/source-*.tar.xz",)),
        Want(packages=("a",), programs=("a-server",), files=("/no/such/module.so",)),
    ]
    assert machine.lacking([*there, *not_there]) == tuple(not_there)


def test_the_systems_own_folders_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs in sbin are found although an ordinary user's PATH on Debian lacks sbin."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert find("ldconfig") in ("/usr/sbin/ldconfig", "/sbin/ldconfig")


def test_a_cache_that_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing cache folder is made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    assert machine.cache_trouble() is None
    assert (tmp_path / "new" / "priolab").is_dir()


def test_a_cache_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the cache folder and the system's reason."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert machine.cache_trouble() == f"the cache folder {tmp_path}/file/priolab cannot be made: Not a directory"


def test_a_cache_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder without permission to write is an error."""
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert machine.cache_trouble() == f"the cache folder {tmp_path}/priolab cannot be written: permission denied"
