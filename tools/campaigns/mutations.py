"""Damages the lab's input files and runs every command that reads them: `make mutations`.

    python -m tools.campaigns.mutations [MUTATIONS] [NUMBER...] [--print]

The file and the damage follow from the trial's number. A trial is good if each command ends in time and within 1 GB of
memory, prints at most one line of error, and changes nothing outside the results. The table is written into
RELIABILITY.md. With --print it is only printed, and inputs that would have to be recorded first are left out.

Most commands run in a forked copy of a process that has already imported the lab; every twentieth trial starts
`priolab`. A command that runs an experiment is stopped before its runs begin; it has read all its files by then.
Drawing takes longer than everything else together, so pictures are drawn in every fifth trial alone. In the other
trials the commands prepare the pictures without drawing them.
"""

import gc
import hashlib
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from priolab.analysis.figures import picture
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.printable import printable
from priolab.experiments.errors import StepFailed
from priolab.experiments.execution.fingerprint import fingerprint_here
from priolab.experiments.execution.invocation import request_from
from priolab.experiments.execution.local import Local
from priolab.experiments.sweep.sweep import fingerprint_of, sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from tools.campaigns import damage
from tools.campaigns.damage import Kind, Trial, Words
from tools.campaigns.reliability import write

_ROOT = Path(__file__).resolve().parents[2]
_MUTATIONS = 1000
_MEMORY_BYTES = 2**30
_LARGEST_FILE_BYTES = 2**30  # a guest has a file for its memory
_LONGEST_S, _LONGEST_OF_LARGE_S = 10.0, 60.0
"""The most processor time. Other programs may use the machine, so a command may take three times that in wall time."""
_PATIENCE = 3.0
_LONGEST_LINE = 2000
_BY_THE_REAL_COMMAND = 20  # trials
_DRAWN = 5  # trials
_NEEDS_NO_STAND_IN = ("show", "figures", "export", "knee", "list")
_FAULT = 70
_NOT_RUN = "this would run an experiment"
_UNFINISHED = "missing; the folder is no results folder, or is unfinished"
_NAMES = ("given", "mine.toml", "experiment.json", "run.json")
"""Each damaged file has one of these names, or is in a folder with one of these names."""

_RUN = ("LOWAT=16384", "FABRIC=virtual")
_SWEEP = (
    *("LOSS=0%,1%", "LOWAT=none,4096,16384,131072", "RATE=10mbit", "DELAY=50ms", "QUEUE=100", "SIZE=2M", "REPEAT=3"),
    "FABRIC=virtual",
)
_EXPORTS = tuple(("export", "--to", to, "here/given") for to in ("har", "perfetto", "qlog", "csv", "parquet"))
_LOOKS = (("show", "here/given"), ("show", "--json", "here/given"), ("figures", "here/given"), *_EXPORTS)
_EXTRAS = [
    import_module(f"priolab.extras.{file.parts[-3]}.tests.damaged")
    for file in sorted((_ROOT / "extras").glob("*/tests/damaged.py"))
]
"""The modules of extras that read damaged files. LOOKS: programs that read an experiment. PROGRAMS: all, by name."""
_LOOKS_OF_EXTRAS = tuple((f"[{name}]",) for extra in _EXTRAS for name in getattr(extra, "LOOKS", ()))
_KNEES = (("knee", "here/given"), ("knee", "--json", "here/given"))


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The end of a command. signal: the signal that ended it, if any. overdue: true if it exceeded its wall time."""

    code: int
    signal: int | None
    overdue: bool
    out: str
    err: str
    processor_s: float
    wall_s: float
    most_bytes: int


@dataclass(kw_only=True)
class Tally:
    """Results for a kind of input. told: number of commands that failed with an error line.

    slowest: the slowest command, and the damage to its input.
    """

    trials: int = 0
    commands: int = 0
    told: int = 0
    slowest_s: float = 0.0
    slowest_large_s: float = 0.0
    slowest: str = ""
    most_bytes: int = 0
    findings: list[str] = field(default_factory=list)


def _experiment(folder: Path) -> None:
    """Writes a recorded experiment that a run with REUSE=yes accepts."""
    shutil.copytree(_ROOT / "tests" / "golden" / "format-3", folder / "given")
    request = request_from(_worded(_RUN))
    tools = Local(request.manner, 1).prepare([arm.scenario for arm in request.arms], lambda _: None)
    _sign(folder / "given" / "experiment.json", fingerprint_here(request, tools))


def _sweep(folder: Path) -> None:
    """Copies the recorded sweep, and gives its arms today's names, so that a sweep with REUSE=yes accepts it."""
    shutil.copytree(_ROOT / "tests" / "golden-sweep", folder / "given")
    for path in (folder / "given").iterdir():
        for file in (path, path / "run.json"):
            if file.is_file():
                file.write_text(_called_today(file.read_text()))
        path.rename(path.with_name(_called_today(path.name)))
    wanted = sweep_from(sweep_request_from(_SWEEP), yes=False)
    tools = Local(wanted.manner, 1).prepare(wanted.scenarios, lambda _: None)
    for name in ("experiment.json", "sweep.json"):
        _sign(folder / "given" / name, fingerprint_of(wanted, tools))
    order = json.loads((folder / "given" / "sweep.json").read_text())["order"]
    assert sorted(order) == sorted(wanted.order())


def _called_today(text: str) -> str:
    return re.sub(
        r"(loss-[01])-(lowat-[0-9a-z]+)(-twin)?", lambda name: f"{name[1]}pct_{name[2]}{'_twin' * bool(name[3])}", text
    )


def _unfinished(folder: Path) -> None:
    _sweep(folder)
    path = (folder / "given").rename(folder / "given.partial")
    (path / "experiment.json").unlink()
    (path / ".lock").touch()


def _scenario(folder: Path) -> None:
    shutil.copy(_ROOT / "experiments" / "scenario" / "catalogue" / "small-window.toml", folder / "mine.toml")


def _sweep_file(folder: Path) -> None:
    shutil.copy(_ROOT / "experiments" / "sweep" / "catalogue" / "auto.toml", folder / "mine.toml")


_AGAIN = ("run", *_RUN, "REUSE=yes", "RESULTS=here")
_KINDS: Mapping[str, Kind] = {
    "an experiment": Kind(make=_experiment, commands=(*_LOOKS, _AGAIN, *_LOOKS_OF_EXTRAS), share=50),
    "a sweep": Kind(
        make=_sweep,
        commands=(_LOOKS[0], *_KNEES, ("sweep", *_SWEEP, "REUSE=yes", "RESULTS=here"), ("[notebook of a sweep]",)),
        share=20,
    ),
    "an unfinished sweep": Kind(
        make=_unfinished,
        commands=(
            *(("show", "here/given.partial"), ("knee", "here/given.partial")),
            ("run", *_RUN, "RESULTS=here"),
            ("sweep", *_SWEEP, "RESULTS=here"),
        ),
        share=8,
    ),
    "a scenario file": Kind(
        make=_scenario,
        commands=(
            ("list", "SCENARIO=here/mine.toml", "LOWAT=none,16384"),
            ("run", "here/mine.toml", "FABRIC=virtual", "RESULTS=results"),
            ("sweep", "SCENARIO=here/mine.toml", "LOWAT=none,16384", "FABRIC=virtual", "RESULTS=results"),
            ("setup", "environment", "SCENARIO=here/mine.toml"),
        ),
        share=10,
    ),
    "a sweep file": Kind(
        make=_sweep_file,
        commands=(
            ("list", "here/mine.toml"),
            ("sweep", "here/mine.toml", "FABRIC=virtual", "RESULTS=results"),
            ("setup", "environment", "SWEEP=here/mine.toml"),
        ),
        share=8,
    ),
    **{name: kind for extra in _EXTRAS for name, kind in getattr(extra, "KINDS", {}).items()},
}
_WARM = (
    *(
        "priolab.experiments.cli",
        "pyarrow.parquet",
    ),
    *("priolab.analysis.figures.album", "priolab.analysis.figures.knee", "httpx"),
)


def main() -> int:
    """Returns the exit code, 0 if all trials were good."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    only_prints = "--print" in sys.argv
    count = numbers[0] if numbers else _MUTATIONS
    one = numbers[1:]
    kinds = {name: kind for name, kind in _KINDS.items() if kind.is_quick or not only_prints}
    for name in _WARM:
        if find_spec(name.partition(".")[0]):
            import_module(name)
    with tempfile.TemporaryDirectory(prefix="priolab-mutations-") as made:
        folder = Path(made).resolve()
        for name, kind in kinds.items():
            source = folder / "sources" / name
            source.mkdir(parents=True)
            kind.make(source)
        _stop_before_the_runs()
        for name, kind in kinds.items():
            _check_whole(name, kind, folder)
        tallies = _try_all(one or range(count), kinds, folder)
    table = _table(tallies)
    if not only_prints:
        write("mutations", table)
    print(table)
    for tally in tallies.values():
        print("\n".join(tally.findings), end="\n" if tally.findings else "")
    return 1 if any(tally.findings for tally in tallies.values()) else 0


def _try_all(numbers: Iterable[int], kinds: Mapping[str, Kind], folder: Path) -> Mapping[str, Tally]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    gc.freeze()
    numbers = list(numbers)
    # The process that damages the files must not take all memory of a shared machine either.
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES * 2, _MEMORY_BYTES * 2))
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        trials = [pool.submit(_try, number, kinds, folder) for number in numbers]
        for done, trial in enumerate(trials, start=1):
            name, tally = trial.result()
            print(*(f"\r{finding}" for finding in tally.findings), sep="\n", end="", file=sys.stderr)
            _add(tallies[name], tally)
            findings = sum(len(each.findings) for each in tallies.values())
            print(f"\r{done} of {len(numbers)}, {findings} findings", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return tallies


def _add(to: Tally, tally: Tally) -> None:
    if tally.slowest_s > to.slowest_s:
        to.slowest_s, to.slowest = tally.slowest_s, tally.slowest
    to.slowest_large_s = max(to.slowest_large_s, tally.slowest_large_s)
    to.most_bytes = max(to.most_bytes, tally.most_bytes)
    to.trials += tally.trials
    to.commands += tally.commands
    to.told += tally.told
    to.findings += tally.findings


def _try(number: int, kinds: Mapping[str, Kind], folder: Path) -> tuple[str, Tally]:
    """Damages an input and runs the commands that read it. Returns the kind of input and the results."""
    chance = random.Random(number)
    (name,) = chance.choices(list(_KINDS), [kind.share for kind in _KINDS.values()])
    if name not in kinds:
        return name, Tally()
    return name, _tried(name, kinds[name], number, folder, chance)


def _check_whole(name: str, kind: Kind, folder: Path) -> None:
    """Raises AssertionError unless every command reads the undamaged input."""
    tally = _tried(name, kind, 1, folder, None)
    assert not tally.findings, tally.findings


def _tried(name: str, kind: Kind, number: int, folder: Path, chance: random.Random | None) -> Tally:
    tally, root = Tally(trials=1), folder / str(number)
    outside = root / "outside"
    damage.fill(outside)
    shutil.copytree(folder / "sources" / name, root / "source", symlinks=True)
    trial = Trial(folder=root / "source", outside=outside, number=number, chance=chance or random.Random())
    what = damage.apply(trial) if chance else "not damaged"
    for index, words in enumerate(kind.commands):
        if words[0].startswith("[") and number % _BY_THE_REAL_COMMAND == 0:
            continue
        room = root / "room"
        room.mkdir()
        (room / "tmp").mkdir()
        (root / "source").rename(room / "here")  # a command finds what the one before left there, as in real use
        before = _state(outside)
        ended = _carry_out(words, room, trial)
        problems = list(_problems(words, ended, is_large=trial.is_large))
        if not chance and ended.code and _NOT_RUN not in ended.err and _UNFINISHED not in ended.err:
            problems.append(f"it ended with {ended.code}: {ended.err}")
        if _state(outside) != before:
            problems.append("something outside was changed")
        strangers = {path.name for path in room.iterdir()} - {
            "here",
            "tmp",
            "out",
            "err",
            "page",
            "results",
            "unpacked",
        }
        strangers |= {path.name for path in (room / "tmp").iterdir()}
        if strangers:
            problems.append(f"left {', '.join(sorted(strangers))}")
        told = " ".join(words)
        tally.findings += [f"{number}.{index} {name}, {what}: {told}: {problem}" for problem in problems]
        tally.commands += 1
        tally.told += ended.code != 0 and bool(ended.err)
        tally.most_bytes = max(tally.most_bytes, ended.most_bytes)
        if trial.is_large:
            tally.slowest_large_s = max(tally.slowest_large_s, ended.processor_s)
        elif ended.processor_s > tally.slowest_s:
            tally.slowest_s, tally.slowest = ended.processor_s, f"{words[0]}, {what}"
        (room / "here").rename(root / "source")
        shutil.rmtree(room)
    shutil.rmtree(root)
    return tally


def _state(folder: Path) -> str:
    """A digest of a folder: names, kinds, permissions, times, contents, and targets of symlinks."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        known = path.lstat()
        found.update(f"{path}\0{known.st_mode}\0{known.st_mtime_ns}\0{known.st_size}\0".encode())
        if stat.S_ISREG(known.st_mode):
            found.update(path.read_bytes())
        elif stat.S_ISLNK(known.st_mode):
            found.update(os.readlink(path).encode())
    return found.hexdigest()


def _problems(words: Words, ended: Ended, *, is_large: bool) -> Iterable[str]:
    """Yields descriptions of a command's forbidden behaviour."""
    if ended.overdue:
        yield f"it did not end within {ended.wall_s:.0f} s"
        return
    if ended.signal is not None:
        yield f"it was ended by {signal.Signals(ended.signal).name}: {ended.err[-200:]!r}"
        return
    if ended.processor_s > (_LONGEST_OF_LARGE_S if is_large else _LONGEST_S):
        yield f"it took {ended.processor_s:.0f} s"
    if ended.code == _FAULT or "Traceback" in ended.err:
        yield f"a fault: {ended.err.strip().splitlines()[-1][:300]} {_place(ended.err)}"
        return
    for text in (ended.out, ended.err):
        if printable(text) != text:
            strange = Counter(letter for letter in text if printable(letter) != letter)
            yield f"it shows {', '.join(map(ascii, strange))}"
    lines = ended.err.splitlines()
    if lines and _NOT_RUN in lines[0]:  # further lines may tell of results that exist already
        return
    if len(lines) > 1:
        yield f"{len(lines)} lines on standard error: {ended.err[:300]!r}"
    if lines and len(lines[0]) > _LONGEST_LINE:
        yield f"a line of {len(lines[0])} letters: {lines[0][:200]}"
    if lines and not lines[0].startswith("priolab: "):
        yield f"it says {lines[0][:200]}"
    if lines and ended.code == 0:
        yield f"it ended well, and said {lines[0][:200]}"
    if not lines and not ended.out and words[0] != "setup":
        yield f"it ended with {ended.code} and said nothing"
    if lines and not any(name in lines[0] for name in (*_NAMES, "=")):
        yield f"it does not say in which file: {lines[0][:200]}"


def _place(err: str) -> str:
    """Returns file and line of the last two calls in the lab's own code from a traceback."""
    lines = [
        line.split(", in ")[0] for line in err.splitlines() if line.startswith('  File "') and "/site-" not in line
    ]
    return "; ".join(line.replace(f"{_ROOT}/", "") for line in lines[-2:])


def _carry_out(words: Words, room: Path, trial: Trial) -> Ended:
    longest_s = _PATIENCE * (_LONGEST_OF_LARGE_S if trial.is_large else _LONGEST_S)
    began_s = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _become(words, room, trial.number)
    watched = os.pidfd_open(pid)
    try:
        overdue = not select.select([watched], [], [], longest_s)[0]
    finally:
        os.close(watched)
    wall_s = time.monotonic() - began_s
    if overdue:
        os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    out, err = ((room / name).read_bytes()[: 2**24].decode(errors="backslashreplace") for name in ("out", "err"))
    for name in ("out", "err"):
        (room / name).unlink()
    return Ended(
        code=os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else -1,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        overdue=overdue,
        out=out,
        err=err,
        processor_s=usage.ru_utime + usage.ru_stime,
        wall_s=wall_s,
        most_bytes=usage.ru_maxrss * 1024,
    )


def _become(words: Words, room: Path, number: int) -> None:
    """Runs the command in this process, a forked copy. Does not return."""
    try:
        os.setsid()
        os.chdir(room)
        for descriptor, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        os.environ["TMPDIR"] = tempfile.tempdir = str(room / "tmp")
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE_BYTES, _LARGEST_FILE_BYTES))
        if number % _BY_THE_REAL_COMMAND == 0 and words[0] in _NEEDS_NO_STAND_IN:
            command = str(Path(sys.executable).with_name("priolab"))
            os.execv(command, [command, *words])
        if number % _DRAWN:
            vars(picture).update(drawn=lambda _: "<svg/>", png=lambda _: b"")
        code = _IN_PLACE[words[0]]() if words[0] in _IN_PLACE else _command(words)
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else _FAULT
    except BaseException:
        traceback.print_exc()
        code = _FAULT
    sys.stderr.flush()
    os._exit(code)


def _command(words: Words) -> int:
    from priolab.experiments.cli import main as command

    return command(words)


def _notebook_of_a_sweep() -> int:
    from priolab.analysis.sweeps.folder import load_sweep
    from priolab.analysis.sweeps.networks import networks
    from priolab.common.formats.reading import FolderError

    try:
        print(len(networks(load_sweep(Path("here/given")))))
    except FolderError as error:
        Report().complain(str(error))
        return 1
    return 0


_IN_PLACE: Mapping[str, Callable[[], int]] = {
    "[notebook of a sweep]": _notebook_of_a_sweep,
    **{f"[{name}]": do for extra in _EXTRAS for name, do in extra.PROGRAMS.items()},
}


def _stop_before_the_runs() -> None:
    """Replaces the functions that run experiments and install programs, in this process and its copies."""

    def refuse(*_: Any, **__: Any) -> None:
        raise StepFailed("mutations", _NOT_RUN)

    Local.carry_out = refuse  # type: ignore[method-assign]
    vars(import_module("priolab.experiments.commands.setup"))["_carry_out"] = lambda *_: None


def _worded(words: Sequence[str]) -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in words)


def _sign(file: Path, fingerprint: Mapping[str, Any]) -> None:
    """Writes this fingerprint and a time into the document."""
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "started_at": "2026-01-01T00:00:00+00:00", "fingerprint": fingerprint}))


def _table(tallies: Mapping[str, Tally]) -> str:
    total = Tally()
    for tally in tallies.values():
        _add(total, tally)
    counts = ("mutations", "commands", "refused in one line", "faults found")
    head = ("damaged", *counts, "slowest", "slowest with 100 MB", "most memory")
    lines = [
        f"{total.trials} mutations by `make mutations`; a mutation's number decides what is damaged, and how.",
        f"{total.commands} commands read the damaged files, each with at most {_MEMORY_BYTES // 2**20} MiB of memory.",
        "",
        f"| {' | '.join(head)} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, tally in sorted(tallies.items()):
        large = f"{tally.slowest_large_s:.1f} s" if tally.slowest_large_s else ""
        lines.append(
            f"| {name} | {tally.trials} | {tally.commands} | {tally.told} | {len(tally.findings)} "
            f"| {tally.slowest_s:.1f} s | {large} | {tally.most_bytes / 2**20:.0f} MiB |"
        )
    lines += [
        "",
        "Times are processor time. Of the commands without a file of 100 MB, this one was the slowest, on this",
        f"damaged file: {total.slowest}.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
