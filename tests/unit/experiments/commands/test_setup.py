"""Tests of the set-up's check, after apt-get has ended, of what was installed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from priolab.common.debian import apt
from priolab.common.debian.apt import Rights
from priolab.experiments.commands import setup
from priolab.experiments.setup import machine
from priolab.experiments.setup.machine import Distribution, Machine
from priolab.experiments.setup.python_environment import PythonEnvironment


class _Installer:
    """An apt-get that always succeeds, and installs nothing."""

    def __init__(self, _: Rights) -> None:
        self.asked: list[str] = []

    @contextmanager
    def at_work(self) -> Iterator[None]:
        yield

    def update(self) -> None:
        """Does nothing."""

    def download_bytes(self, packages: Sequence[str]) -> int:
        """Returns two megabytes for each package."""
        return 2_000_000 * len(packages)

    def install(self, packages: Sequence[str]) -> None:
        """Notes the packages."""
        self.asked += packages


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a machine without any program that the lab needs, where root may install packages."""
    debian = Distribution(name="Debian GNU/Linux 13 (trixie)", families=("debian",))
    facts = Machine(distribution=debian, has_apt=True, rights=Rights.ROOT)
    monkeypatch.setattr(machine, "find", lambda _: None)
    monkeypatch.setattr(machine, "look", lambda **_: facts)
    monkeypatch.setattr(apt, "Installer", _Installer)
    monkeypatch.setattr(apt, "knows_packages", lambda: True)
    monkeypatch.setattr(apt, "obtainable", lambda _: {})
    monkeypatch.setattr(setup, "lacks_venv", lambda: "python3-venv")
    monkeypatch.setattr(PythonEnvironment, "is_to_be_made", True)
    monkeypatch.setattr(PythonEnvironment, "lacks", lambda *_: True)
    monkeypatch.setattr(setup, "install_all", lambda *_: None)
    monkeypatch.setattr(setup, "_build_kernel", lambda _: None)


@pytest.mark.usefixtures("bare")
def test_the_environment_needs_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    """`make list` on a bare machine installs python3-venv, and does not look for nginx."""
    assert setup.set_up(["environment"], makes_environment=True) == 0
    said = capsys.readouterr()
    downloads, installing = said.out.splitlines()
    assert downloads.startswith("setup: downloads about 45 MB (Debian packages 2, Python packages 43): about 1 minute;")
    assert installing == "setup: installing python3-venv"
    assert "still missing" not in said.err


@pytest.mark.usefixtures("bare")
def test_what_apt_get_did_not_install(capsys: pytest.CaptureFixture[str]) -> None:
    """A program that is still missing after apt-get has installed its package stops the set-up."""
    assert setup.set_up(["FABRIC=netns"], makes_environment=True) == 1
    assert "setup: apt-get installed nginx, but nginx is still missing\n" in capsys.readouterr().err
