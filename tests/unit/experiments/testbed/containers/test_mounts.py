"""What containers see of the run folder, and what of theirs comes into it."""

import os
import tempfile
from pathlib import Path

import pytest

from experiments.results.run_folder import RunFolder
from experiments.testbed.containers.mounts import Rooms

ME = (os.geteuid(), os.getegid())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run folder, and a temporary folder for the rooms."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    folder = RunFolder(tmp_path / "run")
    folder.create()
    return folder


def room(rooms: Rooms, service: str) -> Path:
    """Where the service writes."""
    return Path(rooms.mounts(service)[1]["source"])


def test_the_run_folder_itself_is_not_mounted(folder: RunFolder) -> None:
    """What was asked is a read-only copy; what is written goes to a room outside.

    Nor is its place on this machine known inside: an image's /root is closed to the services.
    """
    asked, own = Rooms(folder, ME).mounts("origin")
    assert asked["target"] == "/priolab-run/asked"
    assert asked["read_only"] is True
    assert own["target"] == "/priolab-run/origin"
    for mount in (asked, own):
        assert mount["type"] == "bind"
        assert not Path(mount["source"]).is_relative_to(folder.path)


def test_what_was_asked_is_handed_in(folder: RunFolder) -> None:
    """Again when it has changed; only the service's user can read it."""
    rooms = Rooms(folder, ME)
    copies = Path(rooms.mounts("front")[0]["source"])
    (folder.asked / "front.key").write_text("secret")
    rooms.hand_in()
    (folder.asked / "front.json").write_text("[]")
    rooms.hand_in()
    assert {path.name for path in copies.iterdir()} == {"front.key", "front.json"}
    assert (copies / "front.key").stat().st_mode & 0o777 == 0o400


def test_what_is_left_is_collected(folder: RunFolder) -> None:
    """Gauge and front write into rooms of their own, and both into the run's folder front."""
    rooms = Rooms(folder, ME)
    (room(rooms, "front") / "error.log").write_text("an error")
    (room(rooms, "gauge") / "sockets.jsonl").write_text("{}")
    for service in ("front", "gauge"):
        rooms.collect(service)
    assert (folder.front / "error.log").read_text() == "an error"
    assert (folder.front / "sockets.jsonl").read_text() == "{}"


def test_what_the_lab_has_stays(folder: RunFolder) -> None:
    """A service cannot replace the plan it was given."""
    rooms = Rooms(folder, ME)
    (folder.client / "plan.json").write_text("the plan")
    rooms.hand_to("client", "plan.json")
    copy = room(rooms, "client") / "plan.json"
    assert copy.read_text() == "the plan"
    copy.chmod(0o600)
    copy.write_text("another")
    rooms.collect("client")
    assert (folder.client / "plan.json").read_text() == "the plan"


def test_only_plain_files_are_collected(folder: RunFolder, tmp_path: Path) -> None:
    """Neither links, by which a service would have the lab read for it, nor pipes, which would hold it up."""
    rooms = Rooms(folder, ME)
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    inside = room(rooms, "origin")
    (inside / "symbolic").symlink_to(secret)
    (inside / "hard").hardlink_to(secret)
    (inside / "folder").mkdir()
    os.mkfifo(inside / "pipe")
    rooms.collect("origin")
    assert list(folder.origin.iterdir()) == []
