"""What an entry of the catalogue makes possible: levels that came later, and what is missing of a server."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.errors import Unavailable
from experiments.host import programs
from experiments.host.programs import check_levels, lack_of, remedy_for
from experiments.scenario.knobs import scenario_from
from proxy.server import Server, Switch, catalogue

LATER = Switch(name="notsent-lowat", levels={"on": {}, "off": {}}, since={"on": "3.2"})


@pytest.mark.parametrize(
    ("said", "lacking"),
    [
        ("HAProxy version 2.6.12-1+deb12u4 2026/10/17", "3.2"),
        ("haproxy 3.1.9", "3.2"),
        ("HAProxy version 3.2.0 2025/05/28", None),
        ("3.2", None),
        ("haproxy 3.10.1", None),
        ("2:4.0.1", None),
        ("unknown", None),
    ],
)
def test_a_level_may_have_come_later(said: str, lacking: str | None) -> None:
    """Versions are compared number by number; one that cannot be read, or is newer than anybody knows, has it."""
    assert LATER.lacked_until("on", said) == lacking
    assert LATER.lacked_until("off", said) is None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """The default server, as if its own mechanism had come later."""
    server = replace(catalogue()["nginx"], native=LATER)
    monkeypatch.setattr(programs, "catalogue", lambda: {"nginx": server})
    return server


@pytest.mark.usefixtures("server")
def test_an_older_server_is_told_of_beforehand() -> None:
    """What is asked, what brought it, what is here, and what helps; whoever does not ask for it is not stopped."""
    asked = [scenario_from({}), replace(scenario_from({}), native="on")]
    with pytest.raises(Unavailable) as caught:
        check_levels(asked, "nginx version: nginx/1.22.1")
    told = (
        "NATIVE=on with SERVER=nginx cannot be used here: notsent-lowat came with nginx 3.2, and this machine has nginx"
        " version"
    )
    assert str(caught.value) == f"{told}: nginx/1.22.1; install 3.2 or newer"
    check_levels(asked[:1], "nginx version: nginx/1.22.1")
    check_levels(asked, "nginx version: nginx/3.2.0")


def test_an_older_haproxy_has_no_hard_limit() -> None:
    """RECORD is what came with 2.6; the older setting holds at the beginning of a transfer only."""
    stock = scenario_from({"SERVER": "haproxy"})
    sized = scenario_from({"SERVER": "haproxy", "RECORD": "1400"})
    with pytest.raises(
        Unavailable, match=r"^RECORD=1400 with SERVER=haproxy .* tune.ssl.hard-maxrecord came with .* 2.6"
    ):
        check_levels([stock, sized], "HAProxy version 2.4.24-0ubuntu0.22.04.1 2023/10/31")
    check_levels([stock], "HAProxy version 2.4.24-0ubuntu0.22.04.1 2023/10/31")
    check_levels([stock, sized], "HAProxy version 2.6.12-1+deb12u4 2026/10/17")


def test_a_server_may_be_incomplete(server: Server, tmp_path: Path) -> None:
    """It takes its program and its files; the remedy names all packages."""
    shell = replace(server, program="sh", packages=("a-shell", "a-module"), files=(str(tmp_path / "module.so"),))
    assert lack_of(replace(shell, program="no-such-program")) == "no-such-program"
    assert lack_of(shell) == str(tmp_path / "module.so")
    assert remedy_for(shell) == "`make setup SERVER=nginx` installs a-shell and a-module"
    (tmp_path / "module.so").touch()
    assert lack_of(shell) is None
