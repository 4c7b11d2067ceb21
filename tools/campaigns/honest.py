"""Makes runs in which nothing is wrong, and checks that none is called invalid: `make honest`.

    python -m tools.campaigns.honest [RUNS]

Server, client, link, kernel settings and page follow from the run's number. Two runs of five are such as a command of
the lab makes, with the grid and the sampling of that command. Of the others, half of the pages are drawn as well
(tools/campaigns/honest_pages.py); the rest have the page `maps`. Of 20 runs 15 are in the guest, as many
side by side as there are processors; then come three in namespaces and two in containers, one at a time. If the lab
refuses a combination, for example because the server lacks a feature, another is drawn. On a real clock a run is
rightly invalid if the machine delayed its processes. Such a run is repeated when the machine is calm, and the
repetition is counted. The table is written into RELIABILITY.md.
"""

import argparse
import os
import random
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from priolab.common.errors import LabError
from priolab.experiments.execution.cost import link_s
from priolab.experiments.scenario.knobs import KNOBS, scenario_from
from priolab.experiments.scenario.scenario import Scenario
from priolab.proxy.server import catalogue, server_of
from tests.support.lab import Done, make_lab
from tests.support.punctuality import any_late, until_punctual
from tools.campaigns.honest_pages import draw_page_file
from tools.campaigns.reliability import write

_RUNS = 300
_FABRICS = ("virtual",) * 15 + ("netns",) * 3 + ("compose",) * 2
_REFUSED, _LACKING = 2, "cannot be used here"  # a value that is not allowed; a server version that lacks it
_DRAWS = 100
_LONGEST_S = 30.0
"""The most link time of an arm on a real clock; if an arm would take longer, other knobs are drawn."""

_CLIENT_BIT_S = 20 * 10**6
"""The rate at which the lab's client, in Python, surely reads datagrams in real time."""

_IN_CONTAINERS = ("nginx", "h2o")  # few, because building a server's image takes a minute
_LIKE_DELAY = "as DELAY"
_SERVICES = ("20us", "1us/KB", "20us+1us/KB", "1ms+50us/KB")
_OF_MAPS = ("SIZE", "JS_DELAY", "FIRST")
"""The knobs that apply to the page `maps` alone."""
_KNOBS: dict[str, Sequence[str]] = {
    "LOWAT": ("none", "1", "4096", "16384", "131072", "1000000", "auto", "none,16384"),
    "RATE": (
        "128kbit",
        "64kbps",
        "128kbps",
        "128kbps",
        "1mbit",
        "5mbit",
        "20mbit",
        "100mbit",
        "400mbit",
        "1gbit",
        "unlimited",
    ),
    "DELAY": ("0ms", "1ms", "2ms", "5ms", "10ms", "20ms", "75ms", "100ms", "300ms", "300ms", "1s"),
    "FRONT_QDISC": ("stock", "stock", "stock", "fq", "fq_codel", "pfifo_fast"),
    "RATE_UP": ("unlimited", "unlimited", "unlimited", "32kbit", "128kbit", "1mbit"),
    "DELAY_UP": ("0ms", "0ms", "5ms", "150ms", _LIKE_DELAY, _LIKE_DELAY, _LIKE_DELAY),
    "QUEUE": ("25", "25", "25", "100", "1000", "64kb"),
    "LOSS": ("0%", "0%", "0%", "0%", "0.5%", "2%"),
    "JITTER": ("0ms", "0ms", "0ms", "0ms", "5ms", "30ms"),
    "RATE_STEPS": ("none", "none", "none", "none", "2mbit@2s", "256kbit@1s+4mbit@3s"),
    "SNDBUF": ("4M", "stock", "64M", "256K"),
    "CC": ("cubic", "cubic", "bbr", "reno"),
    "GSO": ("stock", "stock", "2"),
    "RECORD": ("stock", "stock", "1400"),
    "NATIVE": ("off", "off", "on"),
    "BUFFERING": ("on", "on", "off"),
    "SIZE": ("60K", "200K", "716800", "2M"),
    "JS_DELAY": ("0ms", "200ms", "200ms", "1s"),
    "RELOADS": ("0", "1", "2"),
    "FIRST": ("as-written", "as-written", "script"),
    "PRIORITY": ("spdy", "spdy", "swap", "none"),
    "DIALECT": ("plain", "plain", "chrome", "firefox", "safari", "header", "header+no7540", "reprioritize", "update"),
    "WINDOW": ("16M", "1M", "256K", "65535"),
    "CONNECTION_WINDOW": ("as-window", "as-window", "65535", "16M"),
    "SAMPLE": ("auto", "10ms", "100ms", "1ms", "none"),
    "CROSS": ("0", "0", "0", "1", "3"),
}
_COMMANDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "sweep": {
        "LOWAT": ("none,131072", "none,4096,16384", "65536,524288"),
        "RATE": ("128kbps", "1mbit", "10mbit", "100mbit", "1gbit"),
        "DELAY": ("2ms", "5ms", "10ms", "50ms", "300ms"),
        "DELAY_UP": (_LIKE_DELAY,),
        "CC": ("cubic", "bbr"),
        "SAMPLE": ("100ms",),
    },
    "cost": {
        "LOWAT": ("none,65536", "131072,4096"),
        "RATE": ("10mbit", "100mbit", "1gbit"),
        "DELAY": ("2500us", "25ms", "100ms"),
        "DELAY_UP": (_LIKE_DELAY,),
        "QUEUE": ("25", "41", "413", "4130"),
        "SIZE": ("4500K", "6M"),
        "SNDBUF": ("4M", "8M"),
        "WINDOW": ("256M",),
        "JS_DELAY": ("20ms",),
        "RELOADS": ("1",),
    },
    "auto": {
        "LOWAT": ("none,16384", "auto"),
        "RATE": ("2mbit", "10mbit", "100mbit"),
        "DELAY": ("1ms", "5ms", "20ms"),
        "QUEUE": ("2000",),
        "SIZE": ("716800", "2M"),
        "WINDOW": ("256M",),
        "RELOADS": ("0",),
        "SAMPLE": ("none",),
    },
    "demo": {
        "LOWAT": ("none,131072", "16384", "1024"),
        "RATE": ("64kbps", "512kbps", "10mbit", "100mbit", "unlimited"),
        "DELAY": ("0ms", "20ms", "100ms", "300ms"),
        "QUEUE": ("10", "25", "100", "1000"),
        "RELOADS": ("0", "2", "4"),
    },
    "gate": {
        "PLAN": ("probe",),
        "DIALECT": ("plain", "header", "update"),
        "PRIORITY": ("spdy", "swap"),
        "RELOADS": ("0",),
        "RATE": ("unlimited",),
        "DELAY": ("0ms",),
        "SAMPLE": ("100ms", "none"),
    },
}
"""The knobs of the runs that commands make: sweep and knee, cost, auto, demo, and gate and matrix."""
_OF_COMMANDS = 0.4


@dataclass(kw_only=True)
class Tally:
    """Results for a fabric. late: repetitions because the machine delayed a run. arms: the number of arms by status.

    pages: the runs with a page of their own.
    """

    runs: int = 0
    pages: int = 0
    late: int = 0
    arms: Counter[str] = field(default_factory=Counter)
    drawn: dict[str, set[str]] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)


def main() -> int:
    """Returns the exit code, 0 if no run was invalid and none failed."""
    parser = argparse.ArgumentParser(prog="make honest", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=_RUNS)
    runs = parser.parse_args().runs
    tallies = {fabric: Tally() for fabric in dict.fromkeys(_FABRICS)}
    by_fabric = {fabric: [n for n in range(runs) if _FABRICS[n % len(_FABRICS)] == fabric] for fabric in tallies}
    done, lock = iter(range(1, runs + 1)), threading.Lock()

    with tempfile.TemporaryDirectory(prefix="priolab-honest-") as folder:

        def carry_out(number: int) -> None:
            fabric = _FABRICS[number % len(_FABRICS)]
            words, finished, late = _run(number, fabric, Path(folder) / str(number))
            with lock:
                _note(tallies[fabric], words, finished, late)
                print(f"\r{next(done)} of {runs}", end="", file=sys.stderr, flush=True)

        for fabric, numbers in by_fabric.items():
            with ThreadPoolExecutor((os.cpu_count() or 1) if fabric == "virtual" else 1) as threads:
                list(threads.map(carry_out, numbers))
    print(file=sys.stderr)
    table = _table(tallies)
    write("honest", table)
    print(table)
    return 1 if any(tally.trouble for tally in tallies.values()) else 0


def _run(number: int, fabric: str, root: Path) -> tuple[dict[str, str], Done, int]:
    """Makes a run. Returns its knobs, its result, and the number of repetitions because the machine delayed it."""
    chance = random.Random(number)
    for draw in range(_DRAWS):
        root.joinpath(str(draw)).mkdir(parents=True)
        lab = make_lab(root / str(draw))
        words = draw_run(chance, fabric, root / str(draw))
        if fabric != "virtual" and (_link_s(words) > _LONGEST_S or _outruns_the_client(words)):
            continue
        attempts = 0

        def go() -> Done:
            nonlocal attempts
            attempts += 1
            return lab.run_unseen(f"FABRIC={fabric}", *(f"{name}={value}" for name, value in words.items()))  # noqa: B023

        done = until_punctual(go, lambda done: any_late(done.summary)) if fabric != "virtual" else go()
        if done.code != _REFUSED and _LACKING not in done.err:
            return words, done, attempts - 1
    raise AssertionError(f"run {number}: the lab refused {_DRAWS} in a row, the last: {done.err}")


def draw_run(chance: random.Random, fabric: str, folder: Path) -> dict[str, str]:
    """Draws knobs: those of a command's run, or any. Then half keep their default, so that no run is unusual in all.

    folder: where the file of a drawn page is written.
    """
    servers = _IN_CONTAINERS if fabric == "compose" else tuple(catalogue())
    is_commands = chance.random() < _OF_COMMANDS
    if is_commands:
        knobs = chance.choice([*_COMMANDS.values()])
        words = {name: chance.choice(values) for name, values in knobs.items()}
    else:
        words = {name: chance.choice(values) for name, values in _KNOBS.items() if chance.random() < 0.5}
    words |= {"SERVER": chance.choice(servers), "SEED": str(chance.randrange(1, 1000))}
    if words.get("DELAY_UP") == _LIKE_DELAY:
        words["DELAY_UP"] = words.get("DELAY", KNOBS["DELAY"].default)
    if is_commands:
        return {"CONTROL": "no"} | words
    if fabric == "virtual" and chance.random() < 0.1:
        words["CLIENT"] = "chromium"
    if fabric == "virtual" and chance.random() < 0.2:
        words["SERVICE"] = chance.choice(_SERVICES)
    if chance.random() < 0.5:
        file = draw_page_file(chance, folder)
        words = {name: value for name, value in words.items() if name not in _OF_MAPS} | {"PAGE": str(file)}
    return {"CONTROL": "no"} | words


def _link_s(words: dict[str, str]) -> float:
    """Link time of all loads of an arm; 0 if the lab would refuse the knobs."""
    scenario = _scenario(words)
    return link_s(scenario) if scenario else 0.0


def _outruns_the_client(words: dict[str, str]) -> bool:
    """True if a link is faster than the lab's client reads datagrams in real time; then its socket drops some."""
    scenario = _scenario(words)
    if scenario is None or server_of(scenario.server).over_tcp:
        return False
    return (scenario.link.rate_bit_s or _CLIENT_BIT_S + 1) > _CLIENT_BIT_S


def _scenario(words: dict[str, str]) -> Scenario | None:
    """Returns the scenario of the first arm; None if the lab would refuse the knobs."""
    knobs = {name: value.partition(",")[0] for name, value in words.items() if name in KNOBS}
    try:
        return scenario_from(knobs)
    except LabError:
        return None


def _note(tally: Tally, words: dict[str, str], done: Done, late: int) -> None:
    tally.runs += 1
    tally.late += late
    for name, value in words.items():
        tally.pages += name == "PAGE"
        tally.drawn.setdefault(name, set()).add(value)
    arms = done.summary["arms"] if done.summary else [{"status": "failed", "reason": done.err}]
    for arm in arms:
        tally.arms[arm["status"]] += 1
        if arm["status"] != "ok":
            tally.trouble.append(f"{words}: {arm['status']}: {arm['reason']}")
            print(f"\n{tally.trouble[-1]}", file=sys.stderr, flush=True)


def _table(tallies: dict[str, Tally]) -> str:
    lines = [
        f"{sum(each.runs for each in tallies.values())} runs by `make honest`; a run's number decides its knobs.",
        "",
        "| fabric | runs | own pages | servers | values of knobs | arms ok | invalid | failed | repeated: late |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for fabric, tally in tallies.items():
        servers = len(tally.drawn.get("SERVER", ()))
        values = sum(len(drawn) for name, drawn in tally.drawn.items() if name != "PAGE")
        ends = " | ".join(str(tally.arms[end]) for end in ("ok", "invalid", "failed"))
        lines.append(f"| {fabric} | {tally.runs} | {tally.pages} | {servers} | {values} | {ends} | {tally.late} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
