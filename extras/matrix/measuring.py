"""Measures which servers keep the order that clients ask for: `make matrix` writes matrix.md, .json and their page.

matrix.toml, beside this file, names the servers and their versions. The study probes each of them in every dialect,
which is a way for clients to state priorities. If the probes find that a server follows a dialect's priorities, the
study also loads the page in this dialect over the slow link: without LOWAT, with LOWAT, and with the server's own limit
of unsent bytes (NATIVE=on), if the server has one. Servers of HTTP/3 are measured in those dialects that HTTP/3 has
signals for. The study reuses existing results of the same code and programs.

If SERVER or DIALECT is given, the rows and cells of the earlier document that are not measured stay in it. The verdicts
of a document that is replaced are kept in a folder of its name, such as docs/measured/matrix/2026-11-24.json.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from priolab.analysis.loads.probe import Probe
from priolab.analysis.loads.requested_share import asked_in
from priolab.analysis.records.runs import Experiment, Run, load_environment
from priolab.client import dialects
from priolab.client.plan import PlanKind
from priolab.client.priorities import Priorities
from priolab.common.documents import check_document
from priolab.common.errors import InvalidRun, ScenarioError, Unavailable
from priolab.common.exit_codes import exit_code
from priolab.common.formats.page import MAPS
from priolab.common.formats.plan import Protocol
from priolab.common.home import ROOT
from priolab.experiments.commands.checked_run import run_checked
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import add_words, given_words
from priolab.experiments.commands.trial import SIZE_BYTES, Trial
from priolab.experiments.execution.cli_request import check_only, request_from
from priolab.experiments.execution.labels import labels
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.stimuli import Stimulus, stimuli_of
from priolab.experiments.setup.http2_library import http2_library
from priolab.experiments.setup.installed import lack_of
from priolab.experiments.setup.matrix_servers import matrix_servers
from priolab.experiments.setup.programs import remedy_for, server_version
from priolab.extras.matrix import matrix_files, text
from priolab.extras.matrix.cells import STRONG, USUAL, Cell, Pair, Unasked, probes_reading
from priolab.extras.matrix.crossing import IMAGE, SCRIPT, crossing
from priolab.extras.matrix.evidence import UNASKED
from priolab.extras.matrix.kept_rows import together
from priolab.extras.matrix.matrix import Front, Matrix, in_order
from priolab.extras.matrix.signals import signal_words
from priolab.proxy.server import Server, is_folder, server_of
from priolab.testbed import value_of

MAY_BE_CHOSEN = ("SERVER", "DIALECT", "FABRIC", "SHAPER", "RESULTS", "REUSE")
"""The knobs that a user may set. SERVER and DIALECT may have several values. The study itself sets all other knobs."""

_STEP = matrix_files.STEP
_BESIDE = (".html", ".json")
_LINK = Trial(plan=PlanKind.LOADS, page=MAPS)
_WAYS = {"control": _LINK, "lowat": replace(_LINK, lowat_bytes=16384), "native": replace(_LINK, native=True)}
"""Ways to limit unsent bytes in the kernel, each with its loads: no limit, LOWAT, and the server's own mechanism."""
_UNASKED = Trial(page=MAPS, priorities=Priorities.NONE)
_OVER_HTTP3 = [str(dialect) for dialect in dialects.OVER_HTTP3 if dialect != dialects.PLAIN]
"""The dialects that differ over HTTP/3, where `plain` has the signals of `header`."""
_ROLES = {Stimulus.USUAL: "probe", Stimulus.STRONG: "strong"}
"""The beginning of the roles of a stimulus's probes."""
_NAMES = {"first": IMAGE, "second": SCRIPT}
"""The names of a stimulus's resources in the matrix."""
_DIGITS = 12


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab matrix` to its parser."""
    parser.add_argument(
        "file",
        type=Path,
        help="the .md file to write; its .json and its page, .html, are written as well",
    )
    add_words(
        parser, "KNOB=VALUE", "SERVER and DIALECT, with one or more values (a,b); FABRIC, SHAPER, RESULTS or REUSE"
    )
    parser.set_defaults(do=_do, knobs=MAY_BE_CHOSEN)


def _do(options: argparse.Namespace, report: Report) -> int:
    return exit_code(ok=write(options, given_words(options, report), report))


def write(options: argparse.Namespace, words: Mapping[str, str], report: Report) -> bool:
    """Runs experiments that have no results yet, and writes options.file (.md), its .json and its page.

    words: the knobs that the user set, all of them in MAY_BE_CHOSEN. Returns True. Raises LabError.
    """
    check_only(words, MAY_BE_CHOSEN, f"the knobs of `priolab matrix`: {', '.join(MAY_BE_CHOSEN)}")
    path: Path = options.file
    if path.suffix in _BESIDE:
        raise ScenarioError("FILE", str(path), f"a suffix other than {' and '.join(_BESIDE)}")
    check_document(path, _STEP)
    earlier = matrix_files.earlier(path)
    servers, absent = _servers(words)
    asked = list(dict.fromkeys(_dialect(word) for word in _several(words, "DIALECT") or dialects.TRIED))
    _check_spoken(servers, asked, words.get("DIALECT", ""))
    rest = {name: word for name, word in words.items() if name not in ("SERVER", "DIALECT")}
    request = request_from({"REUSE": "yes", **rest, "SAMPLE": "none", "CONTROL": "no"})
    report.say(f"{len(servers)} servers, {len(asked)} dialects")
    probes = run_checked(
        replace(request, name=f"{_STEP}-probes", arms=tuple(probing(servers, asked))), report, steps=False
    )
    loading = replace(request, name=_STEP, arms=tuple(_loading(servers, asked, probes)))
    libraries = {server.name: http2_library(server) for server in servers}
    loads = run_checked(loading, report, steps=False)
    found = matrix_of([probes, loads], absent, libraries)
    if earlier and {"SERVER", "DIALECT"} & set(words):
        found = together(earlier, found)
    runs = matrix_files.link_runs(request.results, [*probes.runs, *loads.runs])
    made = matrix_files.write_all(path, found, earlier, runs)
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
    wanted = [_server(name) for name in _several(words, "SERVER") or matrix_servers(ROOT)]
    absent = {server.name: f"{lack} is not installed" for server in wanted if (lack := lack_of(server))}
    here = [server for server in wanted if server.name not in absent]
    if not here:
        first = wanted[0]
        raise Unavailable(f"SERVER={first.name}", absent[first.name], remedy_for(first))
    return here, absent


def _server(text: str) -> Server:
    """Returns the server that a value of SERVER names. Raises ScenarioError."""
    value_of("SERVER", text, KNOBS["SERVER"])
    server = server_of(text)
    if server.protocol == Protocol.SPDY:
        raise ScenarioError("SERVER", text, "a server that speaks HTTP/2 or HTTP/3")
    return server


def _spoken(server: Server, named: Iterable[str]) -> list[str]:
    """Returns the named dialects for which the server's protocol has signals, each kind of signals once."""
    return [name for name in named if server.protocol == Protocol.HTTP2 or name in _OVER_HTTP3]


def _check_spoken(servers: Iterable[Server], named: Sequence[str], given: str) -> None:
    """Checks that each server has a dialect. given: the text of the knob DIALECT. Raises ScenarioError."""
    if mute := next((server for server in servers if not _spoken(server, named)), None):
        raise ScenarioError("DIALECT", given, f"with SERVER={mute.name}, {' or '.join(_OVER_HTTP3)}")


def probing(servers: Sequence[Server], named: Iterable[str]) -> Iterator[Arm]:
    """Yields the arms that probe: for each server, two arms for each stimulus of each named dialect.

    Two arms without priorities follow.
    """
    known_as = _labels(servers)
    for server in servers:
        label = known_as[server.name]
        for dialect in map(dialects.parse, _spoken(server, named)):
            for stimulus in stimuli_of(dialect, Protocol(server.protocol)):
                for trial in Trial(page=stimulus, dialect=dialect).pair:
                    yield _arm(server, label, trial, f"{_ROLES[stimulus]}-{trial.priorities}")
        yield _arm(server, label, _UNASKED, "probe")
        yield _arm(server, label, replace(_UNASKED, first=SCRIPT), "probe-reversed")


def _loading(servers: Sequence[Server], named: Iterable[str], probes: Experiment) -> Iterator[Arm]:
    """Yields the arms that load the page over the slow link, for each server.

    A server has arms in each named dialect whose priorities it follows, and two arms without priorities. probes: the
    results of the probes, which show the priorities that a server follows.
    """
    of_cells, known_as = _cells(probes.runs), _labels(servers)
    for server in servers:
        label = known_as[server.name]
        ways = [way for way in _WAYS if way != "native" or _has_native(server)]
        for dialect in _spoken(server, named):
            of_cell = of_cells[server.name, dialect]
            asked = {role: _probe(of_cell[f"probe-{role}"]) for role in USUAL}
            if probes_reading(asked, USUAL).honoured:
                for way in ways:
                    for trial in replace(_WAYS[way], dialect=dialects.parse(dialect)).pair:
                        yield _arm(server, label, trial, f"{way}-{trial.priorities}")
        for way in ("control", "lowat"):
            yield _arm(server, label, replace(_WAYS[way], priorities=Priorities.NONE), way)


def _has_native(server: Server) -> bool:
    """True if the installed version of the server has its own limit of unsent bytes (NATIVE=on)."""
    said = server_version(server) or ""
    return "on" in server.native.levels and server.native.lacked_until("on", said) is None


def _labels(servers: Iterable[Server]) -> dict[str, str]:
    return labels([server.name for server in servers], is_folder)


def _arm(server: Server, label: str, trial: Trial, role: str) -> Arm:
    dialect = UNASKED if trial.priorities is Priorities.NONE else trial.dialect
    return trial.arm(f"{label}.{dialect}.{role}", SERVER=server.name, SIZE=str(SIZE_BYTES))


_Cells = dict[tuple[str, str], dict[str, Run]]
"""The runs by server and dialect, and then by role, such as `probe-spdy` or `lowat-swap`."""


def _cells(runs: Iterable[Run]) -> _Cells:
    cells: _Cells = {}
    for run in runs:
        scenario, role = run.scenario, run.arm.rpartition(".")[2]
        dialect = UNASKED if scenario.priorities == "none" else scenario.dialect
        cells.setdefault((scenario.server, dialect), {})[role] = run
    return cells


def matrix_of(experiments: Sequence[Experiment], absent: Mapping[str, str], libraries: Mapping[str, str]) -> Matrix:
    """Returns the matrix of the results of these experiments. Raises FolderError, and InvalidRun.

    absent: for each server that is not installed, what is missing. libraries: by server, the library or the compiler
    that has its HTTP/2 (Front.built_with).
    """
    runs = _cells(run for experiment in experiments for run in experiment.runs)
    cells: dict[tuple[str, str], Cell] = {}
    unasked: dict[str, Unasked] = {}
    fronts: dict[str, Front] = {}
    date = max(experiment.record.started_at for experiment in experiments)[: len("2026-01-01")]
    for server, dialect in runs:
        of_cell, alone = runs[server, dialect], runs[server, UNASKED]
        if dialect == UNASKED:
            unasked[server] = Unasked(control=crossing(of_cell["control"]), lowat=crossing(of_cell["lowat"]))
            continue
        said = _said(server, alone["probe"])
        front = fronts.setdefault(
            server,
            Front(
                name=server,
                said=said,
                built_with=libraries.get(server, ""),
                digest=_digest(alone["probe"]),
                date=date,
            ),
        )
        probes = {"spdy": of_cell["probe-spdy"], "swap": of_cell["probe-swap"]}
        probes |= {role: of_cell[role] for role in STRONG if role in of_cell}
        probes |= {"none": alone["probe"], "reversed": alone["probe-reversed"]}
        for run in of_cell.values():
            if (other := _said(server, run)) != said:
                raise InvalidRun(f"the version of {server} in {run.path.name}", said, other)
        cells[server, dialect] = Cell(
            server=server,
            version=front.version,
            dialect=dialect,
            probes={role: _probe(run) for role, run in probes.items()},
            control=_pair(of_cell, "control"),
            lowat=_pair(of_cell, "lowat"),
            native=_pair(of_cell, "native"),
            signals={role: signal_words(probes[role].plan(), _NAMES) for role in ("spdy", "swap")},
            asked={
                role: ", ".join(map(str, asked_in(probes[role].plan())))
                for role in ("spdy", STRONG[0])
                if role in probes
            },
            arms=of_cell["probe-spdy"].arm.rpartition(".")[0],
        )
    fronts = in_order(fronts.values())
    return Matrix(
        date=date,
        fronts=fronts,
        cells={(name, dialect): cells[name, dialect] for name in fronts for server, dialect in cells if server == name},
        unasked={name: unasked[name] for name in fronts},
        absent=absent,
    )


def _said(server: str, run: Run) -> str:
    """Returns the version that the server printed on the run's machine."""
    return load_environment(run.path).versions.get(server, "unknown")


def _digest(run: Run) -> str:
    """Returns the first digits of the digest of the front's packages or of its wheel; an empty text without both."""
    front = run.record.front
    digest = front.get("root", {}).get("digest") or front.get("wheel", {}).get("sha256", "")
    return str(digest)[:_DIGITS]


def _pair(runs: Mapping[str, Run], way: str) -> Pair | None:
    if f"{way}-spdy" not in runs:
        return None
    return Pair(asked=crossing(runs[f"{way}-spdy"]), swapped=crossing(runs[f"{way}-swap"]))


def _probe(run: Run) -> Probe:
    assert run.record.probe is not None
    found = Probe.from_record(run.record.probe)
    served = tuple((_NAMES.get(name, name), size_bytes) for name, size_bytes in found.served)
    return replace(found, important=_NAMES.get(found.important, found.important), served=served)
