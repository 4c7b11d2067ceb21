"""Measures which servers keep the order that clients ask for: `make matrix` writes docs/matrix.md, .html and .json.

Probes every installed server in every dialect, which is a way for clients to state priorities. If the probes find that
a server follows a dialect's priorities, the study also loads the page in this dialect over the slow link: without
LOWAT, with LOWAT, and with the server's own limit of unsent bytes (NATIVE=on), if the server has one. The study reuses
existing results of the same code and programs.
"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.loads.probe import Probe
from analysis.matrix import page, text
from analysis.matrix.cells import Cell, Matrix, Pair, Unasked, crossing, reading
from analysis.records.runs import Experiment, Run, load_environment
from client import dialects
from client.plan import PROBE_LEAST_BYTES
from common.formats.plan import Protocol
from experiments.commands.console import Report
from experiments.errors import ScenarioError, Unavailable
from experiments.execution.invocation import check_only, request_from
from experiments.execution.progress import Progress
from experiments.execution.request import Arm, Request
from experiments.host.home import setup_command
from experiments.host.programs import lack_of, server_version
from experiments.results.run_folder import check_document, write_document
from experiments.scenario.knobs import KNOBS, with_defaults
from experiments.studies.checked_run import run_checked_with
from proxy.server import Server, catalogue

MAY_BE_CHOSEN = ("SERVER", "DIALECT", "FABRIC", "SHAPER", "RESULTS", "REUSE")
"""The knobs that a user may set. SERVER and DIALECT may have several values. The study itself sets all other knobs."""

_STEP = "matrix"
_BESIDE = (".html", ".json")
_SIZE = PROBE_LEAST_BYTES * 3 // 2
_PROBE = {"PLAN": "probe", "RELOADS": "0", "RATE": "unlimited", "DELAY": "0ms", "LOWAT": "none"}
_LINK = {"RELOADS": "0", "LOWAT": "16384"}
_WAYS = {"control": {"LOWAT": "none"}, "lowat": {}, "native": {"LOWAT": "none", "NATIVE": "on"}}
"""Ways to limit unsent bytes in the kernel, each with its knobs: no limit, LOWAT, and the server's own mechanism."""
_UNASKED = "none"
"""The text in place of a dialect's name in the names of arms whose client asks for no order."""


def write(options: argparse.Namespace, words: Mapping[str, str], report: Report) -> bool:
    """Runs experiments that have no results yet, and writes options.file (.md), and beside it .html and .json.

    words: the knobs that the user set, all of them in MAY_BE_CHOSEN. Returns True. Raises LabError.
    """
    check_only(words, MAY_BE_CHOSEN, f"the knobs of `priolab matrix`: {', '.join(MAY_BE_CHOSEN)}")
    path: Path = options.file
    if path.suffix in _BESIDE:
        raise ScenarioError("FILE", str(path), f"a suffix other than {' and '.join(_BESIDE)}")
    check_document(path, _STEP)
    servers, absent = _servers(words)
    asked = list(dict.fromkeys(_dialect(word) for word in _several(words, "DIALECT") or dialects.TRIED))
    rest = {name: word for name, word in words.items() if name not in ("SERVER", "DIALECT")}
    request = request_from({"REUSE": "yes", **rest, "SAMPLE": "none", "CONTROL": "no"})
    report.say(f"{len(servers)} servers, {len(asked)} dialects")
    probes = _runs(replace(request, name=f"{_STEP}-probes", arms=tuple(probing(servers, asked))), "probes", report)
    loading = replace(request, name=_STEP, arms=tuple(_loading(servers, asked, probes)))
    found = matrix_of([probes, _runs(loading, "loads", report)], absent)
    made = _write_all(path, found)
    report.say(text.table(found))
    for each in made:
        report.say(str(each))
    return True


def _several(words: Mapping[str, str], name: str) -> list[str]:
    return list(dict.fromkeys(word.strip() for word in words[name].split(","))) if name in words else []


def _dialect(text: str) -> str:
    """Returns the dialect's name, with its parts in the lab's order. Raises ScenarioError."""
    try:
        return str(dialects.parse(text))
    except ValueError:
        raise ScenarioError("DIALECT", text, KNOBS["DIALECT"].allowed) from None


def _servers(words: Mapping[str, str]) -> tuple[list[Server], dict[str, str]]:
    """Returns the requested servers that are installed, and the reason for each absent server. Raises LabError."""
    speaking = [server.name for server in catalogue().values() if server.protocol == Protocol.HTTP2]
    names = _several(words, "SERVER") or speaking
    for name in names:
        if name not in speaking:
            raise ScenarioError("SERVER", name, f"the servers for HTTP/2: {', '.join(speaking)}")
    absent = {name: f"{lack} is not installed" for name in names if (lack := lack_of(catalogue()[name]))}
    here = [catalogue()[name] for name in names if name not in absent]
    if not here:
        raise Unavailable(_STEP, f"none of {', '.join(names)} is installed", f"run {setup_command('servers')}")
    return here, absent


def probing(servers: Iterable[Server], named: Iterable[str]) -> Iterator[Arm]:
    """Yields the arms that probe: for each server, two arms in each named dialect, and two arms without priorities."""
    for server in servers:
        for dialect in named:
            for priority in ("spdy", "swap"):
                yield _arm(server.name, dialect, f"probe-{priority}", _PROBE, PRIORITY=priority)
        yield _arm(server.name, _UNASKED, "probe", _PROBE, PRIORITY="none")
        yield _arm(server.name, _UNASKED, "probe-reversed", _PROBE, PRIORITY="none", FIRST="script")


def _loading(servers: Iterable[Server], named: Iterable[str], probes: Experiment) -> Iterator[Arm]:
    """Yields the arms that load the page over the slow link, for each server.

    A server has arms in each named dialect whose priorities it follows, and two arms without priorities. probes: the
    results of the probes, which show the priorities that a server follows.
    """
    of_cells = _cells(probes.runs)
    for server in servers:
        ways = [way for way in _WAYS if way != "native" or _has_native(server)]
        for dialect in named:
            if reading(*_asked_and_swapped(of_cells[server.name, dialect])).honoured:
                for way in ways:
                    for priority in ("spdy", "swap"):
                        yield _arm(server.name, dialect, f"{way}-{priority}", _LINK | _WAYS[way], PRIORITY=priority)
        for way in ("control", "lowat"):
            yield _arm(server.name, _UNASKED, way, _LINK | _WAYS[way], PRIORITY="none")


def _has_native(server: Server) -> bool:
    """True if the installed version of the server has its own limit of unsent bytes (NATIVE=on)."""
    said = server_version(server) or ""
    return "on" in server.native.levels and server.native.lacked_until("on", said) is None


def _arm(server: str, dialect: str, role: str, words: Mapping[str, str], **more: str) -> Arm:
    asked = {"SERVER": server} if dialect == _UNASKED else {"SERVER": server, "DIALECT": dialect}
    knobs = with_defaults({"SIZE": str(_SIZE), **words, **asked, **more})
    return Arm(name=f"{server}.{dialect}.{role}".replace("+", "-"), knobs=knobs)


def _runs(request: Request, noun: str, report: Report) -> Experiment:
    began_s, done, bad = time.monotonic(), 0, 0

    def line() -> str:
        return f"{done} of {len(request.arms)} {noun}, {time.monotonic() - began_s:.0f} s" + (
            f", {bad} not ok" if bad else ""
        )

    with report.ticking(line) as tick:

        def ended(name: str, status: str, reason: str | None) -> None:
            nonlocal done, bad
            done, bad = done + 1, bad + (status != "ok")
            if status != "ok":
                report.say(f"{name}: {status} - {reason}", "red")
            tick()

        return run_checked_with(request, Progress(step=lambda *_: tick(), ended=ended, reused=report.reused))


_Cells = dict[tuple[str, str], dict[str, Run]]
"""The runs by server and dialect, and then by role, such as `probe-spdy` or `lowat-swap`."""


def _cells(runs: Iterable[Run]) -> _Cells:
    cells: _Cells = {}
    for run in runs:
        scenario, role = run.scenario, run.arm.rpartition(".")[2]
        dialect = _UNASKED if scenario.priorities == "none" else scenario.dialect
        cells.setdefault((scenario.server, dialect), {})[role] = run
    return cells


def matrix_of(experiments: Iterable[Experiment], absent: Mapping[str, str]) -> Matrix:
    """Returns the matrix of the results of these experiments. Raises FolderError.

    absent: for each server that is not installed, what is missing.
    """
    runs = _cells(run for experiment in experiments for run in experiment.runs)
    cells: dict[tuple[str, str], Cell] = {}
    unasked: dict[str, Unasked] = {}
    versions: dict[str, str] = {}
    for (server, dialect), of_cell in runs.items():
        alone = runs[server, _UNASKED]
        if dialect == _UNASKED:
            unasked[server] = Unasked(control=crossing(of_cell["control"]), lowat=crossing(of_cell["lowat"]))
            versions[server] = load_environment(of_cell["lowat"].path).versions.get(server, "unknown")
            continue
        cells[server, dialect] = Cell(
            server=server,
            dialect=dialect,
            probes={
                "spdy": _probe(of_cell["probe-spdy"]),
                "swap": _probe(of_cell["probe-swap"]),
                "none": _probe(alone["probe"]),
                "reversed": _probe(alone["probe-reversed"]),
            },
            control=_pair(of_cell, "control"),
            lowat=_pair(of_cell, "lowat"),
            native=_pair(of_cell, "native"),
        )
    return Matrix(cells=cells, unasked=unasked, versions=versions, absent=absent)


def _pair(runs: Mapping[str, Run], way: str) -> Pair | None:
    if f"{way}-spdy" not in runs:
        return None
    return Pair(asked=crossing(runs[f"{way}-spdy"]), swapped=crossing(runs[f"{way}-swap"]))


def _asked_and_swapped(runs: Mapping[str, Run]) -> tuple[float, float]:
    """Returns the script's share of the bytes in the probe with PRIORITY=spdy, and in the probe with PRIORITY=swap."""
    return _probe(runs["probe-spdy"]).important_share, _probe(runs["probe-swap"]).important_share


def _probe(run: Run) -> Probe:
    assert run.record.probe is not None
    return Probe.from_record(run.record.probe)


def _write_all(path: Path, found: Matrix) -> list[Path]:
    made: dict[Path, str] = {
        path: text.document(found),
        path.with_suffix(".html"): page.html(found),
        path.with_suffix(".json"): json.dumps(_plain(found.document()), indent=2) + "\n",
    }
    for each, content in made.items():
        write_document(each, content.encode(), _STEP)
    return list(made)


def _plain(document: Any) -> Any:
    """Returns the document after a conversion to JSON and back, which turns string enums into strings."""
    return json.loads(json.dumps(document))
