"""Tests of npm packages: their folder, that npm runs once, and messages if they are missing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.errors import StepFailed
from priolab.experiments.setup.installed import lack_of
from priolab.experiments.setup.npm import folder_for, modules_of
from priolab.experiments.setup.npm_installing import install, install_for
from priolab.experiments.setup.programs import remedy_for
from priolab.proxy.server import Server, catalogue

NPM = "an npm package"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Return a server that needs npm packages, on a machine without them."""
    folder = tmp_path / "museum"
    folder.mkdir()
    for name in ("package.json", "package-lock.json"):
        (folder / name).write_text("{}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return replace(catalogue()["spdy"], name="museum", npm=folder)


FakeNpm = Callable[[str], Path]


@pytest.fixture
def fake_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNpm:
    """Return a function that installs a script as npm, and returns the file in which the script logs its calls."""

    def make(does: str) -> Path:
        programs, asked = tmp_path / "bin", tmp_path / "asked"
        programs.mkdir()
        asked.touch()
        (programs / "npm").write_text(f'#!/bin/sh\necho "$*" >>{asked}\n{does}\n')
        (programs / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
        return asked

    return make


def test_most_servers_need_nothing() -> None:
    """Servers without npm packages cause no call of npm."""
    nginx = catalogue()["nginx"]
    assert (modules_of(nginx), install(nginx)) == (None, None)
    assert lack_of(nginx) != NPM


def test_the_folder_is_named_for_what_is_asked_for(server: Server) -> None:
    """The folder's name depends on the lock file."""
    before = modules_of(server)
    assert server.npm
    assert before
    assert before.name.startswith("npm-museum-")
    (server.npm / "package-lock.json").write_text("{ }")
    assert modules_of(server) != before


def test_both_spdy_fronts_share_theirs() -> None:
    """Both SPDY fronts use the same packages, because they are the same program."""
    assert modules_of(catalogue()["spdy"]) == modules_of(catalogue()["spdy-strict"])


def test_what_is_missing_is_said_with_the_remedy(server: Server) -> None:
    """Missing packages are reported with the command that installs them."""
    assert lack_of(server) == NPM
    assert remedy_for(server) == "`make setup SERVER=museum` installs nodejs and its npm packages"


def test_npm_is_asked_once(server: Server, fake_npm: FakeNpm) -> None:
    """npm runs once, for exactly the lock file's packages and without their scripts. No incomplete folder is left."""
    asked = fake_npm("[ -e package.json ] && [ -e package-lock.json ] && mkdir node_modules")
    folder = install(server)
    assert folder
    assert sorted(path.name for path in folder.iterdir()) == ["node_modules", "package-lock.json", "package.json"]
    assert install(server) == folder
    assert lack_of(server) is None
    (words,) = asked.read_text().splitlines()
    assert words.startswith("ci --ignore-scripts ")
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_folder_of_its_own(server: Server, fake_npm: FakeNpm) -> None:
    """Packages of a folder that belongs to no server can be installed, too."""
    asked = fake_npm("mkdir node_modules")
    assert server.npm
    folder = install_for(server.npm, "somebody needs")
    assert folder == folder_for(server.npm)
    assert (folder / "node_modules").is_dir()
    assert asked.read_text().count("\n") == 1


def test_a_folder_that_asks_for_nothing(tmp_path: Path) -> None:
    """The error names the missing file."""
    with pytest.raises(StepFailed, match=r"package\.json: No such file"):
        install_for(tmp_path, "nobody needs")


def test_an_npm_that_fails(server: Server, fake_npm: FakeNpm) -> None:
    """The error gives npm's error lines, and no folder is left."""
    fake_npm("echo warning >&2; echo npm error no network >&2; echo more >&2; echo npm error A log >&2; exit 7")
    with pytest.raises(StepFailed, match=r"npm ended with exit code 7: npm error no network \| npm error A log$"):
        install(server)
    folder = modules_of(server)
    assert folder
    assert list(folder.parent.iterdir()) == []


def test_a_disk_that_is_full(server: Server, fake_npm: FakeNpm) -> None:
    """If npm only warns about files that it cannot write, the installation fails, and no folder is left."""
    fake_npm("mkdir node_modules; echo 'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write' >&2")
    with pytest.raises(StepFailed, match=r"npm could not unpack a file: ENOSPC: no space left on device, write$"):
        install(server)
    folder = modules_of(server)
    assert folder
    assert list(folder.parent.iterdir()) == []


def test_without_npm(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says that npm is not installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepFailed, match="npm is not installed"):
        install(server)
