"""The same scenario and seed give the same events, to the nanosecond, alone, in a sweep, and beside other runs."""

import json

import pytest

from experiments.results.journal_lines import JOURNALS, lines
from tests.conftest import Lab
from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest")

_RANDOM = ("LOSS=3%", "JITTER=10ms", "CC=bbr", "SERVER=h2o", "SIZE=102400", "RELOADS=0", "SAMPLE=100ms")

_DIGITS = 14
"""The number of digits of every time in a guest's run. Longer lines would fill buffers sooner and so change the run."""

_TUNED = (*JOURNALS, "front/lowat.jsonl")


def test_the_same_seed_gives_the_same_bytes(lab: Lab) -> None:
    """With loss, jitter and TLS, the same seed gives the same journals, and another seed gives other journals."""
    folders = []
    for repeat in (2, 1):
        done = lab.run_here("FABRIC=virtual", "LOWAT=16384", "CONTROL=no", "SEED=7", f"REPEAT={repeat}", *_RANDOM)
        assert done.code == 0, done.trouble
        assert done.folder is not None
        assert done.arm("lowat-16384")["observed"]["seeded"] is True
        folders += [done.folder / f"lowat-16384.{number}" for number in range(1, repeat + 1)]
    first, other, same = folders
    for folder in folders:
        times_ns = [json.loads(line)["t_ns"] for line in (folder / "client/events.jsonl").read_text().splitlines()]
        assert {len(str(t_ns)) for t_ns in times_ns} == {_DIGITS}
    for journal in JOURNALS:
        assert (first / journal).read_bytes() == (same / journal).read_bytes(), journal
        assert list(lines(first / journal)) != list(lines(other / journal)), journal


def test_a_run_is_the_same_alone_and_in_a_sweep(lab: Lab) -> None:
    """A run has the same journals, the tuner's included, alone and in a sweep, whose runs share guests."""
    done = lab.command_here("sweep", "FABRIC=virtual", "LOWAT=none,16384,auto", "REPEAT=2", *_RANDOM)
    assert done.returncode == 0, done.stderr
    sweep = (lab.results / "latest").resolve()
    for seed, lowat, journals in (("1", "16384", JOURNALS), ("2", "16384", JOURNALS), ("2", "auto", _TUNED)):
        alone = lab.run_here("FABRIC=virtual", f"LOWAT={lowat}", "CONTROL=no", f"SEED={seed}", *_RANDOM)
        assert alone.code == 0, alone.trouble
        assert alone.folder is not None
        for journal in journals:
            once = list(lines(alone.folder / f"lowat-{lowat}.1" / journal))
            again = list(lines(sweep / f"lowat-{lowat}.{seed}" / journal))
            assert once, journal
            assert once == again, journal


def test_repetitions_have_seeds_of_their_own(run: Runs) -> None:
    """Each repetition has a seed of its own, which run.json records."""
    done = run("LOWAT=131072", "CONTROL=no", "REPEAT=2", "SEED=41", "SIZE=20480", "RELOADS=0")
    assert done.code == 0
    assert done.folder is not None
    documents = [json.loads(path.read_text()) for path in sorted(done.folder.glob("*/run.json"))]
    assert [document["seed"] for document in documents] == [41, 42]
