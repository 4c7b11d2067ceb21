"""The Python environment of a checkout in a folder with an odd name."""

import subprocess
import sys
from pathlib import Path

import pytest

from priolab.experiments.setup.python_environment import MADE_OF, EnvironmentFailed, PythonEnvironment, mend_launcher

_AS_PIP_DOES = """
import sys
from pip._vendor.distlib.scripts import ScriptMaker

maker = ScriptMaker(None, sys.argv[1])
maker.executable = sys.argv[2]
maker.variants = {""}
maker.make("shown = platform:python_version")
"""


@pytest.mark.parametrize("name", ["it's $HOME", 'a "b" `id`', "plain", "n" * 150])
def test_a_launcher_starts_its_python(tmp_path: Path, name: str) -> None:
    """A script that pip makes beside a Python starts this Python, whatever the folder's name, also through a link."""
    programs = tmp_path / name / "bin"
    programs.mkdir(parents=True)
    python = programs / "python"
    python.write_text(f'#!/bin/sh\necho started\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    subprocess.run([sys.executable, "-W", "ignore", "-c", _AS_PIP_DOES, programs, python], check=True)
    script = programs / "shown"
    mend_launcher(script)
    (tmp_path / "link").symlink_to(script)
    for started in (script, tmp_path / "link"):
        done = subprocess.run([started], capture_output=True, text=True, timeout=30, check=False)
        assert done.stdout.startswith("started"), done.stderr


@pytest.mark.parametrize("name", ["a:b", "{x}", "a\\b", "two\nlines", "a\tb", "bad\udcff"])
def test_a_folder_in_which_no_environment_can_be(tmp_path: Path, name: str) -> None:
    """Before anything is made, the error names the path, the character and the remedy."""
    checkout = tmp_path / name
    checkout.mkdir()
    for file in MADE_OF:
        (checkout / file).parent.mkdir(parents=True, exist_ok=True)
        (checkout / file).touch()
    with pytest.raises(EnvironmentFailed, match="move the checkout to another folder") as failed:
        PythonEnvironment(checkout).install("")
    assert str(failed.value).isprintable()
    assert not (checkout / ".venv").exists()
