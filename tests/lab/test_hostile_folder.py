"""Commands that are started in a folder with other people's files import and read none of these files."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from priolab.client.plan import PROBE_LEAST_BYTES
from tests.support.fronts import NAME, running_front
from tests.support.lab import Lab
from tests.support.punctuality import must_be_punctual, was_late

_PATIENCE_S = 120.0
_TINY = ("SIZE=20480", "RELOADS=0", "RATE=1mbit", "DELAY=20ms")
_MODULES = (
    *("analysis", "client", "common", "experiments", "netem", "proxy", "testbed"),
    *("altair", "cryptography", "h2", "jsonschema", "rich", "vl_convert", "yaml"),
    *("ctypes", "json", "socket", "ssl", "tomllib", "venv", "sitecustomize", "usercustomize"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with modules of known names, which record that they were run, and broken settings files."""
    made = tmp_path / "hostile"
    made.mkdir()
    for name in _MODULES:
        (made / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write('{name} ')\n")
    (made / ".env").write_text("COMPOSE_FILE=/nowhere/compose.yaml\nCOMPOSE_PROJECT_NAME=hostile\nRATE=1kbit\n")
    module = made / "node_modules" / "spdy-transport"
    module.mkdir(parents=True)
    (module / "index.js").write_text(
        f"require('fs').appendFileSync({str(tmp_path / 'executed')!r}, 'spdy-transport ')\n"
    )
    for name in ("compose.yaml", "pyproject.toml", "package.json", "nginx.conf", "matplotlibrc", ".npmrc", "pip.conf"):
        (made / name).write_text("}{ this is no configuration\n")
    return made


def _priolab(lab: Lab, folder: Path, *words: str) -> str:
    """Returns the output of the installed command. The command must succeed and run nothing of the folder.

    If the busy machine delayed the lab's processes too long, the command is repeated.
    """
    command = [str(Path(sys.executable).with_name("priolab")), *words]

    def go() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=folder, env=lab.environment, capture_output=True, text=True, timeout=240, check=False
        )

    done = must_be_punctual(go, lambda done: was_late(done.stdout))
    executed = folder.parent / "executed"
    assert not executed.exists(), executed.read_text()
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "words", [("list",), ("list", "networks"), ("doctor",), ("kernel", "--help"), ("setup", "--help")]
)
def test_looking_around(lab: Lab, folder: Path, words: tuple[str, ...]) -> None:
    """Commands that run no experiment run nothing of the folder."""
    assert _priolab(lab, folder, *words)


@pytest.mark.usefixtures("guest")
def test_from_a_sweep_to_its_figures(lab: Lab, folder: Path) -> None:
    """A sweep in the guest, and the commands that evaluate it, run nothing of the folder."""
    results = f"RESULTS={lab.results}"
    _priolab(lab, folder, "sweep", results, "FABRIC=virtual", "LOWAT=none,16384", "REPEAT=1", *_TINY)
    latest = str(lab.results / "latest")
    for words in (("show",), ("figures",), ("knee",), ("export", "--to", "har")):
        assert _priolab(lab, folder, *words, latest)


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_in_namespaces(lab: Lab, folder: Path) -> None:
    """An experiment in namespaces runs nothing of the folder, although each place starts programs of its own."""
    words = (f"RESULTS={lab.results}", "FABRIC=netns", "SHAPER=ferry", "CONTROL=no", *_TINY)
    assert "netns" in _priolab(lab, folder, "run", *words)


@pytest.mark.punctual
@pytest.mark.usefixtures("compose")
def test_in_containers(lab: Lab, folder: Path) -> None:
    """An experiment in containers uses no compose file and no .env of the folder."""
    words = (f"RESULTS={lab.results}", "FABRIC=compose", "SHAPER=ferry", "CONTROL=no", *_TINY)
    assert "compose" in _priolab(lab, folder, "run", *words)


@pytest.mark.usefixtures("guest")
def test_the_demo(lab: Lab, folder: Path) -> None:
    """The demo runs its first experiment, and runs nothing of the folder."""
    command = [
        str(Path(sys.executable).with_name("priolab")),
        "demo",
        "--port",
        "0",
        "--no-browser",
        f"RESULTS={lab.results}",
    ]
    with subprocess.Popen(
        command, cwd=folder, env=lab.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            end = time.monotonic() + _PATIENCE_S
            while not list(lab.results.glob("*/run.json")) + list(lab.results.glob("*/*/run.json")):
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.2)
        finally:
            process.terminate()
    assert not (folder.parent / "executed").exists()


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize(
    "words",
    [
        *(("reproduce",), ("slides",), ("auto", "{file}"), ("matrix", "{file}", "SERVER=nginx", "DIALECT=plain")),
        *(("sabotage", "{file}"), ("agreement", "{file}")),
    ],
)
def test_the_first_run_of_a_study(lab: Lab, folder: Path, words: tuple[str, ...]) -> None:
    """A study, interrupted when its first client has recorded events, runs nothing of the folder."""
    filled = [word.format(file=lab.root / "document.md") for word in words]
    if words[0] not in ("sabotage", "agreement"):
        filled.append(f"RESULTS={lab.results}")
    command = [str(Path(sys.executable).with_name("priolab")), *filled]
    with subprocess.Popen(
        command, cwd=folder, env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            end = time.monotonic() + _PATIENCE_S
            while not list(lab.root.glob("**/client/events.jsonl")):
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < end
                time.sleep(0.1)
        finally:
            process.terminate()
        said, _ = process.communicate(timeout=_PATIENCE_S)
    assert "interrupted by SIGTERM" in said
    assert not (folder.parent / "executed").exists()


@pytest.mark.needs("nginx")
def test_a_probe(lab: Lab, folder: Path, tmp_path: Path) -> None:
    """A probe of a running server runs nothing of the folder."""
    (tmp_path / "front").mkdir()
    with running_front("nginx", tmp_path / "front", size_bytes=PROBE_LEAST_BYTES) as (settings, _):
        address = f"https://{NAME}:{settings.port}/image.jpg"
        words = ("--connect", "127.0.0.1", "--ca", str(settings.certificates.ca), "--dialect", "chrome")
        assert "chrome" in _priolab(lab, folder, "probe", address, *words, "--pause", "30ms")


def test_a_set_up(lab: Lab, folder: Path) -> None:
    """A set-up that has nothing to install runs nothing of the folder."""
    _priolab(lab, folder, "setup", "environment")
