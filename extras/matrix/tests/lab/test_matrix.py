"""The matrix: docs/measured/matrix.json has the measured results, and a part of them is measured again.

extras/matrix/tests/contract/test_matrix.py checks that the documented verdicts follow from the recorded frames.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.judgement.order import OwnOrder, Reading, own_order, reading
from priolab.analysis.judgement.order import together as word_for_both
from priolab.client.priorities import Priorities
from priolab.common.home import ROOT
from priolab.experiments.commands.checked_run import run_checked
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.setup.installed import lack_of
from priolab.experiments.setup.matrix_servers import matrix_servers
from priolab.extras.matrix.measuring import probing
from priolab.proxy.server import catalogue, server_of
from tests.support.capabilities import each
from tests.support.documented import documented, row_like
from tests.support.lab import make_lab, priolab_here

BASE = ("nginx", "h2o")
_ALIKE = 0.05

SOME = ("plain", "header", "header+no7540")
_TREE = (Reading.PROPORTIONAL, Reading.IGNORED, Reading.IGNORED)
_TURNED_TREE = (Reading.CONTRARY, Reading.IGNORED, Reading.IGNORED)
_STRICT_TREE = (Reading.STRICT, Reading.IGNORED, Reading.IGNORED)
_FIELD = (Reading.IGNORED, Reading.STRICT, Reading.STRICT)
_BOTH = (Reading.PROPORTIONAL, Reading.IGNORED, Reading.STRICT)
_NOTHING = (Reading.IGNORED, Reading.IGNORED, Reading.IGNORED)
EXPECTED: Mapping[str, tuple[Reading, Reading, Reading]] = {
    "apache@bookworm": _TREE,
    "apache@trixie": _TREE,
    "apache@sid": _FIELD,
    "caddy@bookworm": _TURNED_TREE,
    "caddy@trixie": _NOTHING,
    "caddy@sid": _NOTHING,
    "caddy@2.11.7": _NOTHING,
    "envoy@1.40.0": _FIELD,
    "go@1.27.3": _FIELD,
    "h2o@bookworm": _TREE,
    "haproxy@bookworm": _NOTHING,
    "haproxy@trixie": _NOTHING,
    "haproxy@sid": _NOTHING,
    "lighttpd@bookworm": _FIELD,
    "lighttpd@trixie": _FIELD,
    "lighttpd@sid": _FIELD,
    "nghttpx@bookworm": _BOTH,
    "nghttpx@trixie": _BOTH,
    "nghttpx@sid": _FIELD,
    "nginx@bookworm": _STRICT_TREE,
    "nginx@trixie": _STRICT_TREE,
    "nginx@sid": _STRICT_TREE,
    "nginx@1.31.3": _STRICT_TREE,
    "node@bookworm": _TREE,
    "node@trixie": _TREE,
    "node@sid": _FIELD,
    "traefik@3.7.15": _NOTHING,
    "trafficserver@bookworm": _TREE,
}
"""By row of HTTP/2: the reading of each dialect in SOME."""
OVER_HTTP3 = ("header", "update")
EXPECTED_OVER_HTTP3: Mapping[str, tuple[Reading, Reading]] = {
    "caddy-h3@trixie": (Reading.IGNORED, Reading.IGNORED),
    "caddy-h3@sid": (Reading.IGNORED, Reading.IGNORED),
    "caddy-h3@2.11.7": (Reading.PROPORTIONAL, Reading.PROPORTIONAL),
    "envoy-h3@1.40.0": (Reading.IGNORED, Reading.STRICT),
    "haproxy-h3@trixie": (Reading.IGNORED, Reading.IGNORED),
    "haproxy-h3@sid": (Reading.IGNORED, Reading.IGNORED),
    "nginx-h3@trixie": (Reading.IGNORED, Reading.IGNORED),
    "nginx-h3@sid": (Reading.IGNORED, Reading.IGNORED),
    "traefik-h3@3.7.15": (Reading.PROPORTIONAL, Reading.PROPORTIONAL),
}
"""By row of HTTP/3: the reading of each dialect in OVER_HTTP3."""
HTTP3 = ("caddy-h3", "caddy-h3@2.11.7", "envoy-h3", "haproxy-h3", "nginx-h3", "traefik-h3")
"""Servers that are measured again over HTTP/3."""
OTHERS = ("haproxy", "lighttpd", "nghttpx", "apache", "caddy", "trafficserver")
PREBUILT = ("envoy", "go")
"""Servers that are measured again in one dialect alone."""
ONE = "header"


@pytest.mark.parametrize("row", EXPECTED)
def test_every_version_is_as_expected(row: str) -> None:
    """docs/measured/matrix.json has a row for each version, with the readings in EXPECTED."""
    cells = documented()["servers"][row]["dialects"]
    assert tuple(cells[dialect]["reading"] for dialect in SOME) == EXPECTED[row]


@pytest.mark.parametrize("row", EXPECTED_OVER_HTTP3)
def test_every_version_over_http3_is_as_expected(row: str) -> None:
    """matrix.json has a row for each version over HTTP/3, with the dialects that HTTP/3 has signals for."""
    cells = documented()["servers"][row]["dialects"]
    found = {dialect: cell["reading"] for dialect, cell in cells.items()}
    assert found == dict(zip(OVER_HTTP3, EXPECTED_OVER_HTTP3[row], strict=True))


def test_no_version_is_missing() -> None:
    """The document, the expected rows and the table of `make matrix` have the same rows. Twelve servers have HTTP/2."""
    assert list(documented()["servers"]) == matrix_servers(ROOT)
    assert set(documented()["servers"]) == {*EXPECTED, *EXPECTED_OVER_HTTP3}
    assert len({row.partition("@")[0] for row in EXPECTED}) >= 12
    assert documented()["absent"] == {}


@pytest.fixture(scope="module")
def found(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Returns a newly measured matrix of the servers in BASE."""
    del guest
    lab = make_lab(tmp_path_factory.mktemp("matrix"))
    file = lab.root / "matrix.md"
    done = priolab_here(
        "matrix", str(file), f"SERVER={','.join(BASE)}", f"RESULTS={lab.results}", temporary=lab.temporary
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert file.read_text().startswith("# Who keeps the order?")
    assert file.with_suffix(".html").read_text().startswith("<!doctype html>")
    servers: Mapping[str, Any] = json.loads(file.with_suffix(".json").read_text())["servers"]
    return servers


def dialects(servers: Mapping[str, Any], server: str) -> Mapping[str, Any]:
    cells: Mapping[str, Any] = servers[server]["dialects"]
    return cells


def shares(servers: Mapping[str, Any], server: str, dialect: str) -> Mapping[str, float]:
    found: Mapping[str, float] = dialects(servers, server)[dialect]["script_share"]
    return found


@pytest.mark.parametrize("server", BASE)
@pytest.mark.release
def test_it_is_what_is_documented(found: Mapping[str, Any], server: str) -> None:
    """The measured matrix equals matrix.json, shares within 0.05; a failure names the server's versions."""
    row = documented()["servers"][row_like(server)]
    versions = f"documented: {row['said']}, here: {found[server]['said']}"
    assert found[server]["own_order"] == row["own_order"], versions
    assert list(dialects(found, server)) == list(row["dialects"])
    for dialect, cell in dialects(found, server).items():
        before = row["dialects"][dialect]
        told = f"{dialect}; {versions}"
        assert (cell["reading"], cell["layer"]) == (before["reading"], before["layer"]), told
        assert cell["script_share"] == pytest.approx(before["script_share"], abs=_ALIKE), told
        for crossing in ("control", "lowat", "native"):
            outcomes = [each[crossing]["outcome"] if each[crossing] else None for each in (cell, before)]
            assert outcomes[0] == outcomes[1], f"{crossing}, {told}"


@pytest.mark.parametrize("dialect", ["plain", "chrome", "firefox", "safari", "plain+reprioritize", "chrome+header"])
@pytest.mark.release
def test_nginx_is_strict_by_the_tree(found: Mapping[str, Any], dialect: str) -> None:
    """With every kind of tree, the resource that is asked to come first gets the whole window."""
    of_script = shares(found, "nginx", dialect)
    assert (of_script["spdy"] > 0.99, of_script["swap"] < 0.01) == (True, True)


@pytest.mark.parametrize("server", BASE)
@pytest.mark.parametrize("dialect", ["header", "header+no7540", "update"])
@pytest.mark.release
def test_neither_knows_rfc_9218(found: Mapping[str, Any], server: str, dialect: str) -> None:
    """The servers in BASE ignore RFC 9218: the script's share is the same whatever the client asks for."""
    of_script = shares(found, server, dialect)
    assert len({of_script[asked] for asked in ("spdy", "swap", "none")}) == 1


@pytest.mark.parametrize(
    ("dialect", "high", "low"),
    [("plain", 183, 147), ("safari", 24, 8), ("firefox", 32, 1), ("plain+reprioritize", 183, 147)],
)
@pytest.mark.release
def test_h2o_is_proportional_by_weight(found: Mapping[str, Any], dialect: str, high: int, low: int) -> None:
    """h2o divides the window by the weights of script and image, which PRIORITY=swap exchanges."""
    of_script, fair = shares(found, "h2o", dialect), high / (high + low)
    assert of_script["spdy"] == pytest.approx(fair, abs=_ALIKE)
    assert of_script["swap"] == pytest.approx(1 - fair, abs=_ALIKE)


@pytest.mark.parametrize("server", BASE)
@pytest.mark.release
def test_none_is_no_order(found: Mapping[str, Any], server: str) -> None:
    """If the client asks for no order, the servers in BASE put neither stream first."""
    assert found[server]["own_order"] == "shared"


def test_a_part(guest: None, tmp_path: Path) -> None:
    """A part leaves the other rows and dialects, links each cell to its runs, and keeps the verdicts of before."""
    del guest
    lab = make_lab(tmp_path)
    file = lab.root / "matrix.md"
    for server, dialect in (("nginx", "chrome"), ("nginx", "header"), ("h2o", "header")):
        words = (f"SERVER={server}", f"DIALECT={dialect}", f"RESULTS={lab.results}")
        done = priolab_here("matrix", str(file), *words, temporary=lab.temporary)
        assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(file.with_suffix(".json").read_text())["servers"]
    assert {name: list(row["dialects"]) for name, row in rows.items()} == {
        "nginx": ["chrome", "header"],
        "h2o": ["header"],
    }
    page = file.with_suffix(".html").read_text()
    runs = [file.parent / link for link in re.findall(r'href="([^"]*matrix-runs/[^"]*)"', page)]
    probes, loads, unasked = 2, 4, 4
    assert len(runs) == (probes + loads + unasked) + 2 * (probes + unasked)
    assert all((run / "run.json").is_file() for run in runs)
    (kept,) = (file.parent / "matrix").iterdir()
    assert list(json.loads(kept.read_text())["servers"]["nginx"]["dialects"]) == ["chrome"]


@pytest.fixture(scope="module")
def others(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], Mapping[str, float]]:
    """Returns the script's shares in probes of servers outside BASE, by server and dialect, then by the arm's role."""
    del guest
    here = [server for server in catalogue().values() if not lack_of(server)]
    arms = [*probing([server for server in here if server.name in OTHERS], SOME)]
    prebuilt = probing([server for server in here if server.name in PREBUILT], [ONE])
    over_http3 = probing([server for name in HTTP3 if not lack_of(server := server_of(name))], OVER_HTTP3)
    arms += [arm for arm in (*prebuilt, *over_http3) if arm.scenario.priorities != Priorities.NONE]
    request = request_from({"RESULTS": str(tmp_path_factory.mktemp("probes")), "SAMPLE": "none", "CONTROL": "no"})
    request = replace(request, name="probes", arms=tuple(arms))
    found: dict[tuple[str, str], dict[str, float]] = {}
    for run in run_checked(request, Report(aside=True)).runs:
        _, dialect, role = run.arm.rsplit(".", 2)
        assert run.record.probe is not None
        found.setdefault((run.scenario.server, dialect), {})[role] = run.record.probe.important_share
    return found


@pytest.mark.parametrize("name", each(OTHERS))
@pytest.mark.parametrize("dialect", SOME)
@pytest.mark.release
def test_the_others_are_what_is_documented(
    others: Mapping[tuple[str, str], Mapping[str, float]], name: str, dialect: str
) -> None:
    """The measured readings of the servers outside BASE equal docs/measured/matrix.json and EXPECTED."""
    of_script, row = others[name, dialect.replace("+", "-")], row_like(name)
    usual, *strong = (
        reading(of_script[f"{role}-spdy"], of_script[f"{role}-swap"])
        for role in ("probe", "strong")
        if f"{role}-spdy" in of_script
    )
    found = word_for_both(usual, strong[0] if strong else None)
    assert found == documented()["servers"][row]["dialects"][dialect]["reading"], of_script
    assert found == EXPECTED[row][SOME.index(dialect)]


@pytest.mark.parametrize("name", each(PREBUILT))
@pytest.mark.release
def test_the_prebuilt_servers_are_what_is_documented(
    others: Mapping[tuple[str, str], Mapping[str, float]], name: str
) -> None:
    """In the dialect ONE, the measured shares equal docs/measured/matrix.json."""
    of_script, row = others[name, ONE], documented()["servers"][row_like(name)]
    found = {"spdy": of_script["probe-spdy"], "swap": of_script["probe-swap"]}
    before = row["dialects"][ONE]["script_share"]
    assert found == pytest.approx({asked: before[asked] for asked in found}, abs=_ALIKE)


@pytest.mark.parametrize("name", each(HTTP3))
@pytest.mark.parametrize("dialect", OVER_HTTP3)
@pytest.mark.release
def test_http3_is_what_is_documented(
    others: Mapping[tuple[str, str], Mapping[str, float]], name: str, dialect: str
) -> None:
    """The measured readings and shares over HTTP/3 equal docs/measured/matrix.json, shares within 0.05."""
    of_script, row = others[name, dialect], name if "@" in name else row_like(name)
    before = documented()["servers"][row]["dialects"][dialect]
    found = {"spdy": of_script["probe-spdy"], "swap": of_script["probe-swap"]}
    assert reading(*found.values()) == before["reading"]
    assert found == pytest.approx({asked: before["script_share"][asked] for asked in found}, abs=_ALIKE)


@pytest.mark.parametrize("name", each(OTHERS))
@pytest.mark.release
def test_what_the_others_do_unasked(others: Mapping[tuple[str, str], Mapping[str, float]], name: str) -> None:
    """If the client asks for no order, only caddy and lighttpd put a stream first."""
    found = own_order(others[name, "none"]["probe"], others[name, "none"]["probe-reversed"])
    assert found == {"caddy": OwnOrder.LAST_COME, "lighttpd": OwnOrder.SCRIPT_FIRST}.get(name, OwnOrder.SHARED)
