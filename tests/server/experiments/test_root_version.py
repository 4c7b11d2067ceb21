"""Tests of a program's version in a root: the root's own loader and libraries run it, whatever this machine has."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.elf import read_elf
from priolab.common.errors import Unavailable
from priolab.experiments.setup.root_version import version_in_root
from priolab.proxy.server import catalogue

SERVER = replace(catalogue()["nginx"], name="nginx@sid", edition="sid")
COMMAND = ("/usr/bin/env", "--version")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root with this machine's env(1) and C library. The loader's usual path leads out of the root."""
    elf = read_elf(Path("/usr/bin/env"))
    assert elf is not None
    assert elf.loader is not None
    loader = Path(elf.loader).resolve()
    libraries = tmp_path / "usr" / "lib" / loader.parent.name
    for folder in (libraries, tmp_path / "usr" / "bin", tmp_path / "usr" / "lib64"):
        folder.mkdir(parents=True)
    shutil.copy("/usr/bin/env", tmp_path / "usr" / "bin")
    shutil.copy(loader, libraries / Path(elf.loader).name)
    shutil.copy(loader.parent / "libc.so.6", libraries)
    (tmp_path / "usr" / "lib64" / Path(elf.loader).name).symlink_to("/nowhere/loader")
    return tmp_path


def test_the_loader_is_the_roots(root: Path) -> None:
    """An absolute link to the loader, as Debian 12 has it, is not followed."""
    assert version_in_root(root, COMMAND, SERVER).startswith("env (GNU coreutils) ")


def test_a_folder_of_the_packages_own(root: Path) -> None:
    """Libraries may be in a folder with the package's name, as Traffic Server has it."""
    own = root / "usr" / "lib" / SERVER.packages[0]
    own.mkdir()
    library = next(root.rglob("libc.so.6"))
    library.rename(own / library.name)
    assert version_in_root(root, COMMAND, SERVER).startswith("env (GNU coreutils) ")


def test_a_library_that_cannot_be_loaded(root: Path) -> None:
    """The error is one line, with the loader's complaint about the library in the root."""
    next(root.rglob("libc.so.6")).write_text("no library")
    expected = r"nginx@sid .*/usr/bin/env of sid does not run on this machine: .*libc\.so\.6: .*; name"
    with pytest.raises(Unavailable, match=expected) as caught:
        version_in_root(root, COMMAND, SERVER)
    assert "\n" not in str(caught.value)


def test_a_program_without_loader(tmp_path: Path) -> None:
    """A script, or a static program, is started as it is."""
    program = tmp_path / "script"
    program.write_text(f"#!{sys.executable}\nprint('script 1.2')\n")
    program.chmod(0o755)
    assert version_in_root(tmp_path, ("/script",), SERVER) == "script 1.2"
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(Unavailable, match="/script of sid does not run on this machine: exit code 3; name"):
        version_in_root(tmp_path, ("/script",), SERVER)
