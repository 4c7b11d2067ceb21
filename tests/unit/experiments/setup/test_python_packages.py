"""Tests of the command that adds a Python package, in each kind of environment in which the lab may be installed."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from priolab.common.home import ROOT
from priolab.experiments.setup import python_packages
from priolab.experiments.setup.python_packages import installing, packages_of

Prefix = Callable[..., Path]


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prefix:
    """Imitate an environment: its folder's name, and the text of each of its files."""

    def make(name: str, **files: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file.replace("__", "-").replace("_dot_", ".")).write_text(text)
        monkeypatch.setattr(sys, "prefix", str(folder))
        return folder

    return make


def _said(extra: str = "parquet") -> str:
    said = installing(extra)
    assert (said[0], said[-1]) == ("`", "`")
    return said[1:-1]


def test_the_extras_of_the_lab() -> None:
    """The packages of an extra come with their bounds, from the lab's metadata."""
    assert packages_of("parquet") == ["pyarrow>=21"]
    assert packages_of("firefox") == ["websockets<18,>=17"]
    assert [each.partition(">")[0] for each in packages_of("demo")] == ["segno<2,", "starlette<2,", "uvicorn"]


def test_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the checkout's own environment pip checks the digests."""
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    pinned = f"--require-hashes -c {ROOT}/constraints.txt"
    assert _said() == f"{ROOT}/.venv/bin/python -m pip install {pinned} 'pyarrow>=21'"


def test_pipx(prefix: Prefix) -> None:
    """Pipx adds packages by the name of its environment, also if it has made the environment with uv."""
    prefix("venvs/priority-lab-next", pipx_metadata_dot_json="{}", pyvenv_dot_cfg="uv = 0.13.9\n")
    assert _said() == "pipx inject priority-lab-next 'pyarrow>=21'"


def test_pipx_for_all_users(prefix: Prefix, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment for all users is not found without the option for it."""
    monkeypatch.setattr(python_packages, "_GLOBAL_PIPX", tmp_path / "opt/pipx")
    prefix("opt/pipx/venvs/priority-lab", pipx_metadata_dot_json="{}")
    assert _said() == "pipx inject --global priority-lab 'pyarrow>=21'"


@pytest.mark.parametrize(
    ("requirements", "words"),
    [
        ('{ name = "priority-lab" }', "priority-lab"),
        ('{ name = "priority-lab", specifier = "==0.2.0" }', "priority-lab==0.2.0"),
        ('{ name = "priority-lab", extras = ["figures"], path = "/x/l.whl" }', "'priority-lab[figures]@/x/l.whl'"),
        ('{ name = "priority-lab", directory = "/lab" }', "priority-lab@/lab"),
        ('{ name = "priority-lab", editable = "/lab" }', "--editable /lab"),
        ('{ name = "priority-lab", git = "https://example.org/lab" }', "priority-lab@git+https://example.org/lab"),
    ],
)
def test_a_tool_of_uv(prefix: Prefix, requirements: str, words: str) -> None:
    """The command names where the tool came from, with its extras."""
    prefix("tools/priority-lab", uv__receipt_dot_toml=f"[tool]\nrequirements = [{requirements}]\n")
    assert _said() == f"uv tool install --with 'pyarrow>=21' {words}"


def test_a_tool_of_uv_with_packages(prefix: Prefix) -> None:
    """The command repeats the packages that were added before, which uv would remove."""
    had = '{ name = "priority-lab" }, { name = "websockets", specifier = "<18" }, { name = "pyarrow" }'
    prefix("tools/priority-lab", uv__receipt_dot_toml=f"[tool]\nrequirements = [{had}]\n")
    assert _said() == "uv tool install --with 'websockets<18' --with pyarrow --with 'pyarrow>=21' priority-lab"


@pytest.mark.parametrize("text", ["", "[tool", "[tool]\nrequirements = [3]\n"])
def test_a_damaged_receipt(prefix: Prefix, text: str) -> None:
    """Without a receipt that can be read, the command names the lab alone."""
    prefix("tools/priority-lab", uv__receipt_dot_toml=text)
    assert _said() == "uv tool install --with 'pyarrow>=21' priority-lab"


def test_an_environment_of_uv(prefix: Prefix) -> None:
    """An environment that `uv venv` made has no pip; uv takes the path of its Python."""
    folder = prefix("work", pyvenv_dot_cfg="home = /usr/bin\nuv = 0.13.9\n")
    assert _said() == f"uv pip install --python {folder}/bin/python 'pyarrow>=21'"


def test_an_environment_with_pip(prefix: Prefix) -> None:
    """An environment of the module venv has pip."""
    folder = prefix("work", pyvenv_dot_cfg="home = /usr/bin\n")
    (folder / "lib/python3.13/site-packages/pip").mkdir(parents=True)
    assert _said() == f"{folder}/bin/python -m pip install 'pyarrow>=21'"


def test_an_environment_without_pip(prefix: Prefix) -> None:
    """Where pip is missing, Python brings it along."""
    folder = prefix("work", pyvenv_dot_cfg="home = /usr/bin\n")
    python = f"{folder}/bin/python"
    assert _said() == f"{python} -m ensurepip && {python} -m pip install 'pyarrow>=21'"


@pytest.mark.parametrize("managed", [True, False])
def test_the_python_of_the_system(prefix: Prefix, monkeypatch: pytest.MonkeyPatch, managed: bool) -> None:  # noqa: FBT001
    """A Python that a distribution manages takes packages only with an option."""
    folder = prefix("usr")
    monkeypatch.setattr(sys, "base_prefix", str(folder))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(folder))
    if managed:
        (folder / "EXTERNALLY-MANAGED").touch()
    option = "--break-system-packages " if managed else ""
    assert _said() == f"{sys.executable} -m pip install {option}'pyarrow>=21'"


def test_a_lab_that_is_only_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without metadata, the lab with its extra is named."""
    monkeypatch.setattr(python_packages, "_LAB", "not-installed")
    assert packages_of("figures") == ["not-installed[figures]"]
