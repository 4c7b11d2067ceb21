"""Experiments with files of the user's own: builds, a configuration, a server's folder outside the tree."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.lab import Done, Lab
from tests.support.own_files import PLAIN, build, server_folder, wrapper

_SHORT = ("LOWAT=16384", "CONTROL=no", "RELOADS=0", "SAMPLE=100ms")
_REAL = ("RATE=512kbps", "DELAY=50ms", *_SHORT)
_BUILDS = "PROGRAM=./old/nginx,./new/nginx"
_ARMS = ("old-nginx-lowat-16384", "new-nginx-lowat-16384")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with two builds, a configuration, and a server's folder; return the folder."""
    wrapper(tmp_path / "old" / "nginx", "nginx/0.9.1-mine")
    build(tmp_path / "new" / "nginx")
    server_folder(tmp_path / "mine")
    (tmp_path / "plain.conf").write_text(PLAIN)
    (tmp_path / "broken.conf").write_text(PLAIN.replace("keepalive 8;", "frobnicate 8;"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _versions(done: Done, arm: str) -> Mapping[str, Any]:
    assert done.folder
    found: dict[str, Any] = json.loads((done.folder / f"{arm}.1" / "env.json").read_text())["versions"]
    return found


def _must_be_measured(done: Done) -> None:
    """Check that both builds were measured alike, and that the records have their versions and digests."""
    assert done.code == 0, done.trouble
    old, new = (done.arm(arm) for arm in _ARMS)
    assert (old["verdict"], new["verdict"]) == ("kept", "kept")
    assert _versions(done, _ARMS[0])["nginx"] == "nginx version: nginx/0.9.1-mine"
    assert _versions(done, _ARMS[1])["nginx"] != "nginx version: nginx/0.9.1-mine"
    assert "nginx/0.9.1-mine, sha256 " in _versions(done, _ARMS[0])["PROGRAM=./old/nginx"]
    assert "sha256 " in _versions(done, _ARMS[1])["PROGRAM=./new/nginx"]
    assert done.folder
    front = json.loads((done.folder / f"{_ARMS[0]}.1" / "run.json").read_text())["front"]
    assert front["version"] == "nginx version: nginx/0.9.1-mine"
    assert _versions(done, _ARMS[0])["PROGRAM=./old/nginx"].endswith(f"sha256 {front['own']['program']}")
    fingerprint = json.loads((done.folder / "experiment.json").read_text())["fingerprint"]
    assert {"PROGRAM=./old/nginx", "PROGRAM=./new/nginx"} <= set(fingerprint["versions"])


@pytest.mark.usefixtures("guest", "files")
def test_two_builds(lab: Lab) -> None:
    """Two builds make an arm each. REUSE=yes finds the experiment again, until a build changes."""
    done = lab.run_here("FABRIC=virtual", _BUILDS, *_SHORT)
    _must_be_measured(done)
    assert lab.run_here("FABRIC=virtual", _BUILDS, "REUSE=yes", *_SHORT).folder == done.folder
    wrapper(Path("old/nginx"), "nginx/0.9.2-mine")
    assert lab.run_here("FABRIC=virtual", _BUILDS, "REUSE=yes", *_SHORT).folder != done.folder


@pytest.mark.punctual
@pytest.mark.usefixtures("netns", "files")
def test_two_builds_in_namespaces(lab: Lab) -> None:
    """The same experiment works in namespaces of this machine."""
    _must_be_measured(lab.run_on_time("FABRIC=netns", _BUILDS, *_REAL))


@pytest.mark.punctual
@pytest.mark.usefixtures("compose", "files")
def test_two_builds_in_containers(lab: Lab) -> None:
    """In containers a build runs with this machine's libraries, and a script with the image's programs."""
    _must_be_measured(lab.run_on_time("FABRIC=compose", _BUILDS, *_REAL))


@pytest.mark.usefixtures("guest")
def test_a_folder_outside_the_tree(lab: Lab, files: Path) -> None:
    """A server's folder is given by its path. The results have the path as given, a digest, and the configuration."""
    done = lab.run_here("FABRIC=virtual", "SERVER=./mine", *_SHORT)
    assert done.code == 0, done.trouble
    assert done.arm("lowat-16384")["verdict"] == "kept"
    assert "sha256 " in _versions(done, "lowat-16384")["SERVER=./mine"]
    assert done.folder
    run = done.folder / "lowat-16384.1"
    document = json.loads((run / "run.json").read_text())
    assert document["scenario"]["server"] == document["knobs"]["SERVER"] == "./mine"
    assert (run / "asked" / "own-mine.conf").exists()
    assert json.loads((run / "asked" / "front.json").read_text())[0] == str(files / "mine" / "server")


@pytest.mark.punctual
@pytest.mark.usefixtures("compose", "files")
def test_a_folder_in_containers(lab: Lab) -> None:
    """In containers the folder and its program are mounted read-only."""
    done = lab.run_on_time("FABRIC=compose", "SERVER=./mine", *_REAL)
    assert done.code == 0, done.trouble
    assert done.folder
    command = json.loads((done.folder / "lowat-16384.1" / "asked" / "front.json").read_text())
    assert command[0] == "/priolab-own/program/server"
    override = json.loads((done.folder / "lowat-16384.1" / "asked" / "compose.json").read_text())
    own = [each for each in override["services"]["front"]["volumes"] if each["target"].startswith("/priolab-own")]
    assert [each["read_only"] for each in own] == [True, True]


@pytest.mark.usefixtures("guest", "files")
def test_a_configuration(lab: Lab) -> None:
    """A configuration of the user's own replaces the template, beside an arm with the lab's own."""
    done = lab.run_here("FABRIC=virtual", "CONFIG=stock,plain.conf", *_SHORT)
    assert done.code == 0, done.trouble
    stock, plain = (done.arm(f"{name}-lowat-16384") for name in ("stock", "plain.conf"))
    assert stock["script"] == plain["script"]
    assert done.folder
    assert "CONFIG=plain.conf" in _versions(done, "plain.conf-lowat-16384")
    assert "CONFIG=plain.conf" not in _versions(done, "stock-lowat-16384")


@pytest.mark.usefixtures("guest", "files")
def test_a_broken_configuration(lab: Lab) -> None:
    """A configuration that the server refuses gives its first error in one line, with the path of the log."""
    done = lab.run_here("FABRIC=virtual", "CONFIG=broken.conf", *_SHORT)
    assert done.code == 1
    arm = done.arm("lowat-16384")
    assert arm["status"] == "failed"
    assert done.folder
    log = done.folder / "lowat-16384.1" / "front" / "output.log"
    assert 'broken.conf: it did not start: nginx: [emerg] unknown directive "frobnicate" in ' in arm["reason"]
    assert arm["reason"].endswith(f"(log: {log})")
    assert log.exists()
    assert "\n" not in arm["reason"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("PROGRAM=./strange",),
            "PROGRAM=./strange cannot be used here: its loader /lib64/ld-other-x86-64.so.2 does not",
        ),
        (("PROGRAM=./absent",), "PROGRAM=./absent cannot be used here: "),
        (("PROGRAM=./mine",), "PROGRAM=./mine cannot be used here: it is a folder; name the program in it"),
        (("SERVER=./absent",), "SERVER=./absent is not allowed; allowed: the path of a server's folder ("),
    ],
)
@pytest.mark.usefixtures("guest", "files")
def test_what_cannot_run_is_found_beforehand(lab: Lab, words: tuple[str, ...], told: str) -> None:
    """A program for another C library, a missing file, a folder: one line each, and no results."""
    build(Path("strange"), b"/lib64/ld-linux-x86-64.so.2", b"/lib64/ld-other-x86-64.so.2")
    done = lab.run_here("FABRIC=virtual", *words)
    assert done.code != 0
    assert told in done.err
    assert not lab.results.exists() or not os.listdir(lab.results)  # noqa: PTH208 - the names alone


@pytest.mark.usefixtures("guest")
def test_the_guest_has_folders_of_its_own(lab: Lab) -> None:
    """A file in a folder that the guest mounts anew is refused before the runs: the guest would not see it."""
    done = lab.run_here("FABRIC=virtual", "PROGRAM=/proc/self/exe")
    assert done.code != 0
    assert (
        "PROGRAM=/proc/self/exe with FABRIC=virtual cannot be used here: the guest has a /proc of its own" in done.err
    )
