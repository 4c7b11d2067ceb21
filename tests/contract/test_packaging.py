"""pyproject.toml: an installed lab has every package, and every data file that the packages read."""

import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

from priolab.experiments.hosts.containers import image_sources

ROOT = Path(__file__).resolve().parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())
TOOLS = DECLARED["tool"]["setuptools"]
FOLDERS = TOOLS["package-dir"]
"""The folder of each package of `priolab`."""
_RATED = """
import json, sys
from pyroma import projectdata, ratings
shown = projectdata.build_metadata(sys.argv[1], isolated=False)
print(json.dumps([shown, ratings.rate(shown)]))
"""
OF_A_CLONE = {"experiments/setup/base-image.sh", "experiments/setup/setup.sh"}
"""Files that only the Makefile runs."""


def _others() -> Iterator[str]:
    """Yield every file in the packages' folders that is neither Python nor of tests."""
    for name in FOLDERS.values():
        for file in (ROOT / name).rglob("*"):
            if (
                file.is_file()
                and file.suffix not in (".py", ".pyc")
                and not {"node_modules", "tests"} & {*file.relative_to(ROOT).parts}
            ):
                yield str(file.relative_to(ROOT))


def test_all_packages_are_named() -> None:
    """pyproject.toml names every package; a package that is not named would be missing from an installed lab."""
    there = {
        ".".join(("priolab", *file.parent.relative_to(ROOT).parts))
        for name in FOLDERS.values()
        for file in (ROOT / name).rglob("__init__.py")
        if "tests" not in file.relative_to(ROOT).parts
    }
    assert set(TOOLS["packages"]) == there | {"priolab", "priolab.backend"}


def test_all_files_are_named() -> None:
    """pyproject.toml names every data file that lies in a package."""
    named = {
        str(file.resolve().relative_to(ROOT))
        for package, patterns in TOOLS["package-data"].items()
        for pattern in patterns
        for file in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    named |= {*TOOLS["script-files"]}
    assert {name for name in _others() if not name.endswith("/targets.mk")} - named == OF_A_CLONE
    assert {*image_sources.FILES} <= named
    assert {"backend/origin.mjs", "proxy/servers/nginx/nginx.conf", "testbed/guest/kernel.config"} <= named


def test_the_folders_are_packages() -> None:
    """In the checkout, `priolab` has a link to the folder of each package, and to the files that images need."""
    links = {path.name: path.readlink() for path in (ROOT / "priolab").iterdir() if path.is_symlink()}
    assert links == {name: Path("..") / name for name in (*FOLDERS.values(), *image_sources.FILES)}


def test_the_readme_for_a_package_index() -> None:
    """Its links lead to the project's address; without an address they are plain text, and pictures are left out."""
    readme = runpy.run_path(str(ROOT / "setup.py"))["readme"]
    assert not re.findall(r"\]\((?!https?:|#)", readme(""))
    addressed = readme("https://example.net/lab")
    assert "](https://example.net/lab/blob/main/docs/guide/servers.md)" in addressed
    assert "](https://example.net/lab/raw/main/docs/timeline.png)" in addressed


def test_one_version_and_one_address() -> None:
    """Citation and changelog have the version and its date; the citation has the project's address if there is one."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == DECLARED["project"]["version"]
    newest = re.findall(r"^## (\d.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert newest == f"{citation['version']} - {citation['date-released']}"
    address = DECLARED["tool"]["address"]["project"]
    assert citation.get("repository-code", "") == address, f"CITATION.cff needs `repository-code: {address}`"


def test_what_a_package_index_shows(tmp_path: Path) -> None:
    """The addresses lead to the project and to its maintainers, and pyroma gives ten of ten points."""
    for path in ROOT.iterdir():
        if path.name in ("README.md", "LICENSE", "docs", *(folder.partition("/")[0] for folder in FOLDERS.values())):
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "priolab").symlink_to(ROOT / "priolab")
    (tmp_path / "setup.py").write_bytes((ROOT / "setup.py").read_bytes())
    declared, address = (ROOT / "pyproject.toml").read_text(), "https://example.org/priority-lab"
    for key, value in (("project", address), ("email", "lab@example.org")):
        declared = re.sub(rf'^{key} = ".*"$', f'{key} = "{value}"', declared, flags=re.MULTILINE)
    (tmp_path / "pyproject.toml").write_text(declared)
    asked = subprocess.run([sys.executable, "-c", _RATED, tmp_path], stdout=subprocess.PIPE, timeout=120, check=True)
    shown, (rating, missing) = json.loads(asked.stdout.splitlines()[-1])
    assert shown["author-email"] == '"the priority lab\'s maintainers" <lab@example.org>'
    assert [page.rpartition(", ")[2].startswith(address) for page in shown["project-url"]] == [True] * 3
    assert rating == 10, missing


def test_what_the_workflows_run_is_pinned() -> None:
    """Each action of a workflow is named by its commit, and each file of .github is YAML."""
    files = sorted((ROOT / ".github").rglob("*.yml"))
    assert len(files) >= 6
    for file in files:
        assert yaml.safe_load(file.read_text())
        for action in re.findall(r"uses: (\S+)", file.read_text()):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), (file, action)
