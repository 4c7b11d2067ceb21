"""Tests of the files that containers see of the run folder, and of those collected from them."""

import os
import tempfile
from pathlib import Path

import pytest

from priolab.experiments.hosts.containers.mounts import Mounts
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.knobs import scenario_from

ME = (os.geteuid(), os.getegid())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """Return a run folder; mounted folders are made in a temporary folder of the test."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    folder = RunFolder(tmp_path / "run")
    folder.create()
    return folder


def own_folder(mounts: Mounts, service: str) -> Path:
    """Return the folder into which the service writes."""
    return Path(mounts.volumes(service)[1]["source"])


def test_the_run_folder_itself_is_not_mounted(folder: RunFolder) -> None:
    """A service has a read-only copy of the order, and writes to a folder outside the run folder.

    The path in the container does not depend on the run folder's path, which may begin with /root. Services have no
    access to /root.
    """
    asked, own = Mounts(folder, ME, scenario_from({})).volumes("origin")
    assert asked["target"] == "/priolab-run/asked"
    assert asked["read_only"] is True
    assert own["target"] == "/priolab-run/origin"
    for mount in (asked, own):
        assert mount["type"] == "bind"
        assert not Path(mount["source"]).is_relative_to(folder.path)


def test_what_was_asked_is_handed_in(folder: RunFolder) -> None:
    """Changed files of the order are copied again, and only the service's user can read the copies."""
    mounts = Mounts(folder, ME, scenario_from({}))
    copies = Path(mounts.volumes("front")[0]["source"])
    (folder.asked / "front.key").write_text("secret")
    mounts.hand_in()
    (folder.asked / "front.json").write_text("[]")
    mounts.hand_in()
    assert {path.name for path in copies.iterdir()} == {"front.key", "front.json"}
    assert (copies / "front.key").stat().st_mode & 0o777 == 0o400


def test_what_is_left_is_collected(folder: RunFolder) -> None:
    """Gauge and front write to different folders, and both are collected into the run's folder `front`."""
    mounts = Mounts(folder, ME, scenario_from({}))
    (own_folder(mounts, "front") / "error.log").write_text("an error")
    (own_folder(mounts, "gauge") / "sockets.jsonl").write_text("{}")
    for service in ("front", "gauge"):
        mounts.collect(service)
    assert (folder.front / "error.log").read_text() == "an error"
    assert (folder.front / "sockets.jsonl").read_text() == "{}"


def test_what_the_lab_has_stays(folder: RunFolder) -> None:
    """A service cannot replace the plan that it was given."""
    mounts = Mounts(folder, ME, scenario_from({}))
    (folder.client / "plan.json").write_text("the plan")
    mounts.hand_to("client", "plan.json")
    copy = own_folder(mounts, "client") / "plan.json"
    assert copy.read_text() == "the plan"
    copy.chmod(0o600)
    copy.write_text("another")
    mounts.collect("client")
    assert (folder.client / "plan.json").read_text() == "the plan"


def test_only_plain_files_are_collected(folder: RunFolder, tmp_path: Path) -> None:
    """Links and FIFOs are not collected: a link could lead to any file, reading a FIFO could wait for ever."""
    mounts = Mounts(folder, ME, scenario_from({}))
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    inside = own_folder(mounts, "origin")
    (inside / "symbolic").symlink_to(secret)
    (inside / "hard").hardlink_to(secret)
    (inside / "folder").mkdir()
    os.mkfifo(inside / "pipe")
    mounts.collect("origin")
    assert list(folder.origin.iterdir()) == []
