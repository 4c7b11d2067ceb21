"""The lists of pinned packages and digests agree with pyproject.toml and with the installed packages."""

import json
import re
import tomllib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from priolab.common.home import in_checkout

ROOT = Path(__file__).resolve().parents[2]
LISTS = ("constraints.txt", "build-requirements.txt")
NPM = ("proxy/servers/spdy", "tests/page")
MACHINES = ("x86_64", "aarch64")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Pin:
    """An entry of a list of pinned packages."""

    requirement: Requirement
    digests: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the package's name as the package index writes it."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """Return the only allowed version."""
        (only,) = self.requirement.specifier
        assert only.operator == "=="
        return only.version


def _pins(name: str) -> list[Pin]:
    text = (ROOT / name).read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    entries = [line.split(" --hash=") for line in lines]
    return [
        Pin(requirement=Requirement(head.strip()), digests=tuple(each.strip() for each in digests))
        for head, *digests in entries
    ]


def _applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(environment)


def _versions(name: str, environment: dict[str, str]) -> dict[str, str]:
    """Return the pinned version of each package for that machine and Python."""
    pinned = [pin for pin in _pins(name) if _applies(pin.requirement, environment)]
    versions = {pin.name: pin.version for pin in pinned}
    assert len(versions) == len(pinned), "each package once"
    return versions


def _environment(python: str, machine: str) -> dict[str, str]:
    here: dict[str, Any] = dict(default_environment())
    return here | {
        "extra": "",
        "python_version": python,
        "python_full_version": f"{python}.1",
        "platform_machine": machine,
    }


def _here() -> tuple[str, str]:
    environment = default_environment()
    return environment["python_version"], environment["platform_machine"]


def _wanted() -> dict[str, list[str]]:
    """Return the requirements of each extra in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


@pytest.mark.parametrize("name", LISTS)
def test_every_package_has_digests(name: str) -> None:
    """Every package is pinned to one version with digests, and the file names no package index."""
    pins = _pins(name)
    assert pins
    for pin in pins:
        assert pin.version
        assert pin.digests
        assert all(_DIGEST.fullmatch(digest) for digest in pin.digests), pin
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "-index" not in re.sub("--hash", "", text)


@pytest.mark.parametrize("folder", NPM)
def test_every_package_of_npm_has_a_digest(folder: str) -> None:
    """Every npm package has a digest, which `npm ci` checks; there are no other lock files."""
    assert {file.parent for file in ROOT.glob("[!.]*/**/package-lock.json")} <= {ROOT / each for each in NPM}
    packages = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
    assert len(packages) > 1
    for name, package in packages.items():
        assert not name or package["integrity"].startswith("sha512-")
        assert "resolved" not in package


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS)
def test_whatever_is_asked_for_is_pinned(python: str, machine: str) -> None:
    """Every requirement of every extra is pinned to a version that pyproject.toml allows."""
    environment = _environment(python, machine)
    versions = _versions("constraints.txt", environment)
    for extra, texts in _wanted().items():
        for requirement in map(Requirement, texts):
            if _applies(requirement, environment):
                version = versions.get(canonicalize_name(requirement.name))
                assert version, f"{extra}: {requirement} is not pinned; run `make constraints`"
                assert requirement.specifier.contains(version), f"{extra}: {requirement} is pinned to {version}"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS)
def test_build_tools_are_the_same_in_both_lists(python: str, machine: str) -> None:
    """pip and the build tools of pyproject.toml are pinned; a package of both lists has the same version."""
    environment = _environment(python, machine)
    tools = _versions("build-requirements.txt", environment)
    others = _versions("constraints.txt", environment)
    assert {name: others.get(name, version) for name, version in tools.items()} == tools
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for requirement in map(
        Requirement, [*document["dependency-groups"]["build"], *document["build-system"]["requires"]]
    ):
        assert requirement.specifier.contains(tools[canonicalize_name(requirement.name)])


def test_whatever_those_need_is_pinned() -> None:
    """The requirements of installed packages are pinned, too."""
    environment = _environment(*_here())
    versions = _versions("constraints.txt", environment)
    checked = 0
    for name in versions:
        try:
            needed = distribution(name).requires or []
        except PackageNotFoundError:  # of an extra that is not installed
            continue
        for requirement in map(Requirement, needed):
            if _applies(requirement, environment):
                version = versions.get(canonicalize_name(requirement.name))
                assert version, f"{name} needs {requirement}, which is not pinned; run `make constraints`"
                assert requirement.specifier.contains(version, prereleases=True)
                checked += 1
    assert checked > 50


@pytest.mark.skipif(not in_checkout(), reason="the tests run in an environment that somebody else made")
def test_what_is_installed_is_what_is_pinned() -> None:
    """The installed packages, with pip and setuptools, have the pinned versions."""
    environment = _environment(*_here())
    needed = {canonicalize_name(Requirement(text).name) for extra in ("", "dev") for text in _wanted()[extra]}
    for list_, names in (("build-requirements.txt", None), ("constraints.txt", needed)):
        versions = _versions(list_, environment)
        for name in versions.keys() & (versions.keys() if names is None else names):
            assert distribution(name).version == versions[name]
