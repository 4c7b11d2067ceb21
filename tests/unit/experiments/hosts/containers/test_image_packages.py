"""Tests of the versions in images: which look-ups run a container, and what the cache keeps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import TimedOut
from priolab.common.process import processes
from priolab.experiments.hosts.containers import image_packages

_WANTED = [("lab/origin:1", "nodejs"), ("lab/front:1", "nginx"), ("lab/front:1", "curl")]


class _Engine:
    """Answers the commands of docker; its images are ids by name and tag."""

    def __init__(self) -> None:
        self.images = {"lab/origin:1": "sha256:aa", "lab/front:1": "sha256:bb"}
        self.slow = False
        self.looked_up: list[str] = []

    def run(self, command: Sequence[str], *, step: str, timeout_s: float, **_: Any) -> str:
        """Returns the images with their ids, or the version of a package."""
        if "ls" in command:
            return "".join(f"{name} {image_id}\n" for name, image_id in self.images.items())
        if self.slow:
            raise TimedOut(step, " ".join(command), timeout_s, "")
        assert command[-5] not in self.images, "a listed image is named by its id"
        self.looked_up.append(command[-1])
        return f"{command[-1]} 1.{len(self.looked_up)}\n"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give the test a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "priolab" / "image-packages.json"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, cache: Path) -> _Engine:
    """Let an engine without containers answer."""
    del cache
    engine = _Engine()
    monkeypatch.setattr(processes, "run", engine.run)
    return engine


def test_an_image_is_asked_once(engine: _Engine) -> None:
    """The second call has the same versions in the same order, and runs no container."""
    first = image_packages.versions(_WANTED)
    assert sorted(engine.looked_up) == ["curl", "nginx", "nodejs"]
    assert [text.split()[0] for text in first] == ["nodejs", "nginx", "curl"]
    assert image_packages.versions(_WANTED) == first
    assert len(engine.looked_up) == 3


def test_a_new_image_is_asked_again(engine: _Engine) -> None:
    """If an image is built anew, the packages of this image are looked up, and no others."""
    first = image_packages.versions(_WANTED)
    engine.images["lab/front:1"] = "sha256:cc"
    second = image_packages.versions(_WANTED)
    assert sorted(engine.looked_up[3:]) == ["curl", "nginx"]
    assert second[0] == first[0]
    assert not set(second[1:]) & set(first)
    engine.images["lab/front:1"] = "sha256:bb"
    assert image_packages.versions(_WANTED) == first


@pytest.mark.parametrize("damaged", ["", "{", "[]", '{"sha256:aa nodejs": 1, "sha256:bb nginx": null}'])
def test_a_damaged_cache_is_written_anew(engine: _Engine, cache: Path, damaged: str) -> None:
    """A value that the cache does not have as text is looked up, and the cache has it afterwards."""
    cache.parent.mkdir()
    cache.write_text(damaged)
    found = image_packages.versions(_WANTED)
    assert len(engine.looked_up) == 3
    assert image_packages.versions(_WANTED) == found
    assert len(engine.looked_up) == 3


def test_a_cache_that_cannot_be_written_stops_nothing(engine: _Engine, cache: Path) -> None:
    """Without the cache each call looks up."""
    cache.parent.write_text("a file where the folder should be")
    assert len(image_packages.versions(_WANTED)) == 3
    assert len(image_packages.versions(_WANTED)) == 3
    assert len(engine.looked_up) == 6


def test_an_unknown_version_is_not_kept(engine: _Engine, cache: Path) -> None:
    """After a look-up that took too long the next call looks again."""
    engine.slow = True
    slow = "unknown: the program took more than 120 s to print its version"
    assert image_packages.versions(_WANTED) == [slow, slow, slow]
    assert not cache.exists()
    engine.slow = False
    assert slow not in image_packages.versions(_WANTED)


def test_an_image_without_id_is_not_kept(engine: _Engine) -> None:
    """If the engine does not name an image, its packages are looked up each time."""
    del engine.images["lab/front:1"]
    image_packages.versions(_WANTED)
    image_packages.versions(_WANTED)
    assert sorted(engine.looked_up) == ["curl", "curl", "nginx", "nginx", "nodejs"]
