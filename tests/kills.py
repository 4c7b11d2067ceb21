"""Kills processes of running labs, one in each, and looks what is left: `make kills`.

    python -m tests.kills [KILLS] [FABRIC...]

Which process, and when, follows from the trial's number. A trial is good if within ten seconds nothing of the lab is
left, and no run is ok that is not what it would have been. The table is written into RELIABILITY.md.
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import Lab, make_lab
from tests.lab.endings import Traces, descendants, words_of

_DOCUMENT = Path(__file__).resolve().parents[1] / "RELIABILITY.md"
_BEGIN, _END = "<!-- kills -->\n", "<!-- end of kills -->\n"
_KILLS = 500
_FABRICS = ("virtual", "netns", "compose")
_SMALL = ("LOWAT=16384", "SIZE=100K", "RELOADS=0", "CONTROL=no")
_LONGEST_S = 60.0
_SOON_S = 10.0
_NEXT = 25  # trials before a run that nobody disturbs
_KINDS = (
    (r"keeper\.py", "the keeper"),
    (r"/linux-\d", "the guest: its kernel or a program"),
    (r"uml-userspace|\[?stub", "the guest: its kernel or a program"),
    (r"experiments\.arm", "the arm"),
    (r"netem\.ferry", "the ferry"),
    (r"origin\.mjs", "the origin"),
    (r"^nginx", "the front"),
    (r"-m client", "the client"),
    (r"^unshare|^env ", "what starts the arm"),
    (r"docker", "docker and compose"),
    (r"experiments\.cli run", "the lab"),
)


@dataclass(kw_only=True)
class Tally:
    """Of one kind of process in one fabric. slowest_s: from the kill until the lab had ended."""

    kills: int = 0
    left: list[str] = field(default_factory=list)
    falsely_ok: int = 0
    slowest_s: float = 0.0


def main() -> int:
    """Exit code 0 if all trials were good."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else _KILLS
    fabrics = tuple(sys.argv[2:]) or _FABRICS
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    with tempfile.TemporaryDirectory(prefix="priolab-kills-") as folder:
        whole = {fabric: _undisturbed(fabric, Path(folder)) for fabric in fabrics}
        for number in range(kills):
            fabric = fabrics[number % len(fabrics)]
            _try(number, fabric, whole[fabric], Path(folder) / str(number), tallies)
            print(f"\r{number + 1} of {kills}", end="", file=sys.stderr, flush=True)
            if (number + 1) % _NEXT == 0:
                _undisturbed(fabric, Path(folder) / f"next-{number}")
    print(file=sys.stderr)
    table = _table(tallies)
    text = _DOCUMENT.read_text()
    before, _, rest = text.partition(_BEGIN)
    _DOCUMENT.write_text(before + _BEGIN + table + _END + rest.partition(_END)[2])
    print(table)
    return 1 if any(tally.left or tally.falsely_ok for tally in tallies.values()) else 0


def _lab(root: Path) -> Lab:
    root.mkdir(parents=True, exist_ok=True)
    return make_lab(root)


def _undisturbed(fabric: str, root: Path) -> Mapping[str, bytes]:
    """The client's events of each arm, of a run that nobody kills anything of. Raises AssertionError."""
    done = _lab(root / f"whole-{fabric}").run_unseen(f"FABRIC={fabric}", *_SMALL)
    assert done.code == 0, done.err
    assert done.folder is not None
    return _events(done.folder)


def _events(folder: Path) -> Mapping[str, bytes]:
    return {file.parts[-3]: file.read_bytes() for file in folder.glob("*/client/events.jsonl")}


def _try(
    number: int, fabric: str, whole: Mapping[str, bytes], root: Path, tallies: dict[tuple[str, str], Tally]
) -> None:
    chance = random.Random(number)
    lab, traces = _lab(root), Traces()
    with subprocess.Popen(
        lab.command(f"FABRIC={fabric}", *_SMALL, "--print-folder"),
        env=lab.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        process_group=0,
    ) as running:
        kind, killed_s = _kill_one(running, chance, traces, fabric)
        try:
            said, _ = running.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            running.kill()
            said = ""
        took_s = time.monotonic() - killed_s
    tally = tallies[fabric, kind]
    tally.kills += 1
    try:
        traces.must_be_gone()
    except AssertionError as error:
        tally.left.append(str(error))
    left = [*lab.processes(), *(path.name for path in lab.temporary.iterdir())]
    tally.left += left
    if fabric != "compose" and took_s > _SOON_S:
        tally.left.append(f"the lab, for {took_s:.0f} s")
    tally.slowest_s = max(tally.slowest_s, took_s)
    if running.returncode == 0 and fabric == "virtual":
        tally.falsely_ok += _events(Path(said.strip())) != whole


def _kill_one(
    running: "subprocess.Popen[str]", chance: random.Random, traces: Traces, fabric: str
) -> tuple[str, float]:
    """After a while, one of the lab's processes: what it was, and when."""
    time.sleep(chance.uniform(0.2, 4.0 if fabric == "virtual" else 9.0))
    traces.look(running.pid)
    by_kind: dict[str, list[int]] = defaultdict(list)
    for pid in descendants(running.pid):
        words = words_of(pid)
        by_kind[next((kind for pattern, kind in _KINDS if re.search(pattern, words)), words[:40])].append(pid)
    kind = chance.choice(sorted(by_kind))
    try:
        os.kill(chance.choice(by_kind[kind]), signal.SIGKILL)
    except ProcessLookupError:
        kind = "others"
    return kind, time.monotonic()


def _table(tallies: Mapping[tuple[str, str], Tally]) -> str:
    lines = [
        f"{sum(each.kills for each in tallies.values())} kills by `make kills`; whom and when follows from the number.",
        "",
        "| fabric | killed | how often | something left | falsely ok | until the lab had ended, at most |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (fabric, kind), tally in sorted(tallies.items()):
        lines.append(
            f"| {fabric} | {kind} | {tally.kills} | {len(tally.left)} | {tally.falsely_ok} | {tally.slowest_s:.1f} s |"
        )
        lines += [f"<!-- left: {each} -->" for each in tally.left[:3]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
