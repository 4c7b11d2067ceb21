"""pyproject.toml: an installed lab has every package, and every data file that the packages read."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from experiments.host import home

ROOT = Path(__file__).resolve().parents[2]
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
ROOTS = {name.partition(".")[0] for name in TOOLS["packages"]}
OF_A_CLONE = {"experiments/host/base-image.sh", "experiments/host/setup.sh"}
"""Files that only the Makefile runs."""


def _others() -> Iterator[str]:
    """Yield every file in the packages' folders that is not Python."""
    for name in ROOTS:
        for file in (ROOT / name).rglob("*"):
            if file.is_file() and file.suffix not in (".py", ".pyc") and "node_modules" not in file.parts:
                yield str(file.relative_to(ROOT))


def test_all_packages_are_named() -> None:
    """pyproject.toml names every package; a package that is not named would be missing from an installed lab."""
    there = {
        ".".join(file.parent.relative_to(ROOT).parts) for name in ROOTS for file in (ROOT / name).rglob("__init__.py")
    }
    assert set(TOOLS["packages"]) == there | {"backend"}


def test_all_files_are_named() -> None:
    """pyproject.toml names every data file that lies in a package."""
    named = {
        str(file.relative_to(ROOT))
        for package, patterns in TOOLS["package-data"].items()
        for pattern in patterns
        for file in (ROOT / package).glob(pattern)
    }
    assert set(_others()) - named == OF_A_CLONE
    assert {"backend/origin.mjs", "proxy/servers/nginx/nginx.conf", "experiments/testbed/guest/kernel.config"} <= named


def test_what_images_are_made_of_is_shared() -> None:
    """The files for the container images lie in no package; they are installed into share/priority-lab."""
    ((where, files),) = TOOLS["data-files"].items()
    assert where == "share/priority-lab"
    assert sorted(files) == sorted(home._SHARED)
    assert all((ROOT / file).is_file() for file in files)
