"""Tests of the servers that `priolab matrix` takes."""

from argparse import Namespace
from pathlib import Path

import pytest

from priolab.client.dialects import PLAIN
from priolab.common.errors import LabError, ScenarioError
from priolab.common.formats.plan import Protocol
from priolab.experiments.commands import probe
from priolab.experiments.commands.console import Report
from priolab.extras.matrix import measuring
from priolab.proxy.server import server_of


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (
            "nginx@buster",
            "SERVER=nginx@buster is not allowed; allowed: nginx, nginx@bookworm, nginx@trixie, nginx@sid,",
        ),
        ("ngnix", "SERVER=ngnix is not allowed; allowed: apache, caddy, "),
        ("spdy,nginx", "SERVER=spdy is not allowed; allowed: a server that speaks HTTP/2 or HTTP/3"),
        ("nginx-h3@bookworm", "SERVER=nginx-h3@bookworm is not allowed; allowed: nginx-h3, nginx-h3@trixie, nginx-h3@"),
        ("./nowhere", "SERVER=./nowhere is not allowed; allowed: the path of a server's folder"),
        (
            "nginx@sid",
            "SERVER=nginx@sid cannot be used here: nginx@sid is not installed; `make setup SERVER=nginx@sid`",
        ),
    ],
)
def test_servers_that_cannot_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str, told: str
) -> None:
    """An unknown server, or one that has not been fetched, gives one line, and no file is made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(LabError) as caught:
        measuring.write(Namespace(file=tmp_path / "measuring.md"), {"SERVER": server}, Report())
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_arms_of_versions() -> None:
    """Each version has its own arms, whose names are those of folders."""
    servers = [server_of("nginx@1.31.3"), server_of("nginx@sid")]
    arms = list(measuring.probing(servers, ["chrome+header"]))
    assert [arm.name for arm in arms[:4]] == [
        "nginx@1.31.3.chrome-header.probe-spdy",
        "nginx@1.31.3.chrome-header.probe-swap",
        "nginx@1.31.3.none.probe",
        "nginx@1.31.3.none.probe-reversed",
    ]
    assert [arm.scenario.server for arm in arms] == ["nginx@1.31.3"] * 4 + ["nginx@sid"] * 4


def test_arms_over_http3() -> None:
    """A server of HTTP/3 is probed in the dialects that HTTP/3 has signals for, each kind of signals once."""
    servers = [server_of("caddy-h3@2.11.7"), server_of("nginx@sid")]
    arms = list(measuring.probing(servers, ["plain", "header", "update", "chrome+header"]))
    asked = {server.name: [arm.name for arm in arms if arm.scenario.server == server.name] for server in servers}
    assert asked["caddy-h3@2.11.7"] == [
        "caddy-h3@2.11.7.header.probe-spdy",
        "caddy-h3@2.11.7.header.probe-swap",
        "caddy-h3@2.11.7.update.probe-spdy",
        "caddy-h3@2.11.7.update.probe-swap",
        "caddy-h3@2.11.7.none.probe",
        "caddy-h3@2.11.7.none.probe-reversed",
    ]
    assert len(asked["nginx@sid"]) == 2 * 4 + 2 + 2


def test_arms_with_strong_weights() -> None:
    """A dialect with the page's weights has two arms more, whose weights differ much. Gate and probe have the same."""
    arms = {arm.name: arm.scenario for arm in measuring.probing([server_of("nginx")], ["plain", "chrome", "header"])}
    strong = {name: scenario.whole_page for name, scenario in arms.items() if ".strong-" in name}
    assert list(strong) == ["nginx.plain.strong-spdy", "nginx.plain.strong-swap"]
    pages = {arms["nginx.plain.probe-spdy"].whole_page: (147, 183), strong["nginx.plain.strong-spdy"]: (32, 256)}
    for page, weights in pages.items():
        assert tuple(each.weight for each in page.contents) == weights
    trials = {trial.page for pair in probe._asked(PLAIN, Protocol.HTTP2) for trial in pair}
    assert {page.name for page in pages} == trials


def test_a_dialect_that_http3_does_not_have() -> None:
    """If a server speaks none of the dialects asked for, the error names those that it speaks."""
    with pytest.raises(ScenarioError) as caught:
        measuring._check_spoken([server_of("nginx"), server_of("caddy-h3")], ["chrome"], "chrome")
    told = "DIALECT=chrome is not allowed; allowed: with SERVER=caddy-h3, header or update or header+update"
    assert str(caught.value) == told
