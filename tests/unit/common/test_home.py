"""Tests of the paths of the lab's own files, in a clone and in an installation."""

from pathlib import Path

import pytest

from priolab.common import home


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an installation: the packages and the shared files in one folder."""
    packages = tmp_path / "packages"
    for name in home._IN_IMAGES:
        (packages / name / "__pycache__").mkdir(parents=True)
        (packages / name / "Dockerfile").write_text(f"# {name}\n")
    for name in home._SHARED:
        (packages / name).write_text(f"# {name}\n")
    monkeypatch.setattr(home, "ROOT", packages)
    monkeypatch.setattr(home, "is_clone", lambda: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_this_is_a_clone() -> None:
    """In a clone, images are built from the tree itself, and messages name make."""
    assert home.is_clone()
    assert home.image_folder("tag") == home.ROOT
    assert home.IMPORTED_FROM == home.ROOT
    assert home.setup_command() == "`make setup`"
    assert home.setup_command("SERVER=h2o") == "`make setup SERVER=h2o`"
    assert home.kernel_command() == "`make kernel`"
    assert home.kernel_command("/k.tar.gz") == "`make kernel KERNEL=/k.tar.gz`"
    assert home.run_command("TRACE=t") == "make experiment TRACE=t"


def test_an_installed_lab_has_no_make(installed: Path) -> None:
    """Messages of an installed lab name `priolab` and not make."""
    assert installed.is_dir()
    assert home.setup_command("SERVER=h2o") == "`priolab setup SERVER=h2o`"
    assert home.kernel_command() == "`priolab kernel`"
    assert home.kernel_command("/k.tar.gz") == "`PRIOLAB_KERNEL=/k.tar.gz priolab kernel`"
    assert home.run_command("TRACE=t") == "priolab run TRACE=t"


def test_images_of_an_installed_lab(installed: Path) -> None:
    """The files for images are copied once to the cache, in the layout of a clone."""
    folder = home.image_folder("tag")
    assert folder == installed / "cache/priolab/images-tag"
    files = {str(file.relative_to(folder)) for file in folder.rglob("*")}
    assert files == {*home._SHARED, *home._IN_IMAGES, *(f"{name}/Dockerfile" for name in home._IN_IMAGES)}
    (folder / "mark").touch()
    assert (home.image_folder("tag") / "mark").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["images-tag"]


def test_all_that_images_are_made_of_is_there() -> None:
    """All sources of the images exist, because the images' name is a digest of them."""
    assert [name for name in home.IMAGE_SOURCES if not (home.ROOT / name).exists()] == []
