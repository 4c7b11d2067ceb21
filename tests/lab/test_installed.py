"""The lab installed as a package: an experiment from any folder, without the clone."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.lab import Lab
from tests.support.punctuality import any_late, must_be_punctual

_ROOT = Path(__file__).resolve().parents[2]
_SMALL = ("CONTROL=no", "RELOADS=0", "SIZE=20480", "RATE=1mbit", "DELAY=20ms")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the programs of an environment with the lab's wheel, which uses the dependencies of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    _copy(folder / "source")  # setuptools writes into the tree that it builds
    offline = ["--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*_PIP, "wheel", *offline, "-w", folder, folder / "source"], timeout=300, check=True)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], timeout=60, check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    # Only the path: Python does not read the .pth file there that makes the tests' lab editable.
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    (wheel,) = folder.glob("*.whl")
    there = ["--python", str(environment / "bin" / "python")]
    subprocess.run([*_PIP, *there, "install", "--no-deps", "--no-index", wheel], timeout=300, check=True)
    return environment / "bin"


def _copy(folder: Path) -> None:
    """Copies the checkout, without tests and without files that git ignores."""
    listed = ["git", "-C", str(_ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, capture_output=True, text=True, timeout=60, check=True)
    for name in done.stdout.split("\0"):
        if name and (_ROOT / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((_ROOT / name).read_bytes())


def _priolab(programs: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs / "priolab", *words], cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


def _was_late(programs: Path, folder: Path) -> bool:
    shown = _priolab(programs, folder, "show", "--json")
    return any_late(json.loads(shown.stdout) if shown.stdout else None)


def test_it_is_the_installed_one(programs: Path, tmp_path: Path) -> None:
    """The installed lab has the named scenarios, uses its own files, and names `priolab setup` instead of make."""
    listed = _priolab(programs, tmp_path, "list")
    assert listed.returncode == 0, listed.stderr
    assert "maps" in listed.stdout
    told = "from priolab.common import home; print(home.ROOT, home.setup_command())"
    done = subprocess.run(
        [programs / "python", "-c", told], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    root, *command = done.stdout.split()
    assert Path(root).is_relative_to(programs.parent)
    assert command == ["`priolab", "setup`"]
    assert (Path(root) / "compose.yaml").is_file()
    assert {path.name for path in Path(root).parent.iterdir()} & {
        "analysis",
        "client",
        "common",
        "experiments",
    } == set()


def test_the_man_page(programs: Path) -> None:
    """The man page is where man(1) looks for it, and pipx links it."""
    page = programs.parent / "share/man/man1/priolab.1"
    assert page.read_bytes() == (_ROOT / "docs/priolab.1").read_bytes()


def test_what_takes_a_clone_says_so(programs: Path, tmp_path: Path) -> None:
    """`priolab setup test` is refused with one line, because the tests need a clone of the repository."""
    done = _priolab(programs, tmp_path, "setup", "test")
    assert done.returncode == 1
    assert done.stderr == "setup: PART=test needs a clone of the lab, and `make setup-test` there\n"


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_in_namespaces(programs: Path, tmp_path: Path) -> None:
    """A run in namespaces writes its results into the current folder."""
    done = must_be_punctual(
        lambda: _priolab(programs, tmp_path, "run", "FABRIC=netns", *_SMALL),
        lambda _: _was_late(programs, tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "results/latest/lowat-131072.1/client/events.jsonl").is_file()


@pytest.mark.usefixtures("guest")
def test_in_the_guest(programs: Path, lab: Lab) -> None:
    """A run in the guest works with the installed code alone."""
    folder = lab.root / "elsewhere"
    folder.mkdir()
    done = _priolab(programs, folder, "run", "FABRIC=virtual", *_SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "results/latest/timeline.svg").is_file()
