"""Tests of roots: they are made from packages, recorded, reused, renewed; failures are one line and leave nothing."""

import json
import re
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.debian import suite_packages
from priolab.common.debian.suite_sources import Source
from priolab.common.errors import ScenarioError, Unavailable
from priolab.experiments import cli
from priolab.experiments.commands import suite_roots
from priolab.experiments.commands.setup import set_up
from priolab.experiments.setup import debian_tree
from priolab.experiments.setup.debian_tree import PackageRecord, Root, all_roots, find_root, root_at
from priolab.experiments.setup.root_making import digest_of, obtain
from priolab.proxy.server import Server, catalogue
from tests.server.experiments.suite import SUITE, LocalSuite

NOWHERE = "http://127.0.0.1:1/debian"
VERSION = "tiny version 1.2.3"


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalSuite:
    """Return a suite with a server `tiny`, for a machine whose apt has no other source."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MIRROR", raising=False)
    made = LocalSuite(tmp_path)
    monkeypatch.setattr(suite_packages, "machine_sources", lambda _: made.sources)
    made.add("libtiny", "0.1", {"lib/tiny.txt": "merged"})
    made.add("tiny", "1.2.3-1", {"usr/sbin/tiny": f"#!/bin/sh\necho {VERSION}\n"}, depends="libtiny (>= 0.1)")
    return made


@pytest.fixture
def server() -> Server:
    """Return the catalogue's entry of the server `tiny` of the suite."""
    tiny = catalogue()["nginx"]
    return replace(
        tiny,
        name=f"tiny@{SUITE}",
        folder=tiny.folder.parent / "tiny",
        edition=SUITE,
        program="tiny",
        packages=("tiny",),
    )


def _nothing(line: str) -> None:
    del line


def _made(server: Server, tell: Callable[[str], None] = _nothing) -> Root:
    return obtain(server, tell)


def test_a_root_has_the_packages_and_what_they_depend_on(suite: LocalSuite, server: Server) -> None:
    """The root has the files of the package and of its dependency; the record names both."""
    root = _made(server)
    assert (root.path / "usr/lib/tiny.txt").read_text() == "merged"
    assert (root.path / "lib").readlink() == Path("usr/lib")
    assert (root.program, root.version) == ("/usr/sbin/tiny", VERSION)
    assert [(package.name, package.version) for package in root.packages] == [("libtiny", "0.1"), ("tiny", "1.2.3-1")]
    assert "nobody:" in (root.path / "etc/passwd").read_text()
    assert root_at(root.path) == find_root(server) == root
    assert {path.name for path in debian_tree.roots_folder().iterdir()} == {"lock", root.name, f"{root.name}.json"}
    del suite


def test_a_root_is_made_once_until_a_newer_one_is_asked_for(suite: LocalSuite, server: Server) -> None:
    """A second call takes the root that is there, even if the suite has changed; `renew` asks the suite again."""
    first = _made(server)
    suite.add("tiny", "1.2.4-1", {"usr/sbin/tiny": "#!/bin/sh\necho newer 1.2.4\n"}, depends="libtiny")
    said: list[str] = []
    assert obtain(server, said.append) == first
    assert said == []
    newer = obtain(server, said.append, renew=True)
    assert [line.partition(": ")[0] for line in said] == [server.name] * 3
    assert newer.version == "newer 1.2.4"
    assert newer.digest != first.digest
    assert {root.name for root in all_roots()} == {first.name, newer.name}


def test_nothing_in_a_root_is_setuid(suite: LocalSuite, server: Server) -> None:
    """A setuid program of a package loses this mode."""
    suite.add("su", "1", {"usr/bin/su": "#!/bin/sh\n"}, mode=0o6755)
    root = _made(replace(server, packages=("tiny", "su")))
    modes = [path.lstat().st_mode for path in root.path.rglob("*") if path.is_file()]
    assert stat.S_IMODE((root.path / "usr/bin/su").lstat().st_mode) == 0o755
    assert not any(mode & (stat.S_ISUID | stat.S_ISGID) for mode in modes)


def test_a_package_with_a_wrong_digest_is_refused(suite: LocalSuite, server: Server) -> None:
    """A package that was changed after its list was written ends in one line, and leaves no root."""
    file = suite.add("libtiny", "0.2", {"lib/tiny.txt": "later"})
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(Unavailable) as caught:
        _made(server)
    assert re.search(f"SERVER=tiny@{SUITE} cannot be used here: .*libtiny", str(caught.value))
    assert "\n" not in str(caught.value)
    assert {path.name for path in debian_tree.roots_folder().iterdir()} == {"lock"}


def test_a_suite_that_cannot_be_reached_is_one_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names the server, the cause and a remedy, within seconds."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(suite_packages, "machine_sources", lambda _: [Source(uri=NOWHERE, trust=("Trusted: yes",))])
    with pytest.raises(Unavailable) as caught:
        _made(server)
    assert str(caught.value).startswith(f"SERVER=tiny@{SUITE} cannot be used here: the packages of {SUITE} cannot be")
    assert "MIRROR=" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_suite_without_the_package_is_one_line(suite: LocalSuite, server: Server) -> None:
    """The line names the package, and a suite that has it if the catalogue knows one."""
    with pytest.raises(Unavailable, match=f"tiny@{SUITE} cannot be used here: {SUITE} has no package absent; name"):
        _made(replace(server, packages=("absent",)))
    with pytest.raises(Unavailable, match=f"{SUITE} has no package absent; use SERVER=tiny@bookworm$"):
        _made(replace(server, packages=("absent",), suites=("bookworm",)))
    del suite


def test_a_package_without_the_program_is_refused(suite: LocalSuite, server: Server) -> None:
    """A server's program must be in its packages."""
    with pytest.raises(Unavailable, match="the package tiny of sid has no program other; name"):
        _made(replace(server, program="other"))
    del suite


def test_servers_from_elsewhere_have_no_suites() -> None:
    """A server with npm packages has no suite."""
    spdy = replace(catalogue()["spdy"], name=f"spdy@{SUITE}", edition=SUITE)
    with pytest.raises(ScenarioError, match=f"SERVER=spdy@{SUITE} is not allowed"):
        _made(spdy)


def test_what_an_interruption_left_is_removed(suite: LocalSuite, server: Server) -> None:
    """Whoever makes the next root removes folders that were under construction."""
    left = debian_tree.roots_folder() / "sid-tiny-0123456789ab.partial"
    (left / "usr").mkdir(parents=True)
    _made(server)
    assert not left.exists()
    del suite


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}', '{"format": 1, "packages": []}'])
def test_a_damaged_record_is_no_root(suite: LocalSuite, server: Server, text: str) -> None:
    """A root without a readable record does not count, and is made again."""
    root = _made(server)
    record = root.path.parent / f"{root.name}.json"
    good = json.loads(record.read_text())
    record.write_text(text)
    assert find_root(server) is None
    again = _made(server)
    assert json.loads(record.read_text()) | {"made_at": ""} == good | {"made_at": ""}
    assert again.path == root.path
    del suite


def test_the_digest_depends_on_the_packages_alone() -> None:
    """The order of the packages does not count; each name, version and digest does."""
    one, two = (PackageRecord(name=name, version="1", sha256="a" * 64) for name in ("one", "two"))
    assert digest_of([one, two]) == digest_of([two, one])
    others = [replace(two, name="three"), replace(two, version="2"), replace(two, sha256="b" * 64)]
    assert len({digest_of([one, other]) for other in (two, *others)}) == 1 + len(others)


def test_the_set_up_makes_a_root_or_says_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`make setup SERVER=nginx@sid` asks the suite; if it cannot be reached, the set-up fails with one line."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(suite_packages, "machine_sources", lambda _: [Source(uri=NOWHERE, trust=("Trusted: yes",))])
    assert set_up(["servers", "SERVER=nginx@sid", "FABRIC=netns"], makes_environment=False) == 1
    out, err = capfd.readouterr()
    assert "setup: nginx@sid: asking for the packages of sid" in out
    (line,) = err.splitlines()
    assert line.startswith("setup: SERVER=nginx@sid cannot be used here: the packages of sid cannot be fetched: ")


def test_the_command_lists_and_renews(
    suite: LocalSuite, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`priolab roots` lists what there is; with a name it asks the suite again; a name without a suite is refused."""
    monkeypatch.setattr(suite_roots, "catalogue", lambda: {"tiny": server})
    monkeypatch.setattr(suite_roots, "server_of", lambda _: server)
    root = _made(server)
    assert cli.main(["roots"]) == 0
    listed, total = capsys.readouterr().out.splitlines()
    assert listed.startswith(f"tiny@{SUITE}: {VERSION}, 2 packages, ")
    assert listed.endswith(root.name)
    assert total.startswith("1 root in ")
    suite.add("libtiny", "0.2", {"lib/tiny.txt": "newer"})
    assert cli.main(["roots", f"tiny@{SUITE}"]) == 0
    renewed = find_root(server)
    assert renewed is not None
    assert renewed.packages[0].version == "0.2"
    capsys.readouterr()
    assert cli.main(["roots", "tiny"]) == 2
    assert capsys.readouterr().err.startswith("priolab: SERVER=tiny is not allowed; allowed: a server of Debian with a")


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("nginx-h3@bookworm", "nginx-h3@trixie, nginx-h3@sid"), ("envoy@sid", "a server of Debian with a suite, such as")],
)
def test_a_suite_that_does_not_have_it(name: str, allowed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A suite whose packages do not have the server is refused in one line, with the suites that have it."""
    assert cli.main(["roots", name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"priolab: SERVER={name} is not allowed; allowed: {allowed}")
