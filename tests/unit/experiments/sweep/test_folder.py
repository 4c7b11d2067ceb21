"""Tests of a sweep's folder, which another process continues if the lab was killed."""

import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import StepFailed
from priolab.common.formats.run import Status
from priolab.common.formats.sweep import SweepArmRecord, SweepRecord
from priolab.experiments.execution.conclusion import Ending, Run
from priolab.experiments.execution.executor import OnEnded, RunStore
from priolab.experiments.results.run_folder import wrecks
from priolab.experiments.scenario.scenario import FrontKey
from priolab.experiments.setup.tools import Tools
from priolab.experiments.sweep.folder import SweepFolder, unfinished, wreck_in_words
from priolab.experiments.sweep.sweep import Sweep, SweepProgress, run_sweep
from priolab.testbed.process.work_folder import PARTIAL
from tests.support import builders
from tests.support.sweeping import DEAF, sweep_of

_GOLDEN = Path(__file__).parents[3] / "golden-sweep" / "sweep.json"
VALUES = {"LOWAT": ("none", "4096", "16384"), "CC": ("cubic", "bbr")}
_TOUCHING = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.symlink", "shutil.rmtree")


class Scribe:
    """An executor that writes a run.json and no other file, and writes the names of its runs to a pipe.

    statuses: by run, for runs that are not ok.
    stop_at: the number of the run at which KeyboardInterrupt is raised.
    """

    side_by_side = runs_per_command = 1

    def __init__(
        self, pipe: int | None = None, *, statuses: dict[str, Status] | None = None, stop_at: int = -1
    ) -> None:
        self.made: list[str] = []
        self._pipe = pipe
        self._statuses = statuses or {}
        self._stop_at = stop_at

    def prepare(self, *_: object) -> dict[FrontKey, Tools]:
        return {("nginx", None, None, None): Tools(programs={}, versions={"nginx": "1"})}

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        for number, run in enumerate(runs):
            if number == self._stop_at:
                raise KeyboardInterrupt
            if self._pipe is not None:
                os.write(self._pipe, f"{run.name}\n".encode())
            folder = store.building(run.name)
            folder.create()
            status: Status = self._statuses.get(run.name, "ok")
            folder.run.write_text(json.dumps(builders.run(run.arm.name, status=status).record.as_document()))
            store.file(run.name)
            self.made.append(run.name)
            ended(run, Ending(status=status, reason=None))


def sweep(results: Path, **more: Any) -> Sweep:
    return sweep_of(VALUES, repeat=2, results=results, **more)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    """Whenever the lab is killed, the next process continues, and repeats at most the run that was in progress."""
    draw, wanted = random.Random(seed), sweep(tmp_path)
    names = wanted.order()
    begun: Counter[str] = Counter()
    kills, finished = 0, False
    found: list[Path] = []
    while not finished and kills < 100:
        names_begun, finished = _killed(wanted, at=draw.randrange(1, 60))
        kills += not finished
        begun.update(names_begun)
        found = [path for path in tmp_path.iterdir() if not path.is_symlink() and (path / "sweep.json").exists()]
        assert len(found) <= 1, "there is one folder, and it is gone on with"
        for path in (path for folder in found for path in folder.iterdir() if path.is_dir()):
            assert path.suffix == PARTIAL or json.loads((path / "run.json").read_text())["status"] == "ok"
    (folder,) = found
    assert kills > 2
    assert begun.total() <= len(names) + kills
    assert {*names, "sweep.json", "experiment.json"} == {path.name for path in folder.iterdir()}
    assert json.loads((folder / "experiment.json").read_text())["runs"] == list(wanted.runs())
    assert (tmp_path / "latest").readlink() == Path(folder.name)


def _killed(wanted: Sweep, at: int) -> tuple[list[str], bool]:
    """Run the sweep in a process that is killed before its `at`-th operation on files.
    Return the runs that began, and whether the process ended by itself.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            _die_at(at, wanted.results)
            run_sweep(wanted, Scribe(writing), DEAF)
        except BaseException:
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:  # noqa: PTH123
        begun = pipe.read().split()
    _, status = os.waitpid(pid, 0)
    assert status in (0, signal.SIGKILL)
    return begun, status == 0


def _die_at(number: int, results: Path) -> None:
    """Kill this process before its operation of this number on files in the results folder."""
    touched = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal touched
        if event in _TOUCHING and str(arguments[0]).startswith(str(results)):
            touched += 1
            if touched == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def test_the_document(tmp_path: Path) -> None:
    """sweep.json exists before the first run, and has the sweep's grid, arms, and order."""
    wanted = sweep(tmp_path, seed=3)
    seen: list[dict[str, Any]] = []
    progress = SweepProgress(
        step=lambda _: None,
        opened=lambda folder: seen.append(json.loads((folder.path / "sweep.json").read_text())),
        ended=lambda *_: None,
    )
    folder = run_sweep(wanted, Scribe(), progress)
    (document,) = seen
    assert json.loads((folder / "sweep.json").read_text()) == document
    assert document["sweep"] == folder.name
    assert (document["name"], document["title"], document["fabric"]) == ("mine", "Mine", "copying")
    assert document["grid"] == {"LOWAT": ["none", "4096", "16384"], "CC": ["cubic", "bbr"]}
    assert document["fixed"] == {"SIZE": "20480", "RELOADS": "0"}
    assert (document["repeat"], document["seed"], document["order_seed"]) == (2, 3, 3)
    first, *_, twin = document["arms"]
    assert first["arm"] == "lowat-none_cc-cubic"
    assert (first["levels"], first["twin_of"]) == ({"LOWAT": "none", "CC": "cubic"}, None)
    assert (twin["arm"], twin["twin_of"]) == ("lowat-none_cc-bbr_twin", "lowat-none_cc-bbr")
    assert twin["knobs"]["SIZE"] == "20480"
    assert document["order"] == wanted.order()


def test_an_interrupted_sweep_stays(tmp_path: Path) -> None:
    """An interrupted sweep keeps its finished runs. Its folder is removed if there are none."""
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep(tmp_path), Scribe(stop_at=0), DEAF)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep(tmp_path), Scribe(stop_at=5), DEAF)
    (folder,) = tmp_path.iterdir()
    assert unfinished(folder) == f"5 of 16 runs are in {folder}"
    assert wrecks(tmp_path) == [folder]
    assert wreck_in_words(folder).startswith(f"5 of 16 runs are in {folder}: an interrupted sweep")
    (tmp_path / "maps.partial").mkdir()
    assert wreck_in_words(tmp_path / "maps.partial").startswith("ignoring ")


def test_what_is_made_again(tmp_path: Path) -> None:
    """Failed and unsupported runs are repeated; invalid ones and ok ones are not."""
    wanted = sweep(tmp_path)
    bad: dict[str, Status] = dict(zip(wanted.order(), ("failed", "invalid", "ok", "unsupported"), strict=False))
    with pytest.raises(KeyboardInterrupt):
        run_sweep(wanted, Scribe(statuses=bad, stop_at=6), DEAF)
    again = Scribe()
    opened: list[list[str]] = []
    progress = SweepProgress(
        step=lambda _: None, opened=lambda folder: opened.append(folder.done()), ended=lambda *_: None
    )
    folder = run_sweep(wanted, again, progress)
    order = wanted.order()
    assert again.made == [order[0], order[3], *order[6:]]
    assert opened == [[name for name in order[:6] if name not in (order[0], order[3])]]
    statuses = {name: json.loads((folder / name / "run.json").read_text())["status"] for name in order}
    assert [name for name, status in statuses.items() if status != "ok"] == [order[1]]


def test_a_run_that_cannot_be_read_is_made_again(tmp_path: Path) -> None:
    """A run with an empty or missing run.json, as after a power cut, is repeated."""
    wanted = sweep(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(wanted, Scribe(stop_at=3), DEAF)
    (partial,) = tmp_path.iterdir()
    first, second, third, *rest = wanted.order()
    (partial / first / "run.json").write_text("")
    (partial / third / "run.json").unlink()
    again = Scribe()
    run_sweep(wanted, again, DEAF)
    assert again.made == [first, third, *rest]
    assert second not in again.made


@pytest.mark.parametrize("order", [[], ["../outside"], "twice"])
def test_an_order_of_other_runs(tmp_path: Path, order: list[str] | str) -> None:
    """If the order in sweep.json was changed to other runs, nothing is run."""
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep(tmp_path), Scribe(stop_at=3), DEAF)
    (partial,) = tmp_path.iterdir()
    document = json.loads((partial / "sweep.json").read_text())
    (partial / "sweep.json").write_text(
        json.dumps({**document, "order": document["order"] * 2 if order == "twice" else order})
    )
    with pytest.raises(StepFailed, match=r"sweep\.json: its key `order` lists other runs than this sweep has"):
        run_sweep(sweep(tmp_path), Scribe(), replace(DEAF, opened=lambda _: pytest.fail("it was told")))


@pytest.mark.parametrize("order", [5, None, [5], [["a"]], {"a": 1}])
def test_an_order_that_is_none(tmp_path: Path, order: object) -> None:
    """A folder whose order is no list of names is not a sweep's folder."""
    (tmp_path / "sweep.json").write_text(json.dumps(json.loads(_GOLDEN.read_text()) | {"order": order}))
    assert unfinished(tmp_path) is None
    (tmp_path / "sweep.json").write_text(_GOLDEN.read_text())
    assert unfinished(tmp_path) is not None


@pytest.mark.parametrize("other", [{"seed": 2}, {"values": {"LOWAT": ("none", "4096")}}])
def test_another_sweep_is_another_folder(tmp_path: Path, other: dict[str, Any]) -> None:
    """A sweep with other arms or seeds does not continue the folder."""
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep(tmp_path), Scribe(stop_at=5), DEAF)
    another = sweep_of(other.get("values", VALUES), repeat=2, seed=other.get("seed", 1), results=tmp_path)
    made = Scribe()
    run_sweep(another, made, DEAF)
    assert len(made.made) == len(another.runs())
    assert len(list(tmp_path.glob("*.partial"))) == 1


def test_two_do_not_work_in_one_folder(tmp_path: Path) -> None:
    """While a process holds the folder, the same sweep begins a new folder.
    Afterwards, the free folder is continued.
    """
    fingerprint: dict[str, Any] = {"arms": "a"}
    record = SweepRecord(
        sweep="first",
        name="mine",
        title="Mine",
        started_at="2026-01-01T00:00:00",
        grid={},
        fixed={},
        repeat=1,
        seed=1,
        order_seed=1,
        fabric="virtual",
        fingerprint=fingerprint,
        arms=(SweepArmRecord(arm="a", levels={}, knobs={}, twin_of=None),),
        order=("a.1",),
    )
    with SweepFolder.begin(tmp_path / "first", record) as held:
        assert SweepFolder.resume(tmp_path, fingerprint) is None
        held.building("a.1").create()
        held.building("a.1").run.write_text(json.dumps(builders.run("a").record.as_document()))
        held.file("a.1")
    with SweepFolder.begin(tmp_path / "second", replace(record, started_at="2026-01-02T00:00:00")):
        with SweepFolder.resume(tmp_path, fingerprint) or pytest.fail("it is free") as free:
            assert free.path == held.path
        assert SweepFolder.resume(tmp_path, {"arms": "b"}) is None


def test_results_that_cannot_be_written(tmp_path: Path) -> None:
    """A results folder that cannot be written is reported before any file is made."""
    wanted = sweep_of(VALUES, results=Path("/proc/nowhere"))
    with pytest.raises(StepFailed, match="/proc/nowhere cannot be written"):
        run_sweep(wanted, Scribe(), DEAF)
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_place_of_a_run_goes_alone(tmp_path: Path) -> None:
    """If a run's folder is a link or a file, the resumed sweep removes this, and not what the link leads to."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    wanted = sweep(tmp_path / "results")
    with pytest.raises(KeyboardInterrupt):
        run_sweep(wanted, Scribe(stop_at=3), DEAF)
    (partial,) = (tmp_path / "results").iterdir()
    first, second, _, fourth, *rest = wanted.order()
    for name in (first, second):
        (partial / name).rename(tmp_path / name)
    (partial / first).symlink_to(elsewhere)
    (partial / second).write_text("no folder")
    (partial / f"{fourth}{PARTIAL}").symlink_to(elsewhere)
    again = Scribe()
    run_sweep(wanted, again, DEAF)
    assert again.made == [first, second, fourth, *rest]
    assert [path.name for path in elsewhere.iterdir()] == ["kept"]
