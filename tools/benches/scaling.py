"""Measures the cost of a million arms: `make scaling`, or `python -m tools.benches.scaling FILE`.

Fills four marked places of the document with tables: where a run's processor time goes, what samples show, the cost
of one run, and of a million runs. Processor times depend on the machine's processor; the other figures do not depend
on the machine.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from priolab.analysis.records.runs import load_experiment
from priolab.analysis.reports.markdown import Table, places, with_places
from priolab.common.documents import write_document
from priolab.common.errors import StepFailed
from priolab.common.process.processes import die_with_parent
from priolab.experiments.execution.local import Local
from priolab.experiments.execution.pace import used_s
from priolab.experiments.sweep.command import work_of_sweep
from priolab.experiments.sweep.sweep import SweepProgress, begin, estimate_here, fingerprint_of, run_sweep, sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from priolab.experiments.sweep.table import arm_results
from priolab.extras.cluster import parcel
from tools.benches import sampling
from tools.benches.parts import parts
from tools.benches.processor_time import processor_s

_CASES = ("maps", "modem")
_GRID = ("LOWAT=none,16384,65536", "JS_DELAY=200ms", "REPEAT=2", "FABRIC=virtual")
_ARMS = 1_000_000
_PLANNED = 100_000
_FILED = 1000
_SHOWN = 10_000
_TASKS = 200
_BATCH = 10
"""The most runs in a task that the head gives to Dask (extras/cluster/cluster.py)."""
_PLACES = ("parts", "samples", "one-run", "million-runs")


@dataclass(frozen=True, kw_only=True)
class _Case:
    """The cost of a run of a scenario.

    guest_s: processor time in the guest. beside_s: processor time of this process, which prepares and evaluates
    the run. folder_bytes: the sum of the sizes of the run folder's files. disk_bytes: the space of the run folder on
    the disk. files: the number of its files and folders. parcel_bytes: the size of the packed run folder.
    """

    name: str
    guest_s: float
    beside_s: float
    folder_bytes: int
    disk_bytes: int
    files: int
    parcel_bytes: int


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """The costs of the head and of Dask's scheduler, per run: processor time in seconds, memory and files in bytes.

    filing_*: to unpack a run folder and read run.json. planning_*: to plan the sweep. document_bytes: the part of
    sweep.json. showing_*: to show the results. scheduler_s: to pass on tasks and parcels. receiving_s: to receive a
    parcel.
    """

    filing_s: float
    planning_s: float
    planning_bytes: float
    document_bytes: float
    showing_s: float
    showing_bytes: float
    scheduler_s: float
    receiving_s: float


def _case(name: str, scratch: Path) -> tuple[_Case, Path]:
    """Measures the named scenario, one run at a time; returns the cost of a run, and the folder of one of the runs."""
    request = sweep_request_from([f"SCENARIO={name}", *_GRID, f"RESULTS={scratch / name}"])
    sweep = sweep_from(request, yes=False)
    progress = SweepProgress(step=lambda _: None, opened=lambda _: None, ended=lambda *_: None)
    before_s = [used_s(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    folder = run_sweep(sweep, Local(sweep.run_settings, 1), progress)
    guest_s, beside_s = (
        (used_s(who) - before) / request.runs
        for who, before in zip((resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF), before_s, strict=True)
    )
    runs = [load.path for load in load_experiment(folder).runs]
    parts = [path for run in runs for path in (run, *run.rglob("*"))]
    case = _Case(
        name=name,
        guest_s=guest_s,
        beside_s=beside_s,
        folder_bytes=sum(path.stat().st_size for path in parts if path.is_file()) // len(runs),
        disk_bytes=sum(path.stat().st_blocks * 512 for path in parts) // len(runs),
        files=len(parts) // len(runs),
        parcel_bytes=sum(len(parcel.pack(run)) for run in runs) // len(runs),
    )
    return case, runs[0]


def _filing_s(run: Path, scratch: Path) -> float:
    """Returns the head's processor time for each run, in seconds: to unpack and rename the folder, to read run.json."""
    content = parcel.pack(run)
    sweep = sweep_from(sweep_request_from(["FABRIC=virtual", f"RESULTS={scratch}"]), yes=False)
    with begin(sweep, scratch, {}) as folder:
        began_s = time.process_time()
        for number in range(_FILED):
            parcel.unpack(content, folder.building(f"run-{number}").path)
            folder.file(f"run-{number}")
            folder.run(f"run-{number}")
        return (time.process_time() - began_s) / _FILED


def _plan(arms: int, scratch: Path) -> dict[str, float]:
    """Returns the cost, per run, of planning a sweep of this number of arms before its first run."""
    delays = ",".join(f"{number}ms" for number in range(1, arms // 40 + 1))
    words = ["LOWAT=none,4096,16384,65536,131072", "CC=cubic,bbr", "RATE=1mbit,2mbit,4mbit,8mbit", f"DELAY={delays}"]
    began_s, empty_bytes = time.process_time(), _bytes()
    request = sweep_request_from([*words, "FABRIC=virtual", f"RESULTS={scratch}"])
    sweep = sweep_from(request, yes=True)
    tools = Local(sweep.run_settings, 1).prepare(sweep.scenarios, lambda _: None)
    with begin(sweep, scratch, fingerprint_of(sweep, tools)) as folder:
        work_of_sweep(sweep, estimate_here(request, sweep.scenarios))
        runs = sweep.runs()
        assert len(runs) == len(folder.order)
        size = (folder.path / "sweep.json").stat().st_size
    took_s = time.process_time() - began_s
    return {
        "planning_s": took_s / len(runs),
        "planning_bytes": (_peak_bytes() - empty_bytes) / len(runs),
        "document_bytes": size / len(runs),
    }


def _show(run: Path, scratch: Path) -> dict[str, float]:
    """Returns the cost, per run, of showing the results: to read run.json, and to keep the table's data in memory."""
    document = json.loads((run / "run.json").read_text())
    names = [f"arm-{number}.1" for number in range(_SHOWN)]
    for name in names:
        (scratch / name).mkdir(parents=True)
        (scratch / name / "run.json").write_text(json.dumps(document | {"run": name, "arm": name.removesuffix(".1")}))
    (scratch / "experiment.json").write_text((run.parent / "experiment.json").read_text())
    experiment = json.loads((scratch / "experiment.json").read_text())
    (scratch / "experiment.json").write_text(json.dumps(experiment | {"runs": names}))
    began_s, empty_bytes = time.process_time(), _bytes()
    shown = arm_results(scratch)
    assert len(shown) == _SHOWN
    return {
        "showing_s": (time.process_time() - began_s) / _SHOWN,
        "showing_bytes": (_peak_bytes() - empty_bytes) / _SHOWN,
    }


def _bytes() -> int:
    """Returns the memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _apart(what: str, *words: object) -> dict[str, float]:
    """Runs a measurement in a separate process, so that the process uses memory for this measurement alone.

    what: the name of the measurement. words: its arguments.
    """
    command = [sys.executable, "-m", "tools.benches.scaling", what, *map(str, words)]
    measured: dict[str, float] = json.loads(
        subprocess.run(command, check=True, capture_output=True, preexec_fn=die_with_parent).stdout
    )
    return measured


def _tasks(parcel_bytes: int, scratch: Path) -> dict[str, float]:
    """Returns processor seconds per run: of Dask's scheduler for task and result, of the head to receive the result."""
    from distributed import Client

    told = scratch / "scheduler.json"
    base = [sys.executable, "-m"]
    port = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told)]
    with subprocess.Popen(
        [*base, "distributed.cli.dask_scheduler", "--no-dashboard", *port],
        env=os.environ | {"DASK_TEMPORARY_DIRECTORY": str(scratch)},
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent,
    ) as scheduler:
        while not told.exists() or not told.stat().st_size:
            time.sleep(0.1)
        words = [
            f"--scheduler-file={told}",
            "--nthreads=1",
            "--no-nanny",
            "--no-dashboard",
            f"--local-directory={scratch}",
        ]
        worker = subprocess.Popen(
            [*base, "distributed.cli.dask_worker", *words], stderr=subprocess.DEVNULL, preexec_fn=die_with_parent
        )
        try:
            with Client(scheduler_file=str(told), set_as_default=False) as client:
                client.wait_for_workers(1)
                before_s, own_s = processor_s(scheduler.pid), time.process_time()
                for number in range(_TASKS):
                    client.submit(os.urandom, _BATCH * parcel_bytes, key=f"task-{number}", pure=False).result()
                return {
                    "scheduler_s": (processor_s(scheduler.pid) - before_s) / _TASKS / _BATCH,
                    "receiving_s": (time.process_time() - own_s) / _TASKS / _BATCH,
                }
        finally:
            for process in (worker, scheduler):
                process.terminate()
                process.wait()


def _measure(scratch: Path) -> tuple[list[_Case], _Shared]:
    cases, folders = zip(*(_case(name, scratch) for name in _CASES), strict=True)
    shared = _Shared(
        filing_s=_filing_s(folders[0], scratch),
        **_tasks(cases[0].parcel_bytes, scratch),
        **_apart("plan", _PLANNED, scratch / "plan"),
        **_apart("show", folders[0], scratch / "show"),
    )
    return list(cases), shared


def _parts(scratch: Path) -> str:
    """Returns the table of the parts of a run's processor time, as Markdown."""
    found = [parts(name, scratch) for name in _CASES]
    rows = [(part, [f"{seconds[part]:.2f} s" for seconds in found]) for part in found[0]]
    return _table("where the processor time goes", _CASES, rows)


def _costs(cases: list[_Case], shared: _Shared) -> tuple[str, str]:
    """Returns the tables of one run and of a million runs, as Markdown."""
    head_s = shared.filing_s + shared.receiving_s
    measured = [
        ("processor time in the guest", [f"{case.guest_s:.2f} s" for case in cases]),
        ("processor time on the worker: prepare, evaluate, pack", [f"{case.beside_s:.3f} s" for case in cases]),
        ("run folder", [f"{case.folder_bytes / 1e3:.0f} kB in {case.files} files and folders" for case in cases]),
        ("disk", [f"{case.disk_bytes / 1e3:.0f} kB" for case in cases]),
        ("network (packed)", [f"{case.parcel_bytes / 1e3:.0f} kB" for case in cases]),
        ("head: receive, unpack, rename", [f"{head_s * 1e3:.1f} ms"] * len(cases)),
        (f"Dask's scheduler, in tasks of {_BATCH} runs", [f"{shared.scheduler_s * 1e3:.1f} ms"] * len(cases)),
        (
            "head: plan (time, memory)",
            [f"{shared.planning_s * 1e3:.2f} ms, {shared.planning_bytes / 1e3:.1f} kB"] * len(cases),
        ),
        ("sweep.json", [f"{shared.document_bytes:.0f} bytes"] * len(cases)),
        (
            "head: show the results (time, memory)",
            [f"{shared.showing_s * 1e3:.2f} ms, {shared.showing_bytes / 1e3:.1f} kB"] * len(cases),
        ),
    ]
    hours = [_ARMS * (case.guest_s + case.beside_s) / 3600 for case in cases]
    million = [
        ("core-hours", [f"{each:,.0f}" for each in hours]),
        *((f"on {cores:,} cores", [_span(each / cores) for each in hours]) for cores in (100, 1000)),
        ("disk", [f"{_ARMS * case.disk_bytes / 1e9:,.0f} GB" for case in cases]),
        ("files and folders", [f"{_ARMS * case.files / 1e6:.0f} million" for case in cases]),
        ("network", [f"{_ARMS * case.parcel_bytes / 1e9:,.0f} GB" for case in cases]),
        ("head: processor time for the runs", [_span(_ARMS * head_s / 3600)] * len(cases)),
        ("Dask's scheduler: processor time", [_span(_ARMS * shared.scheduler_s / 3600)] * len(cases)),
        ("head: time before the first run", [_span(_ARMS * shared.planning_s / 3600)] * len(cases)),
        ("head: memory", [f"{_ARMS * shared.planning_bytes / 1e9:.1f} GB"] * len(cases)),
        ("sweep.json", [f"{_ARMS * shared.document_bytes / 1e9:.1f} GB"] * len(cases)),
        ("head: time for the table at the end", [_span(_ARMS * shared.showing_s / 3600)] * len(cases)),
        ("head: memory for the table", [f"{_ARMS * shared.showing_bytes / 1e9:.1f} GB"] * len(cases)),
        ("cores that one head can serve", [f"{(each.guest_s + each.beside_s) / head_s:,.0f}" for each in cases]),
    ]
    names = [case.name for case in cases]
    return _table("one run", names, measured), _table("a million runs", names, million)


def _table(heading: str, names: Sequence[str], rows: list[tuple[str, list[str]]]) -> str:
    return Table(head=(heading, *names), rows=tuple((name, *cells) for name, cells in rows)).markdown()


def _span(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{hours * 60:.1f} min"


def main() -> None:
    """Writes the tables; or, in a process that `_apart` has started, carries out one measurement."""
    what, *words = sys.argv[1:]
    if what == "plan":
        Path(words[1]).mkdir(exist_ok=True)
        print(json.dumps(_plan(int(words[0]), Path(words[1]))))
    elif what == "show":
        print(json.dumps(_show(Path(words[0]), Path(words[1]))))
    else:
        path = Path(what)
        text = path.read_text()
        if {*_PLACES} != places(text).keys():
            raise StepFailed("scaling", f"{path} has other marked places than {', '.join(_PLACES)}")
        scratch = Path(tempfile.mkdtemp(prefix="priolab-scaling-"))
        try:
            samples = _table("what samples show", *sampling.table(scratch))
            tables = (_parts(scratch), samples, *_costs(*_measure(scratch)))
        finally:
            shutil.rmtree(scratch)
        write_document(path, with_places(text, dict(zip(_PLACES, tables, strict=True))).encode(), "scaling")
        print("\n\n".join(tables))


if __name__ == "__main__":
    main()
