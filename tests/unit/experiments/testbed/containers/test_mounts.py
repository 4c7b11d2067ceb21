"""What containers see of the run folder, and what of theirs comes into it."""

import os
import tempfile
from pathlib import Path

import pytest

from experiments.results.run_folder import RunFolder
from experiments.testbed.containers.mounts import Mounts

ME = (os.geteuid(), os.getegid())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run folder, and a temporary folder for what is mounted."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    folder = RunFolder(tmp_path / "run")
    folder.create()
    return folder


def own_folder(mounts: Mounts, service: str) -> Path:
    """Where the service writes."""
    return Path(mounts.volumes(service)[1]["source"])


def test_the_run_folder_itself_is_not_mounted(folder: RunFolder) -> None:
    """What was asked is a read-only copy; what is written goes to a folder outside.

    Nor is its place on this machine known inside: an image's /root is closed to the services.
    """
    asked, own = Mounts(folder, ME).volumes("origin")
    assert asked["target"] == "/priolab-run/asked"
    assert asked["read_only"] is True
    assert own["target"] == "/priolab-run/origin"
    for mount in (asked, own):
        assert mount["type"] == "bind"
        assert not Path(mount["source"]).is_relative_to(folder.path)


def test_what_was_asked_is_handed_in(folder: RunFolder) -> None:
    """Again when it has changed; only the service's user can read it."""
    mounts = Mounts(folder, ME)
    copies = Path(mounts.volumes("front")[0]["source"])
    (folder.asked / "front.key").write_text("secret")
    mounts.hand_in()
    (folder.asked / "front.json").write_text("[]")
    mounts.hand_in()
    assert {path.name for path in copies.iterdir()} == {"front.key", "front.json"}
    assert (copies / "front.key").stat().st_mode & 0o777 == 0o400


def test_what_is_left_is_collected(folder: RunFolder) -> None:
    """Gauge and front write into folders of their own, and both into the run's folder front."""
    mounts = Mounts(folder, ME)
    (own_folder(mounts, "front") / "error.log").write_text("an error")
    (own_folder(mounts, "gauge") / "sockets.jsonl").write_text("{}")
    for service in ("front", "gauge"):
        mounts.collect(service)
    assert (folder.front / "error.log").read_text() == "an error"
    assert (folder.front / "sockets.jsonl").read_text() == "{}"


def test_what_the_lab_has_stays(folder: RunFolder) -> None:
    """A service cannot replace the plan it was given."""
    mounts = Mounts(folder, ME)
    (folder.client / "plan.json").write_text("the plan")
    mounts.hand_to("client", "plan.json")
    copy = own_folder(mounts, "client") / "plan.json"
    assert copy.read_text() == "the plan"
    copy.chmod(0o600)
    copy.write_text("another")
    mounts.collect("client")
    assert (folder.client / "plan.json").read_text() == "the plan"


def test_only_plain_files_are_collected(folder: RunFolder, tmp_path: Path) -> None:
    """Neither links, by which a service would have the lab read for it, nor pipes, which would hold it up."""
    mounts = Mounts(folder, ME)
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    inside = own_folder(mounts, "origin")
    (inside / "symbolic").symlink_to(secret)
    (inside / "hard").hardlink_to(secret)
    (inside / "folder").mkdir()
    os.mkfifo(inside / "pipe")
    mounts.collect("origin")
    assert list(folder.origin.iterdir()) == []
