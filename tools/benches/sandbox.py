"""Measures how long a user of the sandbox waits: `make bench`, or `python -m tools.benches.sandbox [--document]`.

--document: write the table of docs/guide/sandbox.md.
"""

import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from priolab.analysis.reports.markdown import Table, with_place
from priolab.common.home import ROOT
from priolab.common.process.search_path import find
from priolab.testbed import Host, Sandbox

_FOLDER = ROOT / "docs/examples/sandbox"
_ROUNDS = 3
_ELECTION = "python3 -I -S election.py"
_CHAT = "DELAY=40ms LOSS=30% --server 'python3 chat.py serve' -- python3 chat.py talk 3600"
_LINK = "RATE=10mbit RATE_UP=10mbit DELAY=20ms --server 'iperf3 -s' --"
_IDLE = "-- sleep 36000"
_PAGE = "--server 'sh -c \"cd /tmp; head -c {bytes} /dev/zero >page; exec python3 -m http.server 80\"' --"
_FETCH = "curl -s -o /dev/null http://server/page"


def _download(size_bytes: int, *knobs: str) -> str:
    return f"{' '.join(knobs)} DELAY=5ms --memory 3g {_PAGE.format(bytes=size_bytes)} {_FETCH}"


_COMMANDS: Mapping[str, str] = {
    "an hour of chat": _CHAT,
    "iperf3 receives for 10 s": f"{_LINK} iperf3 -c server -R",
    "iperf3 sends for 10 s": f"{_LINK} iperf3 -c server",
    "100 MB at 10 Mbit/s": _download(10**8, "RATE=10mbit"),
    "100 MB at 100 Mbit/s": _download(10**8, "RATE=100mbit"),
    "100 MB at 1 Gbit/s": _download(10**8, "RATE=1gbit"),
    "100 MB at 1 Gbit/s, COALESCE=50us": _download(10**8, "RATE=1gbit", "COALESCE=50us"),
    "1 GB at 1 Gbit/s, COALESCE=50us": _download(10**9, "RATE=1gbit", "COALESCE=50us"),
    "a thousand connections": "RATE=100mbit DELAY=20ms --server 'python3 many.py serve' -- python3 many.py ask 1000",
    "ten idle hours": _IDLE,
    "ten idle hours with samples": f"--samples /dev/null {_IDLE}",
}
_KEPT = "the next test in a kept guest"
_SEEDS = 60
_UNTOLD = ("an hour of chat", "iperf3 receives for 10 s", "iperf3 sends for 10 s", "ten idle hours with samples")
"""The rows that the guide's table leaves out, as the guide is short."""
_GUIDE = ROOT / "docs/guide/sandbox.md"


def main(*options: str) -> None:
    """Prints the seconds of each command, and of a run in a kept guest, median and range; and seeds in a minute."""
    medians_s = {}
    for name, words in _COMMANDS.items():
        line = shlex.split(words)
        if _is_there(line[line.index("--") + 1], name):
            command = [sys.executable, "-m", "priolab.experiments", "sandbox", *line]
            medians_s[name] = _tell(name, [_timed(lambda command=command: _carry_out(command)) for _ in range(_ROUNDS)])  # type: ignore[misc]
    if not _is_there("curl", _KEPT):
        return
    with Sandbox(RATE="10mbit", DELAY="40ms", server="python3 -m http.server 80", folder=_FOLDER) as sandbox:
        _get(sandbox)
        medians_s[_KEPT] = _tell(_KEPT, [_timed(lambda: _get(sandbox)) for _ in range(_ROUNDS)])
    if "--document" in options:
        rows = tuple((name, f"{median_s:.1f}") for name, median_s in medians_s.items() if name not in _UNTOLD)
        table = Table(head=("what", "seconds"), rows=rows).markdown()
        _GUIDE.write_text(with_place(_GUIDE.read_text(), "speed", table))
    for name, hosts, client in (
        ("seeds a minute, two hosts", {"a": Host("sleep 9")}, "sleep 3"),
        (
            "seeds a minute, an election of three",
            {each: Host(f"{_ELECTION} serve {each}", DELAY="5ms") for each in "abc"},
            f"{_ELECTION} watch 3",
        ),
    ):
        with Sandbox(hosts=hosts, wait="none", folder=_FOLDER) as sandbox:
            took_s = _timed(lambda sandbox=sandbox, client=client: _search(sandbox, client))  # type: ignore[misc]
        print(f"{name:<36} {60 * _SEEDS / took_s:>8.0f}", flush=True)


def _is_there(program: str, name: str) -> bool:
    """Returns True if a program is installed; otherwise says so in the line of what is not measured."""
    if find(program) is None:
        print(f"{name:<36} not measured: {program} is not installed", flush=True)
        return False
    return True


def _search(sandbox: Sandbox, client: str) -> None:
    """Tries seeds, two at once, of which none fails."""
    failing = sandbox.search(client, seeds=range(1, _SEEDS + 1), faults="down, within<=2s, length<=1s", jobs=2)
    assert failing is None, failing


def _get(sandbox: Sandbox) -> None:
    sandbox.run("curl -s http://server/chat.py").check()


def _carry_out(command: Sequence[str]) -> None:
    subprocess.run(command, cwd=_FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


def _timed(action: Callable[[], object]) -> float:
    begun_s = time.monotonic()
    action()
    return time.monotonic() - begun_s


def _tell(name: str, seconds: Sequence[float]) -> float:
    """Prints median and range; returns the median."""
    spread, median_s = f"{min(seconds):.2f} - {max(seconds):.2f}", statistics.median(seconds)
    print(f"{name:<36} {median_s:>8.2f} {spread:>13}", flush=True)
    return median_s


if __name__ == "__main__":
    main(*sys.argv[1:])
