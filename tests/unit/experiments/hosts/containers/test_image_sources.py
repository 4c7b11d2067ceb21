"""Tests of what the images are made of, in a clone and in an installed lab."""

from pathlib import Path

import pytest

from priolab.common import home
from priolab.experiments.hosts.containers.image_sources import APART, FILES, FOLDERS, IMAGE_SOURCES, image_folder


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an installation: the packages and the shared files in one folder."""
    packages = tmp_path / "packages"
    for name in FOLDERS:
        (packages / name / "__pycache__").mkdir(parents=True)
        (packages / name / "Dockerfile").write_text(f"# {name}\n")
    for name in FILES:
        (packages / name).write_text(f"# {name}\n")
    monkeypatch.setattr(home, "ROOT", packages)
    monkeypatch.setattr(home, "is_clone", lambda: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_a_clone_is_used_as_it_is() -> None:
    """In a clone, images are built from the tree itself."""
    assert image_folder("tag") == home.ROOT


def test_images_of_an_installed_lab(installed: Path) -> None:
    """The files for images are copied once to the cache, in the layout of a clone."""
    folder = image_folder("tag")
    assert folder == installed / "cache/priolab/images-tag"
    files = {str(file.relative_to(folder)) for file in folder.rglob("*")}
    assert files == {*FILES, *FOLDERS, *(f"{name}/Dockerfile" for name in FOLDERS)}
    (folder / "mark").touch()
    assert (image_folder("tag") / "mark").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["images-tag"]


def test_all_that_images_are_made_of_is_there() -> None:
    """All sources of the images exist, because the images' name is a digest of them."""
    assert [name for name in IMAGE_SOURCES if not (home.ROOT / name).exists()] == []


def test_what_is_apart_is_in_no_image() -> None:
    """A change of what no image needs leaves the images' name. So no image has it, and it exists."""
    ignored = (home.ROOT / ".dockerignore").read_text().splitlines()
    assert [name for name in APART if name not in ignored or not (home.ROOT / name).is_dir()] == []
