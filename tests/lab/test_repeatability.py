"""The same scenario and seed give the same events, to the nanosecond, and counts, alone and beside other runs."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.experiments.results.journal_lines import JOURNALS, lines
from priolab.proxy.server import server_of
from tests.support.lab import Done, Lab, make_lab

pytestmark = pytest.mark.usefixtures("guest", "own_guests")

_RANDOM = ("LOSS=3%", "JITTER=10ms", "CC=bbr", "SIZE=102400", "RELOADS=0", "SAMPLE=100ms")

_DIGITS = 14
"""The number of digits of every time in a guest's run. Longer lines would fill buffers sooner and so change the run."""

_WRITTEN = (*JOURNALS, "front/counters.json")
_TUNED = (*_WRITTEN, "front/lowat.jsonl")

_FRONTS = [
    ("nginx", "node"),
    pytest.param(("spdy", "trafficserver"), marks=pytest.mark.needs("spdy", "trafficserver")),
]
"""nginx has all its files from Debian; node and trafficserver have some in the checkout, spdy in the cache, too."""

_GO = ("caddy", "go", "traefik")
"""Servers made with Go, which has two processors (GOMAXPROCS=2)."""

_FIXED = ("FABRIC=virtual", "CONTROL=no", "LOWAT=16384", "SIZE=102400", "RELOADS=0")
_CHECKOUT = Path(__file__).resolve().parents[2]
_CODE = ("analysis", "backend", "client", "common", "experiments", "netem", "proxy", "testbed")


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Returns an experiment whose arm has two repetitions, with the seeds 7 and 8."""
    return _done(make_lab(tmp_path_factory.mktemp("twice")), "LOWAT=16384", "REPEAT=2", "SEED=7")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Returns a run that is alone in its guest, with the seed 7."""
    return _done(make_lab(tmp_path_factory.mktemp("alone")), "LOWAT=16384", "SEED=7")


def _done(lab: Lab, *words: str) -> Done:
    done = lab.run_here("FABRIC=virtual", "CONTROL=no", *words, *_RANDOM)
    assert done.code == 0, done.trouble
    assert done.folder is not None
    return done


def _folder(done: Done, run: str) -> Path:
    assert done.folder is not None
    return done.folder / run


def test_the_same_seed_gives_the_same_bytes(twice: Done, alone: Done) -> None:
    """With loss, jitter and TLS, the same seed gives the same journals, and another seed gives other journals."""
    for done in (twice, alone):
        assert done.arm("lowat-16384")["observed"]["seeded"] is True
    first, other, same = (
        _folder(twice, "lowat-16384.1"),
        _folder(twice, "lowat-16384.2"),
        _folder(alone, "lowat-16384.1"),
    )
    for folder in (first, other, same):
        times_ns = [json.loads(line)["t_ns"] for line in (folder / "client/events.jsonl").read_text().splitlines()]
        assert {len(str(t_ns)) for t_ns in times_ns} == {_DIGITS}
    for journal in _WRITTEN:
        assert (first / journal).read_bytes() == (same / journal).read_bytes(), journal
        assert list(lines(first / journal)) != list(lines(other / journal)), journal


def test_a_run_is_the_same_alone_and_in_a_sweep(lab: Lab, alone: Done) -> None:
    """A run has the same journals, the tuner's included, alone and in a sweep, whose runs share guests."""
    swept = lab.command_here(
        "sweep", "FABRIC=virtual", "LOWAT=none,16384,auto", "JS_DELAY=200ms", "REPEAT=2", "SEED=7", *_RANDOM
    )
    assert swept.returncode == 0, swept.stderr
    sweep = (lab.results / "latest").resolve()
    runs = (
        (alone, "16384", 1, _WRITTEN),
        (_done(lab, "LOWAT=16384", "SEED=8"), "16384", 2, _WRITTEN),
        (_done(lab, "LOWAT=auto", "SEED=8"), "auto", 2, _TUNED),
    )
    for done, lowat, repetition, journals in runs:
        for journal in journals:
            once = list(lines(_folder(done, f"lowat-{lowat}.1") / journal))
            again = list(lines(sweep / f"lowat-{lowat}.{repetition}" / journal))
            assert once, journal
            assert once == again, journal


def test_repetitions_have_seeds_of_their_own(twice: Done) -> None:
    """Each repetition has a seed of its own, which run.json records."""
    assert twice.folder is not None
    documents = [json.loads(path.read_text()) for path in sorted(twice.folder.glob("*/run.json"))]
    assert [document["seed"] for document in documents] == [7, 8]


@pytest.mark.parametrize("fronts", _FRONTS, ids=",".join)
def test_names_of_folders_have_no_effect(lab: Lab, tmp_path: Path, fronts: Sequence[str]) -> None:
    """A copy of the lab in a folder with another name, run with another PATH and another cache, has the same journals
    and TLS keys, also of fronts with files in the checkout or in the cache.
    """
    copy = tmp_path / "a-checkout-whose-path-is-longer-than-most"
    for folder in _CODE:
        shutil.copytree(_CHECKOUT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "a-cache-whose-path-is-longer-than-most" / "priolab"
    cache.mkdir(parents=True)
    for kept in cache_folder().iterdir():
        copied = kept.name.startswith("npm-")  # the path of a link's target would be what Node sees
        shutil.copytree(kept, cache / kept.name) if copied else (cache / kept.name).symlink_to(kept)
    words = (f"SERVER={','.join(fronts)}", *_FIXED)
    here = lab.run_unseen(*words)
    assert here.code == 0, here.trouble
    command = [sys.executable, "-P", "-m", "priolab.experiments", "run", f"RESULTS={copy}", *words, "--print-folder"]
    path = os.pathsep.join([os.environ["PATH"], "/a/folder/that/does/not/exist"])
    environment = lab.environment | {"PYTHONPATH": str(copy), "PATH": path, "XDG_CACHE_HOME": str(cache.parent)}
    there = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert there.returncode == 0, there.stderr
    for run, file in product((f"{server}-lowat-16384.1" for server in fronts), _WRITTEN):
        written = list(lines(Path(there.stdout.strip()) / run / file))  # a guest may take another run first
        assert written == list(lines(_folder(here, run) / file)), (run, file)


@pytest.mark.needs(*_GO)
def test_two_processors_of_go_repeat(lab: Lab) -> None:
    """Servers made with Go have the same journals in two guests, though Go runs with two processors."""
    for server in _GO:
        assert "GOMAXPROCS=2" in server_of(server).command
    once, again = (lab.run_unseen(f"SERVER={','.join(_GO)}", *_FIXED, "DIALECT=header") for _ in range(2))
    assert (once.code, again.code) == (0, 0), (once.trouble, again.trouble)
    for run, journal in product((f"{server}-lowat-16384.1" for server in _GO), _WRITTEN):
        assert (_folder(once, run) / journal).read_bytes() == (_folder(again, run) / journal).read_bytes(), (
            run,
            journal,
        )
