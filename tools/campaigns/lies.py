"""Changes runs behind the lab's back, and checks that none is believed: `make lies`.

    python -m tools.campaigns.lies [RUNS]

A run's number decides what is changed, where and when, and for how long (deviations.py). Of six runs five are in the
guest, and one in namespaces. A run is *believed* if it is ok although a time of its measured load differs from that of
an undisturbed run by more than a TLS record takes; on a real clock also by more than the lab's tolerance, and by more
than three undisturbed runs differ, and ten more if it seems so. A change that could not be made, for example because
the load had ended, is replaced by another. The table is written into RELIABILITY.md.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

from priolab.analysis.reports.markdown import Table, filled
from priolab.netem import calibration
from priolab.proxy.server import catalogue
from priolab.testbed import keep_guests
from tests.support.capabilities import present
from tests.support.together import together
from tools.campaigns.deviations import ADDRESSES, Deviation, draw
from tools.campaigns.reliability import write

_RUNS = 300
_KNOBS = ("SIZE=300K", "RELOADS=0", "SAMPLE=20ms")
_RECORD_MS = 1000 * (16_384 + 12 * 66) / 128_000
"""The time in ms that a full TLS record and the headers of its packets take at the link's rate, 128 kB/s."""

_BATCH = 40
_MORE = ("second", "third")
"""The further undisturbed runs on a real clock, for each way to run a server."""

_SURELY = 10
"""The number of further undisturbed runs, if three differ too much from one that is ok."""

_MOST_TRIED = 3
"""The number of deviations to draw for each one that is wanted, because some cannot be made."""

_REAL_PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OWN_ARM = "s|.* /mnt .*/\\([^/]*\\)[.]1$|\\1|p"
_HOOKS = {"tc": '[ "$1" = -batch ]', "ethtool": '[ "$2" = ferry-down ]'}
"""Programs that the lab starts once for each link, of netem and of the ferry, and the condition for this call."""

_LOG = "link/deviation.txt"
_DONE = "done"


@dataclass(kw_only=True)
class Tally:
    """The results of the deviations of a kind, counted by outcome. trouble: a line for each that was believed."""

    outcomes: Counter[str] = field(default_factory=Counter)
    trouble: list[str] = field(default_factory=list)


INVALID, FAILED, SAME, BELIEVED = "invalid", "failed", "the same", "believed"


def main() -> int:
    """Returns the exit code, 0 if no run was believed."""
    parser = argparse.ArgumentParser(prog="make lies", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=_RUNS)
    runs = parser.parse_args().runs
    real = runs // 6
    tallies: dict[str, dict[str, Tally]] = {}
    with keep_guests():
        for fabric, wanted in (("virtual", runs - real), ("netns", real)):
            tallies[fabric] = campaign(fabric, wanted)
    table = _table(tallies)
    write("lies", table)
    print(table)
    return 1 if any(each.outcomes[BELIEVED] for of in tallies.values() for each in of.values()) else 0


def campaign(fabric: str, wanted: int, first: int = 0) -> dict[str, Tally]:
    """Makes that many deviations in a fabric. first: the number of the first. Returns the results by kind."""
    servers = [name for name in catalogue() if present(name)]
    drawn = (draw(number, servers, netem=fabric == "virtual") for number in count(first))
    tallies: dict[str, Tally] = {}
    made = 0
    for batch in _batches(islice(drawn, _MOST_TRIED * wanted), min(_BATCH, wanted)):
        for deviation, outcome, told in carry_out(fabric, batch[: wanted - made]):
            if outcome is None:
                print(f"not made: {deviation}: {told}", file=sys.stderr, flush=True)
                continue
            made += 1
            tally = tallies.setdefault(deviation.kind, Tally())
            tally.outcomes[outcome] += 1
            print(f"{outcome}: {deviation}: {told}", file=sys.stderr, flush=True)
            if outcome == BELIEVED:
                tally.trouble.append(f"{deviation}: {told}")
        if made == wanted:
            break
    return tallies


def _batches(deviations: Iterator[Deviation], size: int) -> Iterator[Sequence[Deviation]]:
    while batch := list(islice(deviations, size)):
        yield batch


def carry_out(fabric: str, deviations: Sequence[Deviation]) -> Iterator[tuple[Deviation, str | None, str]]:
    """Makes runs with the deviations, and their honest runs, as arms of one experiment.

    Yields each deviation, its outcome, and the reason. The outcome is None if the change could not be made.
    """
    with tempfile.TemporaryDirectory(prefix="priolab-lies-") as folder:
        root = Path(folder)
        names = {f"lie-{number}": each for number, each in enumerate(deviations)}
        arms = {each.honest: (f"SERVER={each.server}", f"LOWAT={each.lowat}") for each in deviations}
        arms |= {name: arms[each.honest] for name, each in names.items()}
        if fabric != "virtual":  # several honest runs, because they differ
            undisturbed = {name: knobs for name, knobs in arms.items() if name.startswith("honest-")}
            arms |= {f"{name}-{more}": knobs for name, knobs in undisturbed.items() for more in _MORE}
        for name, each in names.items():
            words = (ADDRESSES[each.place], f"{each.at_s:.3f}", f"{each.for_s:.3f}", *each.action)
            (root / f"{name}.lie").write_text("\n".join(words) + "\n")
        with _stand_ins(root):
            done = together(root / "results", arms, *_KNOBS, f"FABRIC={fabric}")
        assert done.folder is not None, done.err
        found = {name: json.loads((done.folder / f"{name}.1/run.json").read_text()) for name in arms}
        for name, each in names.items():
            log = done.folder / f"{name}.1" / _LOG
            told = log.read_text().strip() if log.exists() else "too late"
            if told != _DONE:
                yield each, None, told
                continue
            honest = [of for arm, of in found.items() if arm.startswith(each.honest)]
            late = next((of["reason"] for of in honest if of["status"] != "ok" and fabric != "virtual"), None)
            if late is not None:  # the machine was busy, so nothing is known
                yield each, None, f"an undisturbed run is not ok: {late}"
                continue
            judged = _judged(found[name], honest)
            if judged[0] == BELIEVED and fabric != "virtual":
                honest = [*honest, *_undisturbed(root / f"more-{name}", arms[each.honest], fabric)]
                judged = _judged(found[name], [of for of in honest if of["status"] == "ok"])
            yield each, *judged


def _undisturbed(results: Path, words: Sequence[str], fabric: str) -> list[Mapping[str, Any]]:
    """Makes more undisturbed runs with these knobs. Some servers give other times in each."""
    arms = {f"more-{number}": words for number in range(_SURELY)}
    done = together(results, arms, *_KNOBS, f"FABRIC={fabric}")
    assert done.folder is not None, done.err
    return [json.loads((done.folder / f"{name}.1/run.json").read_text()) for name in arms]


def _judged(run: Mapping[str, Any], honest: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Returns the outcome of a run with a deviation, and why. honest: undisturbed runs with the same knobs."""
    for each in honest:
        if each["status"] != "ok":
            return FAILED, f"an undisturbed run is {each['status']}: {each['reason']}"
    if run["status"] != "ok":
        return INVALID if run["status"] == "invalid" else FAILED, str(run["reason"])
    times = [_times(each) for each in honest]
    slack_ms = _RECORD_MS
    if len(honest) > 1:
        slack_ms += calibration.REAL.round_trip_ns / 10**6
    for name, found_ms in _times(run).items():
        least_ms, most_ms = min(of[name] for of in times), max(of[name] for of in times)
        if not least_ms - slack_ms <= found_ms <= most_ms + slack_ms:
            return BELIEVED, f"{name} at {found_ms:.0f} ms instead of {least_ms:.0f} ms"
    return SAME, ""


def _times(run: Mapping[str, Any]) -> dict[str, float]:
    """Returns the times of the measured load in ms: of each resource its headers, its first byte and its last."""
    return {
        f"{resource}, {what}": times[what]
        for resource, times in run["loads"][-1]["resources"].items()
        for what in ("headers_ms", "first_byte_ms", "last_byte_ms")
    }


@contextmanager
def _stand_ins(root: Path) -> Iterator[None]:
    """Puts programs first in PATH that start the deviation of their arm, and then become the real programs."""
    programs = root / "programs"
    programs.mkdir()
    liar = shutil.copy(Path(__file__).with_name("liar.py"), root / "liar.py")
    for program, where in _HOOKS.items():
        real = shutil.which(program, path=_REAL_PATH)
        if real is None:
            continue
        file = programs / program
        file.write_text(
            f"""#!/bin/sh
arm=$(sed -n '{_OWN_ARM}' /proc/self/mountinfo) run=/mnt
if [ -z "$arm" ]; then
    run=$(tr '\\0' '\\n' </proc/1/cmdline | tail -n 1) arm=$(basename "$run" .1)
fi
lie="{root}/$arm.lie"
if {where} && [ -e "$lie" ]; then
    PATH={_REAL_PATH}
    (tr '\\n' '\\0' <"$lie" | xargs -0 {sys.executable} -I {liar} "$run/{_LOG}") </dev/null >/dev/null 2>&1 &
fi
exec {real} "$@"
"""
        )
        file.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{programs}:{_REAL_PATH}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _table(tallies: Mapping[str, Mapping[str, Tally]]) -> str:
    outcomes = sum((each.outcomes for of in tallies.values() for each in of.values()), Counter[str]())
    told = (
        f"{outcomes.total()} deviations by `make lies`; a run's number decides what is changed, where and when."
        f" {outcomes[BELIEVED]} were believed."
    )
    kinds = sorted({kind for of in tallies.values() for kind in of})
    rows = tuple((kind, *(_cell(of.get(kind)) for of in tallies.values())) for kind in kinds)
    table = Table(head=("what is changed", *(f"invalid, {fabric}:" for fabric in tallies)), rows=rows)
    return f"{filled(told)}\n\n{table.merged().markdown()}\n"


def _cell(tally: Tally | None) -> str:
    if tally is None:
        return ""
    others = (f", {count} {what}" for what in (FAILED, BELIEVED) if (count := tally.outcomes[what]))
    return f"{tally.outcomes[INVALID]} of {tally.outcomes.total()}{''.join(others)}"


if __name__ == "__main__":
    sys.exit(main())
