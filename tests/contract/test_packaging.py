"""An installed lab has every package of the tree, and every data file that they read."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from experiments.host import home

ROOT = Path(__file__).resolve().parents[2]
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
ROOTS = {name.partition(".")[0] for name in TOOLS["packages"]}
OF_A_CLONE = {"experiments/host/base-image.sh", "experiments/host/setup.sh"}
"""What only the Makefile runs."""


def _others() -> Iterator[str]:
    """Every file of the packages' folders that is no Python."""
    for name in ROOTS:
        for file in (ROOT / name).rglob("*"):
            if file.is_file() and file.suffix not in (".py", ".pyc") and "node_modules" not in file.parts:
                yield str(file.relative_to(ROOT))


def test_all_packages_are_named() -> None:
    """One that is not would be missing from an installed lab, and from nowhere else."""
    there = {
        ".".join(file.parent.relative_to(ROOT).parts) for name in ROOTS for file in (ROOT / name).rglob("__init__.py")
    }
    assert set(TOOLS["packages"]) == there | {"backend"}


def test_all_files_are_named() -> None:
    """What programs read lies beside them, wherever they are installed."""
    named = {
        str(file.relative_to(ROOT))
        for package, patterns in TOOLS["package-data"].items()
        for pattern in patterns
        for file in (ROOT / package).glob(pattern)
    }
    assert set(_others()) - named == OF_A_CLONE
    assert {"backend/origin.mjs", "proxy/servers/nginx/nginx.conf", "experiments/testbed/guest/kernel.config"} <= named


def test_what_images_are_made_of_is_shared() -> None:
    """It does not lie in a package, so it is among the data of the environment."""
    ((where, files),) = TOOLS["data-files"].items()
    assert where == "share/priority-lab"
    assert sorted(files) == sorted(home._SHARED)
    assert all((ROOT / file).is_file() for file in files)
