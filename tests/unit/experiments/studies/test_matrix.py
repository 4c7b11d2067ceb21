"""Tests of the servers that `priolab matrix` takes."""

from argparse import Namespace
from pathlib import Path

import pytest

from experiments.commands.console import Report
from experiments.errors import LabError
from experiments.studies import matrix
from proxy.server import server_of


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (
            "nginx@buster",
            "SERVER=nginx@buster is not allowed; allowed: nginx, nginx@bookworm, nginx@trixie, nginx@sid,",
        ),
        ("ngnix", "SERVER=ngnix is not allowed; allowed: apache, caddy, "),
        ("caddy-h3", "SERVER=caddy-h3 is not allowed; allowed: a server that speaks HTTP/2"),
        ("spdy,nginx", "SERVER=spdy is not allowed; allowed: a server that speaks HTTP/2"),
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
        matrix.write(Namespace(file=tmp_path / "matrix.md"), {"SERVER": server}, Report())
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_arms_of_versions() -> None:
    """Each version has its own arms, whose names are those of folders."""
    servers = [server_of("nginx@1.31.3"), server_of("nginx@sid")]
    arms = list(matrix.probing(servers, ["chrome+header"]))
    assert [arm.name for arm in arms[:4]] == [
        "nginx@1.31.3.chrome-header.probe-spdy",
        "nginx@1.31.3.chrome-header.probe-swap",
        "nginx@1.31.3.none.probe",
        "nginx@1.31.3.none.probe-reversed",
    ]
    assert [arm.scenario.server for arm in arms] == ["nginx@1.31.3"] * 4 + ["nginx@sid"] * 4
