"""Kills a process in each of many running labs and checks what remains: `make kills`.

    python -m tools.campaigns.kills [KILLS] [FABRIC...]      virtual, netns, compose: all unless some are named

The process, and the time of the kill, follow from the trial's number and the duration of an undisturbed run. The
fabrics are tested side by side. A trial is good if:
1. The lab ends within ten seconds of the kill, unless it goes on and is ok; ten seconds later nothing of it is left.
2. A run that is ok has the same events as the undisturbed one; on a real clock the same verdict and about the same
   first byte of the script.
Every 25th trial is followed by an undisturbed run. The table is written into RELIABILITY.md.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from priolab.analysis.reports.markdown import Table, filled
from priolab.common.descriptors import with_descendants
from priolab.common.process import supervisor
from tests.support.endings import Traces, words_of
from tests.support.lab import Done, Lab, done_in, make_lab
from tests.support.punctuality import any_late, until_punctual
from tools.campaigns.reliability import write

_KILLS = 500
_SHARES = {"virtual": 3, "netns": 3, "compose": 1}
_SMALL = ("LOWAT=16384", "SIZE=100K", "RELOADS=0", "CONTROL=no")
_LONGEST_S = 120.0
_SOON_S = 10.0
_NEXT = 25
_LATER_MS = 200.0
_WINDOW = (0.03, 0.97)
_IN_GUEST = "uml-userspace"  # the process's comm, as it has no argument list
_KINDS = (
    (r"supervisor\.py", "the supervisor"),
    (r"/linux-\d", "the guest's kernel"),
    (f"^{_IN_GUEST}$", "a program in the guest"),
    (r"experiments\.run\.(process|guest)", "the arm"),
    (r"netem\.ferry", "the ferry"),
    (r"netem\b", "the shaper or the calibration"),
    (r"origin\.mjs", "the origin"),
    (r"^nginx|-m priolab.proxy|entry\.sh", "the front"),
    (r"-m priolab.client", "the client"),
    (r"^unshare|^env |/sh |^sh |sleep", "the wrapper of an arm or a place"),
    (r"docker", "docker and compose"),
    (r"priolab\.experiments run", "the lab"),
)


@dataclass(kw_only=True)
class Tally:
    """Results for a kind of process in a fabric. slowest_s: the longest time from a kill to the lab's failure."""

    kills: int = 0
    left: list[str] = field(default_factory=list)
    falsely_ok: list[str] = field(default_factory=list)
    slowest_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Whole:
    """An undisturbed run and its duration. is_exact: true if other runs must have the same events."""

    done: Done
    is_exact: bool
    took_s: float

    def is_like(self, other: Done) -> bool:
        """True if the other run has the same result."""
        if self.is_exact:
            return _events(self.done) == _events(other)
        ours, theirs = (each.arm("lowat-16384") for each in (self.done, other))
        later_ms = abs(ours["script"]["first_byte_ms"] - theirs["script"]["first_byte_ms"])
        return bool(ours["verdict"] == theirs["verdict"] and later_ms <= _LATER_MS)


@dataclass(frozen=True, kw_only=True)
class Trials:
    """The trials of a fabric."""

    fabric: str
    folder: Path
    tallies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    def carry_out(self, numbers: Sequence[int], progress: "Progress") -> None:
        """Carries out the trials. Raises AssertionError if an undisturbed run is not ok.

        The first undisturbed run fills caches and takes longer, so it does not count.
        """
        self._undisturbed("first")
        whole = self._undisturbed("before")
        for count, number in enumerate(numbers, 1):
            self._try(number, whole)
            progress.one_more()
            if count % _NEXT == 0:
                whole = self._undisturbed(f"after-{number}")

    def _undisturbed(self, name: str) -> Whole:
        lab, took_s = _lab(self.folder / name), 0.0

        def go() -> Done:
            nonlocal took_s
            began_s = time.monotonic()
            done = lab.run_unseen(f"FABRIC={self.fabric}", *_SMALL)
            took_s = time.monotonic() - began_s
            return done

        done = until_punctual(go, lambda done: any_late(done.summary))
        assert done.code == 0, done.err
        return Whole(done=done, is_exact=self.fabric == "virtual", took_s=took_s)

    def _try(self, number: int, whole: Whole) -> None:
        """Repeats the trial until a kill succeeds: the process to be killed may have ended before."""
        chance = random.Random(number)
        for attempt in range(_NEXT):
            if self._kill_in_one(f"{number}-{attempt}", chance, whole):
                return
        raise AssertionError(f"trial {number}: nothing was there to be killed, {_NEXT} times")

    def _kill_in_one(self, name: str, chance: random.Random, whole: Whole) -> bool:
        lab, traces = _lab(self.folder / name), Traces()
        command = lab.command(f"FABRIC={self.fabric}", *_SMALL, "--print-folder")
        with subprocess.Popen(
            command,
            env=lab.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            process_group=0,
        ) as running:
            after_s = chance.uniform(*_WINDOW) * whole.took_s
            time.sleep(after_s)
            traces.look(running.pid)
            groups = [group for path in lab.temporary.iterdir() if (group := supervisor.group_of(path.name))]
            projects = [f"name=priolab-{experiment.stem}-" for experiment in lab.results.glob("*.partial")]
            kind, words = _kill_one(_processes(running.pid, projects), chance)
            killed_s = time.monotonic()
            try:
                said, _ = running.communicate(timeout=_LONGEST_S)
            except subprocess.TimeoutExpired:
                running.kill()
                said = ""
            took_s = time.monotonic() - killed_s
        if kind is None:
            return False
        tally = self.tallies[kind]
        tally.kills += 1
        if running.returncode != 0:
            tally.slowest_s = max(tally.slowest_s, took_s)
        if took_s > _SOON_S and running.returncode != 0:
            what = f"{self.fabric} {name}: {kind} was killed after {after_s:.1f} s"
            tally.left.append(f"{what}, the lab took {took_s:.1f} s (exit code {running.returncode})")
            print(f" {tally.left[-1]}", file=sys.stderr, flush=True)
        try:
            traces.must_be_gone()
        except AssertionError as error:
            tally.left.append(str(error))
        tally.left += _left_of(lab, groups, projects)
        if running.returncode == 0 and not whole.is_like(done_in(Path(said.strip()))):
            tally.falsely_ok.append(f"{self.fabric} {name}: ok, though {words!r} was killed after {after_s:.1f} s")
        return True


class Progress:
    """A progress line with the number of finished trials, for several threads."""

    def __init__(self, trials: int) -> None:
        self._trials, self._done, self._lock = trials, 0, threading.Lock()

    def one_more(self) -> None:
        """Counts a finished trial and prints the line."""
        with self._lock:
            self._done += 1
            print(f"\r{self._done} of {self._trials}", end="", file=sys.stderr, flush=True)


def main() -> int:
    """Returns the exit code, 0 if all trials were good."""
    parser = argparse.ArgumentParser(prog="make kills", description=__doc__)
    parser.add_argument("kills", nargs="?", type=int, default=_KILLS)
    parser.add_argument("fabrics", nargs="*", choices=[*_SHARES, []], default=[])
    words = parser.parse_args()
    kills, fabrics = words.kills, words.fabrics or tuple(_SHARES)
    with tempfile.TemporaryDirectory(prefix="priolab-kills-") as folder, ThreadPoolExecutor(len(fabrics)) as threads:
        trials = [Trials(fabric=fabric, folder=Path(folder) / fabric) for fabric in fabrics]
        turns = [fabric for fabric in fabrics for _ in range(_SHARES[fabric])]
        numbers = [[number for number in range(kills) if turns[number % len(turns)] == each] for each in fabrics]
        list(threads.map(Trials.carry_out, trials, numbers, [Progress(kills)] * len(fabrics)))
    print(file=sys.stderr)
    table = _table(trials)
    write("kills", table)
    print(table)
    tallies = [tally for each in trials for tally in each.tallies.values()]
    for what in (what for tally in tallies for what in tally.left + tally.falsely_ok):
        print(what, file=sys.stderr)
    return 1 if any(tally.left or tally.falsely_ok for tally in tallies) else 0


def _lab(root: Path) -> Lab:
    root.mkdir(parents=True)
    return make_lab(root)


def _events(done: Done) -> dict[str, bytes]:
    """The client's events.jsonl of each arm."""
    assert done.folder is not None
    return {file.parts[-3]: file.read_bytes() for file in done.folder.glob("*/client/events.jsonl")}


def _processes(pid: int, projects: Iterable[str]) -> Iterator[int]:
    """Ids of the lab's processes and of those in its containers, which are not children of the lab."""
    yield from with_descendants(pid)
    for project in projects:
        if containers := _docker("ps", "--quiet", "--filter", project):
            for each in _docker("inspect", "--format", "{{.State.Pid}}", *containers):
                if int(each):  # 0: the container does not run
                    yield from with_descendants(int(each))


def _kill_one(processes: Iterator[int], chance: random.Random) -> tuple[str | None, str]:
    """Kills a process of a random kind. Returns the kind (None if the process had ended) and its argument list."""
    by_kind: dict[str, list[int]] = defaultdict(list)
    for pid in processes:
        if words := words_of(pid) or _program_in_guest(pid):
            by_kind[next((kind for pattern, kind in _KINDS if re.search(pattern, words)), "others")].append(pid)
    if not by_kind:
        return None, ""
    kind = chance.choice(sorted(by_kind))
    pid = chance.choice(by_kind[kind])
    words = words_of(pid) or _IN_GUEST
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None, ""
    return kind, words


def _program_in_guest(pid: int) -> str:
    """Returns _IN_GUEST if the process is a program in the guest that still runs, else an empty text."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""
    return _IN_GUEST if f"Name:\t{_IN_GUEST}\n" in status and "State:\tZ" not in status else ""


def _left_of(lab: Lab, groups: Iterable[str], projects: Iterable[str]) -> list[str]:
    """Processes, temporary files, cgroups, containers and networks that are left ten seconds after the kill."""
    end_s = time.monotonic() + _SOON_S
    while True:
        engine = [
            each
            for project in projects
            for what in (("ps", "--all"), ("network", "ls"))
            for each in _docker(*what, "--quiet", "--filter", project)
        ]
        files = [path.name for path in lab.temporary.iterdir()]
        left = [*lab.processes(), *files, *(group for group in groups if Path(group).exists()), *engine]
        if not left or time.monotonic() > end_s:
            return left
        time.sleep(0.2)


def _docker(*words: str) -> list[str]:
    """The words of docker's output; empty if Docker is not installed, which only the fabric compose needs."""
    try:
        done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        return []
    return done.stdout.split()


def _table(trials: list[Trials]) -> str:
    tallies = [tally for each in trials for tally in each.tallies.values()]
    left, falsely_ok = (sum(len(getattr(each, name)) for each in tallies) for name in ("left", "falsely_ok"))
    told = (
        f"{sum(each.kills for each in tallies)} kills by `make kills`; a kill's number decides which process is killed,"
        f" and when. {left} left something, {falsely_ok} were ok, but wrong."
    )
    kinds = sorted({kind for each in trials for kind in each.tallies})
    rows = tuple((kind, *(_cell(each.tallies.get(kind)) for each in trials)) for kind in kinds)
    table = Table(head=("killed process", *(f"{each.fabric}:" for each in trials)), rows=rows)
    return f"{filled(told)}\n\n{table.markdown()}\n"


def _cell(tally: Tally | None) -> str:
    return f"{tally.kills}, {tally.slowest_s:.1f} s" if tally else ""


if __name__ == "__main__":
    sys.exit(main())
