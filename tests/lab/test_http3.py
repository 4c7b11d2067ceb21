"""The same page over HTTP/2 and HTTP/3: without a send buffer in the kernel the order is not inverted."""

import json
from pathlib import Path

import pytest

from priolab.experiments.commands.export import export
from priolab.experiments.setup.installed import lack_of
from priolab.proxy.server import server_of
from tests.support.capabilities import each
from tests.support.lab import Done
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest")

FOLLOWING = ("caddy-h3@2.11.7", "envoy-h3", "traefik-h3")
"""The servers that follow PRIORITY_UPDATE frames over HTTP/3."""

FRONTS = ("caddy-h3", "haproxy-h3", "nginx-h3", *FOLLOWING)
"""The servers that speak HTTP/3, in the catalogue and from wheels."""

_BOTH = ("SERVER=caddy,caddy-h3", "LOWAT=16384", "RELOADS=0", "SAMPLE=100ms")


@pytest.mark.needs("caddy", "caddy-h3")
def test_the_script_begins_at_once(run: Runs) -> None:
    """Over HTTP/2 the control is inverted. Over HTTP/3 the script begins early in both arms (undecided)."""
    done = run(*_BOTH)
    assert done.code == 0, done.trouble
    waits = {
        name: done.arm(name)["script"]["first_byte_ms"]
        for name in ("caddy-control", "caddy-lowat-16384", "caddy-h3-control", "caddy-h3-lowat-16384")
    }
    assert done.arm("caddy-control")["verdict"] == "inverted"
    assert waits["caddy-control"] > 5000
    for arm in ("caddy-h3-control", "caddy-h3-lowat-16384"):
        assert waits[arm] < 1200
        assert done.arm(arm)["verdict"] == "undecided"
        assert done.arm(arm)["ledger"] is None
        assert done.arm(arm)["observed"]["notsent_most_bytes"] is None
        assert any("This connection uses QUIC, not TCP" in sentence for sentence in done.arm(arm)["warnings"])
    assert abs(waits["caddy-h3-control"] - waits["caddy-h3-lowat-16384"]) < 50


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("LOWAT=auto",), "LOWAT=auto is not allowed; allowed: none or a number with SERVER=caddy-h3"),
        (
            ("SCENARIO=probe", "JS_DELAY=5s"),
            "JS_DELAY=5s is not allowed; allowed: delays of at most 4s with PLAN=probe",
        ),
        (
            ("SCENARIO=probe", "PAGE=pair", "DISTURB=reset"),
            "DISTURB=reset is not allowed; allowed: none with SERVER=caddy-h3",
        ),
        (
            ("DIALECT=chrome",),
            "DIALECT=chrome is not allowed; allowed: plain or header or update or header+update",
        ),
    ],
)
def test_what_it_cannot_do(run: Runs, words: tuple[str, ...], told: str) -> None:
    """Knobs that HTTP/3 does not support are refused before the run."""
    done = run("SERVER=caddy-h3", *words)
    assert done.code == 2
    assert told in done.err


def _every_front(run: Runs) -> Done:
    """Returns an experiment that loads the page from each installed server of HTTP/3, and asks for the script first."""
    here = [name for name in FRONTS if lack_of(server_of(name)) is None]
    fronts = {name: (f"SERVER={name}", "DIALECT=update") for name in here}
    return run.together(fronts, "RELOADS=0", "LOWAT=none", "SAMPLE=none")


@pytest.mark.parametrize("name", each(FRONTS))
def test_a_front(run: Runs, name: str) -> None:
    """Every front of HTTP/3 sends the script early, without LOWAT. Those that follow RFC 9218 complete it first.

    traefik-h3 fills each packet with a piece of the image, so that the image gets a fifth beside the script.
    """
    found = _every_front(run).arm(name)
    assert found["status"] == "ok", found["reason"]
    assert found["script"]["first_byte_ms"] < 1500
    assert (found["script"]["last_byte_ms"] < found["image"]["last_byte_ms"] - 3000) == (name in FOLLOWING)
    assert (found["verdict"] == "kept") == (name in FOLLOWING and name != "traefik-h3")


@pytest.mark.parametrize("suite", ["bookworm", "buster"])
def test_a_suite_without_http3(run: Runs, suite: str) -> None:
    """A suite whose package has no HTTP/3 is refused in one line that names the suites that have it."""
    done = run(f"SERVER=nginx-h3@{suite}")
    assert done.code == 2
    told = f"SERVER=nginx-h3@{suite} is not allowed; allowed: nginx-h3, nginx-h3@trixie, nginx-h3@sid"
    assert done.err.strip().endswith(told)


@pytest.mark.needs("caddy", "caddy-h3")
@pytest.mark.parametrize("to", ["har", "qlog", "perfetto", "csv"])
def test_it_is_exported(run: Runs, to: str, tmp_path: Path) -> None:
    """Every export format has the streams of a run over HTTP/3, and HAR names the protocol."""
    done = run(*_BOTH)
    assert done.folder
    exported = export(done.folder, to, tmp_path / "out")
    texts = {path.name: path.read_text() for path in exported.paths if path.is_file()}
    if to == "har":
        entries = json.loads(texts["caddy-h3-control.1.har"])["log"]["entries"]
        assert {entry["response"]["httpVersion"] for entry in entries} == {"HTTP/3"}
        assert len(entries) == 3
    elif to == "csv":
        ended = [line for line in texts["events.csv"].splitlines() if "caddy-h3-control" in line and ",ended," in line]
        assert len(ended) == 3
    else:
        assert any("caddy-h3-control.1" in text for text in texts.values())
        assert any("/script.js" in text for text in texts.values())
