"""The examples of docs/guide/sandbox.md and docs/guide/faults.md, each repeated: `make sandbox-examples`.

    python -m tools.campaigns.sandbox_examples [RUNS]

Repetitions of an example, each in a new guest, must be the same: what the programs wrote and when, what was counted,
and the packets at both ends. One more, in a guest that has carried out others, may differ (docs/decisions/0039); the
command says whether it wrote the same at the same times. The outputs are written into the guides; a table of the times
and rates that the examples print, beside those with FABRIC=netns, into docs/reference/sandbox.md.
"""

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from unittest.mock import patch

from priolab.analysis.reports.markdown import Table, places, with_place, with_places
from priolab.common.home import ROOT
from priolab.experiments import cli
from priolab.experiments.setup.wheel_fetching import fetch
from priolab.experiments.setup.wheels import program_in_cache
from priolab.proxy.server import server_of
from priolab.testbed import Outcome, OutputFrame, command, keep_guests, session

GUIDES = (ROOT / "docs/guide/sandbox.md", ROOT / "docs/guide/faults.md")
REFERENCE = ROOT / "docs/reference/sandbox.md"
FILES = ROOT / "docs/examples/sandbox"
NEEDS: Mapping[str, Sequence[str]] = {
    "nginx-and-curl": ("nginx", "curl"),
    "cubic-against-bbr": ("iperf3",),
    "time-outs-of-dns": ("dnsmasq",),
    "typing-over-ssh-beside-scp": ("sshd",),
    "another-server-takes-over": ("curl",),
    "ipv6-and-a-way-without-it": ("curl",),
    "a-post-that-is-sent-again": ("curl",),
    "a-failover-that-loses-writes": ("redis-server",),
    "a-firewall-that-forgets": ("nft",),
    "a-reset-in-the-middle": ("curl", "nft"),
    "a-black-hole-of-mtu": ("curl",),
    "a-server-in-go-a-client-in-javascript": ("caddy", "node"),
}
"""The programs of the examples, other than Python and the lab's."""

_EXAMPLE = re.compile(r"^```sh\npriolab (sandbox .*)\n```\n\n<!-- measured: (\S+) -->$", re.MULTILINE)
_RUNS = 100
_REAL_RUNS = 5
_FIGURE = re.compile(r"([\d.]+) ?(s|ms|Mbit/s|Mbits/sec)\b")
_LONG = ("a-retry-storm", "a-retry-storm-2")


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """The parts of a repetition that must always be the same. packets: the capture, a pcapng file."""

    outcome: Outcome
    frames: Sequence[OutputFrame]
    packets: bytes

    @property
    def out(self) -> str:
        """The client's standard output."""
        frames = (frame.data for frame in self.frames if (frame.place, frame.stream) == ("client", "out"))
        return b"".join(frames).decode()


def examples() -> dict[str, list[str]]:
    """Returns the words of each example's command, by the name of the place for its output."""
    found = (each for guide in GUIDES for each in _EXAMPLE.findall(guide.read_text()))
    return {name: shlex.split(words) for words, name in found}


def needed(name: str) -> Sequence[str]:
    """Returns the programs that an example needs."""
    return NEEDS.get(name.removesuffix("-2"), ())


def copied(folder: Path) -> Path:
    """Copies the examples' files into a folder, and builds the one in Go with the lab's toolchain."""
    made = Path(shutil.copytree(FILES, folder / "sandbox"))
    go = server_of("go")
    wheels = {edition: replace(each, source=FILES / "hello/hello.go") for edition, each in go.wheels.items()}
    hello = replace(go, program="hello", wheels=wheels)
    fetch(hello, Path(sys.executable), lambda _: None, lambda _: None)
    program = program_in_cache(hello)
    assert program is not None, "the program has been fetched"
    shutil.copy(program, made / "hello/hello")
    return made


def repetition(words: Sequence[str], folder: Path, *, fresh: bool = False) -> Repetition:
    """Carries out an example's command in the folder of its files. fresh: True for a guest of its own."""
    line = list(words)
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin"
    with (
        chdir(folder),
        patch.dict(os.environ, {"PATH": path}),
        patch.object(sys, "stdin", None),
        tempfile.TemporaryDirectory(prefix="priolab-example-") as scratch,
    ):
        capture = Path(scratch, "packets.pcapng")
        request = replace(
            command.request_of(cli.options_from(cli.command_line(line), line)), capture=capture, fresh=fresh
        )
        where, _ = session.usable(request)
        frames: list[OutputFrame] = []
        with session.room() as room:
            outcome = session.carry_out(request, where, room, frames.extend)
        return Repetition(outcome=outcome, frames=frames, packets=capture.read_bytes())


def works_on_a_real_clock(name: str, words: Sequence[str]) -> bool:
    """Returns False for an example that takes an hour, with losses or a schedule, or a qdisc that many hosts lack.

    Losses do not meet the same packets, because the programs send them at other times.
    """
    return name not in _LONG and not any("QDISC=" in word or word.startswith(("LOSS", "--at")) for word in words)


def _figures(out: str) -> list[tuple[float, str]]:
    """Returns the times and rates in an output, but for times from 0 on, such as 0.00-10.00 sec."""
    return [(float(number), unit) for number, unit in _FIGURE.findall(out)]


def on_a_real_clock(name: str, words: Sequence[str], folder: Path, guests: str) -> tuple[str, ...]:
    """Returns the row of a table: the figures in what a guest's client wrote, and their medians on a real clock."""
    here = [words[0], "FABRIC=netns", *(word for word in words[1:] if word != "--scratch")]
    runs = [_figures(repetition(here, folder).out) for _ in range(_REAL_RUNS)]
    medians = [(median(value for value, _ in each), each[0][1]) for each in zip(*runs, strict=True)]

    def cell(figures: Sequence[tuple[float, str]]) -> str:
        return ", ".join(f"{value * (1000 if unit == 's' else 1):.4g}" for value, unit in figures)

    unit = {"s": "ms", "Mbits/sec": "Mbit/s"}.get(medians[0][1], medians[0][1])
    return name.replace("-", " "), unit, cell(_figures(guests)), cell(medians)


def main() -> int:
    """Return the exit code, 0 if all repetitions of each example were the same."""
    parser = argparse.ArgumentParser(prog="make sandbox-examples", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=_RUNS)
    runs = parser.parse_args().runs
    shown, differing = {}, 0
    beside = []
    with tempfile.TemporaryDirectory(prefix="priolab-examples-") as scratch, keep_guests():
        folder = copied(Path(scratch))
        for name, words in examples().items():
            began_s = time.monotonic()
            first = repetition(words, folder, fresh=True)
            others = sum(repetition(words, folder, fresh=True) != first for _ in range(runs - 1))
            each_s = (time.monotonic() - began_s) / runs
            kept = repetition(words, folder).frames == first.frames
            differing += others
            also = "the same" if kept else "another"
            print(f"{name}: {others} of {runs} differ, {each_s:.1f} s each; {also} in a kept guest", flush=True)
            shown[name] = f"```\n{first.out}```"
            if works_on_a_real_clock(name, words):
                beside.append(on_a_real_clock(name, words, folder, first.out))
    head = ("example", "in", "guest", f"`FABRIC=netns`, medians of {_REAL_RUNS} runs")
    table = Table(head=head, rows=tuple(beside)).markdown()
    for guide in GUIDES:
        found = places(guide.read_text())
        guide.write_text(
            with_places(guide.read_text(), {**found, **{name: shown.get(name, found[name]) for name in found}})
        )
    text = REFERENCE.read_text()
    REFERENCE.write_text(with_place(text, "on-a-real-clock", table))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
