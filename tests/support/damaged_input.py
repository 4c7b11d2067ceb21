"""The kinds of files that commands read, each damaged by Hypothesis, and what no command may do with them."""

import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import stat
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from priolab.analysis.figures import picture
from priolab.common.errors import StepFailed
from priolab.common.process.interruption import STOPS, limited
from priolab.experiments import cli, run_command
from priolab.experiments.commands.printable import printable
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.fingerprint import fingerprint_here
from priolab.experiments.execution.local import Local
from priolab.experiments.sweep.sweep import fingerprint_of, sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from priolab.proxy.certificates import issue
from tests.support.damage import damage

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60.0
MEMORY_BYTES = 2**30
_CODES = (0, 1, 2)
_LONGEST_LINE = 2000
_FAULT = 70
_NOT_RUN = "this would run an experiment"
_NAMES = ("given", "mine.toml", "experiment.json", "run.json", "=", "127.0.0.1")
"""A refusal names the damaged file, which has one of these names or is below one; or a value, or an address."""

Words = tuple[str, ...]
Program = Callable[[Path], int]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of input. make: writes it into a folder. commands: those that read it, where `here` is the folder's path;
    or functions that read it otherwise, and return an exit code. guest: True if they need the guest's kernel. slow:
    True if the input takes long to make.
    """

    make: Callable[[Path], None]
    commands: tuple[Words | Program, ...]
    guest: bool = False
    slow: bool = False


@dataclass(kw_only=True)
class Tally:
    """The trials of a kind. refused: commands that failed with a line. slowest_s: the longest command."""

    inputs: int = 0
    commands: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class _Ended:
    code: int
    out: str
    err: str
    took_s: float


_RUN = ("LOWAT=16384", "FABRIC=virtual")
_SWEEP = (
    *("LOSS=0%,1%", "LOWAT=none,4096,16384,131072", "RATE=10mbit", "DELAY=50ms", "QUEUE=100", "SIZE=2M", "REPEAT=3"),
    "FABRIC=virtual",
)
_EXPORTS = tuple(("export", "--to", to, "here/given") for to in ("har", "perfetto", "qlog", "csv", "parquet"))
_LOOKS: tuple[Words, ...] = (
    *(("show", "here/given"), ("show", "--json", "here/given"), ("figures", "here/given"), *_EXPORTS),
)


def _experiment(folder: Path) -> None:
    shutil.copytree(ROOT / "tests" / "golden" / "format-3", folder / "given")


def _experiment_again(folder: Path) -> None:
    """Write a recorded experiment that a run with REUSE=yes takes."""
    _experiment(folder)
    request = request_from(dict(word.partition("=")[::2] for word in _RUN))
    tools = Local(request.run_settings, 1).prepare([arm.scenario for arm in request.arms], lambda _: None)
    _sign(folder / "given" / "experiment.json", fingerprint_here(request, tools))


def _sweep(folder: Path) -> None:
    """Copy the recorded sweep, and give its arms today's names."""
    shutil.copytree(ROOT / "tests" / "golden-sweep", folder / "given")
    for path in (folder / "given").iterdir():
        for file in (path, path / "run.json"):
            if file.is_file():
                file.write_text(_called_today(file.read_text()))
        path.rename(path.with_name(_called_today(path.name)))


def _called_today(text: str) -> str:
    return re.sub(
        r"(loss-[01])-(lowat-[0-9a-z]+)(-twin)?", lambda name: f"{name[1]}pct_{name[2]}{'_twin' * bool(name[3])}", text
    )


def _sweep_again(folder: Path) -> None:
    """Write a recorded sweep that a sweep with REUSE=yes takes."""
    _sweep(folder)
    wanted = sweep_from(sweep_request_from(_SWEEP), yes=False)
    tools = Local(wanted.run_settings, 1).prepare(wanted.scenarios, lambda _: None)
    for name in ("experiment.json", "sweep.json"):
        _sign(folder / "given" / name, fingerprint_of(wanted, tools))


def _unfinished(folder: Path) -> None:
    _sweep_again(folder)
    path = (folder / "given").rename(folder / "given.partial")
    (path / "experiment.json").unlink()
    (path / ".lock").touch()


def _sign(file: Path, fingerprint: Mapping[str, Any]) -> None:
    """Write this fingerprint and a time into the document."""
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "started_at": "2026-01-01T00:00:00+00:00", "fingerprint": fingerprint}))


def copied(*parts: str, name: str = "mine.toml") -> Callable[[Path], None]:
    """Return a function that copies a file of the lab's, or a folder, under a name."""

    def make(folder: Path) -> None:
        source = ROOT.joinpath(*parts)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)

    return make


def _certificate(folder: Path) -> None:
    made = folder / "issued"
    made.mkdir()
    shutil.move(issue(made, "localhost", seed=1).ca, folder / "given")
    shutil.rmtree(made)


_OWN = ("FABRIC=virtual", "RESULTS=here/results")
_PAGES = ROOT / "experiments" / "scenario" / "pages"
KINDS: Mapping[str, Kind] = {
    "an experiment": Kind(make=_experiment, commands=_LOOKS),
    "a sweep": Kind(make=_sweep, commands=(_LOOKS[0], ("knee", "here/given"), ("knee", "--json", "here/given"))),
    "an experiment to use again": Kind(
        make=_experiment_again, commands=(("run", *_RUN, "REUSE=yes", "RESULTS=here"),), guest=True
    ),
    "a sweep to use again": Kind(
        make=_sweep_again, commands=(("sweep", *_SWEEP, "REUSE=yes", "RESULTS=here"),), guest=True
    ),
    "an unfinished sweep": Kind(
        make=_unfinished,
        commands=(
            *(("show", "here/given.partial"), ("knee", "here/given.partial")),
            *(("run", *_RUN, "RESULTS=here"), ("sweep", *_SWEEP, "RESULTS=here")),
        ),
        guest=True,
    ),
    "a scenario file": Kind(
        make=copied("experiments", "scenario", "catalogue", "small-window.toml"),
        commands=(
            ("list", "SCENARIO=here/mine.toml", "LOWAT=none,16384"),
            ("setup", "environment", "SCENARIO=here/mine.toml"),
            ("run", "here/mine.toml", "FABRIC=nowhere"),
        ),
    ),
    "a scenario file that is run": Kind(
        make=copied("experiments", "scenario", "catalogue", "late-backend.toml"),
        commands=(
            ("run", "here/mine.toml", *_OWN),
            ("sweep", "SCENARIO=here/mine.toml", "LOWAT=none,16384", *_OWN),
        ),
        guest=True,
    ),
    "a sweep file": Kind(
        make=copied("experiments", "sweep", "catalogue", "auto.toml"),
        commands=(("list", "here/mine.toml"), ("setup", "environment", "SWEEP=here/mine.toml")),
    ),
    **{
        f"the page {page.stem}": Kind(
            make=copied(str(page)),
            commands=(
                ("list", "PAGE=here/mine.toml", "LOWAT=none,16384"),
                ("probe", "https://127.0.0.1:9/", "--load", "here/mine.toml", "--deadline", "1s"),
            ),
        )
        for page in (_PAGES / "news.toml", _PAGES / "tokens.toml", _PAGES / "twins.toml")
    },
    "a folder of a server": Kind(
        make=copied("docs", "examples", "hypercorn", name="given"),
        commands=(("list", "SERVER=here/given", "LOWAT=none,16384"), ("setup", "environment", "SERVER=here/given")),
    ),
    "a folder of a server that is run": Kind(
        make=copied("proxy", "servers", "nginx", name="given"),
        commands=(("run", "SERVER=here/given", "LOWAT=16384", *_OWN),),
        guest=True,
    ),
    "a server's configuration": Kind(
        make=copied("proxy", "servers", "nginx", "nginx.conf", name="mine.toml"),
        commands=(("run", "CONFIG=here/mine.toml", "LOWAT=16384", *_OWN),),
        guest=True,
    ),
    "certificates": Kind(
        make=_certificate, commands=(("probe", "https://127.0.0.1:9/", "--ca", "here/given", "--deadline", "1s"),)
    ),
}


def kinds() -> Mapping[str, Kind]:
    """Return all kinds, with those of the extras that are there: `KINDS` in their tests/damaged.py."""
    found = dict(KINDS)
    for file in sorted((ROOT / "extras").glob("*/tests/damaged.py")):
        found |= import_module(f"priolab.extras.{file.parts[-3]}.tests.damaged").KINDS
    return found


def faults(kind: Kind, folder: Path, *, examples: int, number: int | None) -> Tally:
    """Damage inputs of a kind, and have all commands read each. Return what was tried.

    folder: an empty folder. number: the seed; None for the same inputs every time, the first fault of which raises
    AssertionError with the smallest damage that shows it.
    """
    source, tally = folder / "source", Tally()
    source.mkdir(parents=True)
    kind.make(source)
    with no_runs():
        whole = list(_found(kind, source, folder, lambda *_: "not damaged", tally))
        assert not whole, whole
        tally = Tally()

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=number is None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if number is None else (Phase.generate,),
        )
        @given(st.data())
        def tried(data: st.DataObject) -> None:
            found = list(_found(kind, source, folder, lambda *where: damage(data, *where), tally))
            tally.faults.extend(found)
            assert number is not None or not found, found[0]

        (tried if number is None else seed(number)(tried))()
    return tally


def no_runs() -> ExitStack:
    """Return a context in which no experiment is run, nothing is installed, and no picture is drawn."""

    def refuse(*_: Any, **__: Any) -> None:
        raise StepFailed("damage", _NOT_RUN)

    setup = import_module("priolab.experiments.commands.setup")
    stack = ExitStack()
    stack.enter_context(mock.patch.multiple(picture, drawn=lambda _: "<svg/>", png=lambda _: b""))
    stack.enter_context(mock.patch.object(run_command, "drawing", return_value=nullcontext()))  # by another process
    stack.enter_context(mock.patch.object(Local, "carry_out", refuse))
    stack.enter_context(mock.patch.object(setup, "_carry_out"))
    return stack


def _found(kind: Kind, source: Path, folder: Path, change: Callable[[Path, Path], str], tally: Tally) -> Iterator[str]:
    """Yield a text for each thing that a command must not do."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        here, outside, scratch = (Path(made).resolve() / name for name in ("here", "outside", "tmp"))
        scratch.mkdir()
        (outside / "folder").mkdir(parents=True)
        (outside / "file").write_text('{"format": 3}\n')
        shutil.copytree(source, here, symlinks=True)
        what = change(here, outside)
        before = _state(outside)
        tally.inputs += 1
        for command in kind.commands:
            ended = _carried_out(command, here, scratch)
            name = " ".join(command) if isinstance(command, tuple) else command.__name__
            problems = [*_problems(ended)]
            if what == "not damaged" and ended.code and _NOT_RUN not in ended.err and "127.0.0.1" not in name:
                problems += [ended.err] * ("nowhere" not in name and "unfinished" not in ended.err)
            if _state(outside) != before:
                problems.append("something outside was changed")
            if left := [path.name for path in scratch.iterdir()]:
                problems.append(f"left {left}")
            tally.commands += 1
            tally.refused += ended.code != 0
            tally.slowest_s = max(tally.slowest_s, ended.took_s)
            yield from (f"{what}: {name}: {problem}" for problem in problems)


def _carried_out(command: Words | Program, here: Path, scratch: Path) -> _Ended:
    out, err, began_s = io.StringIO(), io.StringIO(), time.process_time()
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.object(tempfile, "tempdir", str(scratch)),
        mock.patch.dict(os.environ, TMPDIR=str(scratch)),
        _handlers_kept(),
        _memory_limited(),
        limited(LIMIT_S),
    ):
        try:
            if isinstance(command, tuple):
                code = cli.main([re.sub(r"\bhere\b", str(here), word, count=1) for word in command])
            else:
                code = command(here)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else _FAULT
        except Exception:
            traceback.print_exc()
            code = _FAULT
    return _Ended(code=code, out=out.getvalue(), err=err.getvalue(), took_s=time.process_time() - began_s)


@contextmanager
def _memory_limited() -> Iterator[None]:
    """A context in which this process may take MEMORY_BYTES more than it has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    used = re.search(r"^VmData:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert used
    resource.setrlimit(resource.RLIMIT_DATA, (int(used[1]) * 1024 + MEMORY_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """A context after which signals do what they did before; a command changes that."""
    before = {number: signal.getsignal(number) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _problems(ended: _Ended) -> Iterator[str]:
    """Yield descriptions of a command's forbidden behaviour."""
    if ended.code == _FAULT or "Traceback" in ended.err:
        yield f"a fault: {ended.err.strip().splitlines()[-1][:300]} {_lines(ended.err)}"
        return
    if ended.code not in _CODES:
        yield f"it ended with {ended.code}: {ended.err[-300:]}"
        return
    for text in (ended.out, ended.err):
        if printable(text) != text:
            yield f"it shows {sorted({ascii(letter) for letter in text if printable(letter) != letter})}"
    lines = ended.err.splitlines()
    if lines and _NOT_RUN in lines[0]:
        return
    if len(lines) > 1:
        yield f"{len(lines)} lines on standard error: {ended.err[:300]!r}"
    if lines and not lines[0].startswith(("priolab: ", "setup: ")):
        yield f"it says {lines[0][:200]}"
    if lines and len(lines[0]) > _LONGEST_LINE:
        yield f"a line of {len(lines[0])} letters: {lines[0][:200]}"
    if bool(lines) != bool(ended.code) and not (ended.code == 1 and ended.out):  # a result that is not good
        yield f"it ended with {ended.code}, and said {lines[:1]}"
    if lines and not any(name in lines[0] for name in _NAMES):
        yield f"it does not say in which file: {lines[0][:200]}"


def _lines(err: str) -> Sequence[str]:
    """Return file and line of the last two calls in the lab's own code from a traceback."""
    calls = [line.split(", in ")[0] for line in err.splitlines() if line.startswith('  File "')]
    return [call.replace(f"{ROOT}/", "").strip() for call in calls[-2:]]


def _state(folder: Path) -> str:
    """Return a digest of a folder: names, kinds, permissions, times, contents, and targets of symlinks."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        known = path.lstat()
        found.update(f"{path}\0{known.st_mode}\0{known.st_mtime_ns}\0{known.st_size}\0".encode())
        if stat.S_ISREG(known.st_mode):
            found.update(path.read_bytes())
    return found.hexdigest()
