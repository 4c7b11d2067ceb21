"""Tests of programs from wheels, which pip takes from a folder in place of the package index."""

import hashlib
import platform
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.errors import StepFailed, Unavailable
from priolab.experiments.setup.installed import check_edition, lack_of, program_of
from priolab.experiments.setup.programs import remedy_for, server_version
from priolab.experiments.setup.wheel_fetching import fetch
from priolab.experiments.setup.wheels import wheel_versions
from priolab.proxy.server import Server, catalogue, server_of
from priolab.proxy.wheel import Wheel

PROGRAM = "#!/bin/sh\necho prebuilt 1.2.3\n"
PATH = "prebuilt/bin/linux-{machine}/prebuilt"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder from which pip takes all wheels, with the wheel of a program; the cache is empty."""
    folder = tmp_path / "index"
    folder.mkdir()
    about = "prebuilt-1.2.3.dist-info"
    with zipfile.ZipFile(folder / "prebuilt-1.2.3-py3-none-any.whl", "w") as archive:
        archive.writestr(PATH.format(machine=platform.machine()), PROGRAM)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: prebuilt\nVersion: 1.2.3\n")
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


@pytest.fixture
def prebuilt(index: Path) -> Server:
    """Return a server whose only edition is in the wheel."""
    (file,) = index.iterdir()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    wheel = Wheel(
        requirement="prebuilt==1.2.3", path=PATH, sha256={platform.machine(): digest}, source=None, scheduling=None
    )
    return replace(catalogue()["envoy"], name="prebuilt", program="prebuilt", edition="1.2.3", wheels={"1.2.3": wheel})


def _changed(server: Server, **fields: object) -> Server:
    assert server.wheel
    return replace(server, wheels={"1.2.3": replace(server.wheel, **fields)})  # type: ignore[arg-type]


def _nothing(text: str) -> None:
    """Show no progress."""


def _fetch(server: Server) -> list[str]:
    said: list[str] = []
    fetch(server, Path(sys.executable), said.append, _nothing)
    return said


def _cached(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache/priolab/programs").glob("**/*"))


def test_a_program_is_fetched_once(prebuilt: Server, tmp_path: Path) -> None:
    """The program is missing until it is fetched; then it is the server's program, alone in its folder of the cache."""
    assert lack_of(prebuilt) == "prebuilt"
    assert remedy_for(prebuilt).endswith("setup SERVER=prebuilt` fetches it")
    assert _fetch(prebuilt) == ["fetching prebuilt==1.2.3 from the Python package index, for SERVER=prebuilt"]
    program = program_of(prebuilt)
    assert program
    assert Path(program).read_text() == PROGRAM
    assert _cached(tmp_path) == [Path(program).parent, Path(program)]
    assert (lack_of(prebuilt), server_version(prebuilt)) == (None, "prebuilt 1.2.3")
    assert _fetch(prebuilt) == []


def test_its_wheel_is_recorded(prebuilt: Server) -> None:
    """The versions of a run have the wheel and its digest; those of a server without a wheel do not."""
    assert prebuilt.wheel
    digest = prebuilt.wheel.sha256[platform.machine()]
    assert wheel_versions(prebuilt) == {"wheel of SERVER=prebuilt": f"prebuilt==1.2.3, sha256 {digest}"}
    assert wheel_versions(catalogue()["nginx"]) == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda server: _changed(server, sha256={platform.machine(): "0" * 64}),
            "has the digest sha256:[0-9a-f]+, which",
        ),
        (
            lambda server: _changed(server, requirement="prebuilt==1.2.4"),
            "Could not find a version that satisfies the requirement prebuilt==1.2.4",
        ),
        (lambda server: _changed(server, path="prebuilt/bin/other"), "There is no item named 'prebuilt/bin/other'"),
    ],
    ids=["digest", "version", "path"],
)
def test_a_wheel_that_is_another_one(
    prebuilt: Server, change: Callable[[Server], Server], told: str, tmp_path: Path
) -> None:
    """A wheel with another digest, a version that the index lacks, and a wheel without the program are one line each.

    The cache stays empty.
    """
    with pytest.raises(StepFailed, match=told) as failed:
        _fetch(change(prebuilt))
    assert str(failed.value).startswith("fetching SERVER=prebuilt: ")
    assert "\n" not in str(failed.value)
    assert _cached(tmp_path) == []


def test_an_index_that_cannot_be_reached(prebuilt: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If no index answers, the error says so in one line."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(StepFailed, match=r"the package index cannot be reached \(Connection refused\)"):
        _fetch(prebuilt)
    assert _cached(tmp_path) == []


def test_a_machine_without_a_wheel(prebuilt: Server) -> None:
    """A machine for which the index has no wheel is told which machines have one."""
    server = _changed(prebuilt, sha256={"pdp11": "0" * 64})
    with pytest.raises(Unavailable, match=f"has wheels for pdp11, and this machine is {platform.machine()}"):
        _fetch(server)
    assert lack_of(server) == "prebuilt"


def test_an_edition_of_the_catalogue_can_be_run() -> None:
    """The lab can run every edition that the catalogue has as a wheel. The command that fetches an edition names it."""
    for name, server in catalogue().items():
        for edition in server.wheels:
            each = server_of(f"{name}@{edition}")
            check_edition(each)
            assert f"SERVER={name}@{edition}" in remedy_for(each)
