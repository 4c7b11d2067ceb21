"""Tests of the server catalogue on a machine: values of knobs that need newer servers, and missing programs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.errors import Unavailable
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.setup import programs
from priolab.experiments.setup.debian_tree import Root
from priolab.experiments.setup.installed import lack_of, program_of
from priolab.experiments.setup.programs import (
    browser_remedy,
    browser_tools,
    check_levels,
    lack_of_browser,
    remedy_for,
    root_versions,
    server_version,
)
from priolab.experiments.setup.tools import BROWSERS
from priolab.proxy.server import Server, catalogue, server_of
from priolab.proxy.switch import Switch

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
    """Versions are compared number by number. An unreadable version counts as new enough."""
    assert LATER.lacked_until("on", said) == lacking
    assert LATER.lacked_until("off", said) is None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """Return the default server, for which NATIVE=on needs a newer version than the installed one."""
    server = replace(catalogue()["nginx"], native=LATER)
    monkeypatch.setattr(programs, "server_of", {"nginx": server}.__getitem__)
    return server


@pytest.mark.usefixtures("server")
def test_an_older_server_is_told_of_beforehand() -> None:
    """The error names the knob, the required and the installed version, and the remedy.
    Scenarios without the knob are accepted.
    """
    asked = [scenario_from({}), replace(scenario_from({}), native="on")]
    with pytest.raises(Unavailable) as caught:
        check_levels(asked, "nginx version: nginx/1.22.1")
    told = (
        "NATIVE=on with SERVER=nginx cannot be used here: notsent-lowat exists since nginx 3.2, but this machine has"
        " nginx version"
    )
    assert (
        str(caught.value)
        == f"{told}: nginx/1.22.1; install nginx 3.2 or newer, or name an edition that has it (docs/guide/versions.md)"
    )
    check_levels(asked[:1], "nginx version: nginx/1.22.1")
    check_levels(asked, "nginx version: nginx/3.2.0")


def test_an_older_edition_is_told_of_beforehand() -> None:
    """The error names the edition and its version; the remedy is another edition."""
    asked = [scenario_from({"SERVER": "haproxy@trixie", "NATIVE": "on"})]
    with pytest.raises(Unavailable) as caught:
        check_levels(asked, "HAProxy version 3.0.11")
    assert str(caught.value) == (
        "NATIVE=on with SERVER=haproxy@trixie cannot be used here: tune.notsent-lowat.client exists since haproxy 3.2,"
        " but haproxy@trixie is HAProxy version 3.0.11; name an edition of haproxy 3.2 or newer"
    )
    check_levels(asked, "HAProxy version 3.2.26")


def test_a_suites_server_needs_its_root_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with a suite is never replaced by this machine's; its root has all files that it needs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server = server_of("lighttpd@sid")
    assert (program_of(server), server_version(server), lack_of(server)) == (None, None, "lighttpd@sid")
    assert remedy_for(server) == "`make setup SERVER=lighttpd@sid` fetches it"
    name = "sid-lighttpd-0123456789ab"
    root = Root(
        path=tmp_path / "priolab" / "roots" / name,
        suite="sid",
        server="lighttpd",
        program="/usr/sbin/lighttpd",
        version="lighttpd/1.4.85",
        digest="0123456789ab",
        made_at="2026-11-24",
        extra=(),
        packages=(),
    )
    root.path.mkdir(parents=True)
    (root.path.parent / f"{name}.json").write_text(json.dumps(root.record()))
    assert (program_of(server), server_version(server), lack_of(server)) == (root.program, root.version, None)
    assert root_versions(server, root) == {"root of SERVER=lighttpd@sid": name}
    assert program_of(server_of("lighttpd@trixie")) is None


def test_a_program_that_lies_in_the_servers_folder(tmp_path: Path) -> None:
    """Without a slash a program is looked for in PATH; the remedy is a slash if the folder has a file of this name."""
    (tmp_path / "server.toml").write_text('program = "absent-server"\nversion = ["x"]\ncommand = ["x"]\n')
    server = server_of(str(tmp_path))
    assert remedy_for(server).startswith("install absent-server, or name its packages in ")
    (tmp_path / "absent-server").touch()
    assert remedy_for(server) == f'write program = "./absent-server" in {tmp_path}/server.toml for the file beside it'


def test_an_older_haproxy_has_no_hard_limit() -> None:
    """RECORD needs HAProxy 2.6: the older setting applies only to the beginning of a transfer."""
    stock = scenario_from({"SERVER": "haproxy"})
    sized = scenario_from({"SERVER": "haproxy", "RECORD": "1400"})
    with pytest.raises(
        Unavailable, match=r"^RECORD=1400 with SERVER=haproxy .* tune.ssl.hard-maxrecord exists since .* 2.6"
    ):
        check_levels([stock, sized], "HAProxy version 2.4.24-0ubuntu0.22.04.1 2023/10/31")
    check_levels([stock], "HAProxy version 2.4.24-0ubuntu0.22.04.1 2023/10/31")
    check_levels([stock, sized], "HAProxy version 2.6.12-1+deb12u4 2026/10/17")


def test_a_server_may_be_incomplete(server: Server, tmp_path: Path) -> None:
    """A server needs its program and its files. The remedy names all of its packages."""
    shell = replace(server, program="sh", packages=("a-shell", "a-module"), files=(str(tmp_path / "module.so"),))
    assert lack_of(replace(shell, program="no-such-program")) == "no-such-program"
    assert lack_of(shell) == str(tmp_path / "module.so")
    assert remedy_for(shell) == "`make setup SERVER=nginx` installs a-shell and a-module"
    (tmp_path / "module.so").touch()
    assert lack_of(shell) is None


@pytest.mark.parametrize("client", sorted(BROWSERS))
def test_a_browser_lacks_one_of_its_programs(monkeypatch: pytest.MonkeyPatch, client: str) -> None:
    """The first missing program is named, and the remedy names all that the set-up installs."""
    browser = BROWSERS[client]
    for missing in browser.programs:
        monkeypatch.setattr(programs, "find", lambda name, missing=missing: None if name == missing else f"/bin/{name}")
        assert lack_of_browser(browser) == missing
        with pytest.raises(Unavailable) as caught:
            browser_tools(scenario_from({"CLIENT": client}))
        assert str(caught.value).startswith(f"CLIENT={client} cannot be used here: {missing} is not installed")
        assert all(program in str(caught.value) for program in browser.programs)
        assert "\n" not in str(caught.value)


def test_a_browser_of_an_installed_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a checkout the set-up installs no Python packages, so another command comes before it."""
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    monkeypatch.setattr(programs, "in_checkout", lambda: False)
    monkeypatch.setattr(programs, "installing", lambda extra: f"`pipx inject priority-lab {extra}`")
    assert (
        browser_remedy(BROWSERS["firefox"])
        == "run `pipx inject priority-lab firefox`, then `make setup CLIENT=firefox`"
    )
    assert browser_remedy(BROWSERS["webkit"]).startswith("`make setup CLIENT=webkit` installs both ")
