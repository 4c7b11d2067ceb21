"""Tests of the servers that a text names: of the catalogue, of an edition, of a user's folder."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from priolab.proxy.server import CALLERS, SUITES, catalogue, server_of, with_config

ENTRY = """\
program = "./server"
version = ["{program}", "-v"]
command = ["{program}", "{config}", "{folder}/more"]
template = "mine.conf"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the smallest entry that is allowed."""
    made = tmp_path / "my-front"
    made.mkdir()
    (made / "server.toml").write_text(ENTRY)
    (made / "mine.conf").write_text("listen @{address}")
    return made


@pytest.mark.parametrize("name", catalogue())
def test_a_name_of_the_catalogue(name: str) -> None:
    """A name stands for the server of the catalogue. It has an edition if its packages are not those of every suite."""
    assert server_of(name) == catalogue()[name]
    assert not server_of(name).own
    server = server_of(name)
    assert server.edition in (None, *server.editions)
    assert server.packages or server.edition in server.wheels


@pytest.mark.parametrize("edition", [*SUITES, "1.31.3"])
def test_an_edition(edition: str) -> None:
    """A server of an edition has the folder of the catalogue, and the whole text as its name."""
    found = server_of(f"nginx@{edition}")
    assert (found.name, found.edition, found.own) == (f"nginx@{edition}", edition, False)
    assert found.folder == catalogue()["nginx"].folder


def test_a_suite_in_place_of_what_is_installed() -> None:
    """The plain name of a server may stand for a suite's packages, and its template may be another server's."""
    server = catalogue()["nginx-h3"]
    assert (server.edition, server.editions) == ("trixie", ("trixie", "sid"))
    assert server.template == catalogue()["nginx"].template
    assert server.folder.name == "nginx-h3"
    with pytest.raises(ValueError, match=r"nginx-h3 has the editions trixie, sid$"):
        server_of("nginx-h3@bookworm")


@pytest.mark.parametrize("text", ["iis", "", "@trixie"])
def test_no_such_server(text: str) -> None:
    """A text without a slash that names no server is an error."""
    with pytest.raises(ValueError, match=f"no server has the name {text}$"):
        server_of(text)


@pytest.mark.parametrize("text", ["nginx@", "nginx@buster", "nginx@1", "nginx@1.2@1.3", "nginx@1.31.2"])
def test_no_such_edition(text: str) -> None:
    """An edition that the server does not have is an error, which lists those that it has."""
    with pytest.raises(ValueError, match=f"no server has the name {text}; nginx has the editions .*sid, 1.31.3$"):
        server_of(text)


def test_a_server_without_packages_is_in_no_suite() -> None:
    """A server that only a wheel has cannot be had from a suite. Its name alone stands for the wheel's edition."""
    assert server_of("envoy").wheel == server_of("envoy@1.40.0").wheel
    with pytest.raises(ValueError, match=r"envoy has the editions 1\.40\.0$"):
        server_of("envoy@trixie")
    with pytest.raises(ValueError, match="spdy has no editions"):
        server_of("spdy@sid")


def test_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a folder is a server. What its entry does not set has a default; paths in it are absolute."""
    monkeypatch.chdir(folder.parent)
    found = server_of("./my-front")
    assert (found.name, found.folder, found.own) == ("./my-front", folder, True)
    assert (found.program, found.template) == (str(folder / "server"), folder / "mine.conf")
    assert (list(found.native.levels), list(found.buffering.levels)) == (["off"], ["on"])
    assert found.packages == ()
    assert found.arguments(found.command, {"program": "p", "config": "c"}) == ("p", "c", f"{folder}/more")
    assert server_of(str(folder)).folder == server_of("my-front/").folder == folder
    monkeypatch.chdir(folder)
    assert server_of(".").folder == folder


def test_a_server_without_a_configuration_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that gets everything by its command needs no template; then CONFIG has nothing to replace."""
    (folder / "server.toml").write_text(
        'program = "./server"\nversion = ["{program}", "-v"]\ncommand = ["{program}", "{address}:{port}", "{origin}"]\n'
    )
    monkeypatch.chdir(folder.parent)
    found = server_of("./my-front")
    assert found.template is None
    assert found.render({}) == ""
    with pytest.raises(ValueError, match=r"^it has no configuration file: its server\.toml has no template$"):
        with_config(found, "my-front/mine.conf")


def test_a_copy_of_a_servers_folder(tmp_path: Path) -> None:
    """A copy of a folder of the catalogue works as it is."""
    copy = tmp_path / "mine"
    shutil.copytree(catalogue()["nginx"].folder, copy)
    assert server_of(str(copy)).native == catalogue()["nginx"].native


def test_a_server_without_tls(tmp_path: Path) -> None:
    """It listens for HTTP/2 without TLS; a copy of a server of the catalogue has its own setting for this."""
    copy = tmp_path / "mine"
    shutil.copytree(catalogue()["nginx"].folder, copy)
    (copy / "server.toml").write_text("tls = false\n" + (copy / "server.toml").read_text())
    found = server_of(str(copy))
    assert found.listener.levels[found.listens] == catalogue()["nginx"].listener.levels["h2c"]
    assert not found.in_images
    assert catalogue()["nginx"].listens == "tls"


def test_the_callers_variables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are named and set; in a guest the caller's come before the guest's own."""
    (folder / "server.toml").write_text('env = ["ONE", "TWO", "NONE"]\n' + (folder / "server.toml").read_text())
    for name, value in {"ONE": "1", "TWO": "2", "OTHER": "3"}.items():
        monkeypatch.setenv(name, value)
    assert server_of(str(folder)).variables == {"ONE": "1", "TWO": "2"}
    monkeypatch.setenv(CALLERS, '{"ONE": "a b"}')
    assert server_of(str(folder)).variables == {"ONE": "a b", "TWO": "2"}


def _without(word: str) -> Callable[[str], str]:
    return lambda text: "".join(line for line in text.splitlines(keepends=True) if not line.startswith(word))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_without("program"), "lacks program$"),
        (_without("te"), r"lacks template, although command has \{config\}$"),
        (lambda text: text + "colour = 1\n", "colour is unknown; the fields are program, version,"),
        (lambda text: text + "[native]\non = {}\n", r"\[native\] lacks off"),
        (
            lambda text: text + "[native]\noff = {}\nmaybe = {}\n",
            r"\[native\] maybe is unknown; the fields are name, off",
        ),
        (lambda text: text + "[native]\noff = {a = 1}\n", r"\[native\] off = .* allowed: a table of texts"),
        (
            lambda text: text + 'tls = false\nprotocol = "h3"\n',
            "tls = false is not allowed with protocol = 'h3'; allowed: t",
        ),
        (lambda text: text + "tls = false\n[listener]\ntls = {}\n", r"\[listener\] lacks h2c, although tls = false$"),
        (
            lambda text: text + 'env = ["A=B"]\n',
            r"env = \['A=B'\] is not allowed; allowed: a list of names of variables$",
        ),
        (lambda text: text + "native = 3\n", "native = 3 is not allowed; allowed: a table$"),
        (lambda text: text + 'protocol = "h4"\n', "protocol = 'h4' is not allowed; allowed: h2 or h3$"),
        (
            lambda text: text.replace('["{program}", "-v"]', "[]"),
            r"version = \[\] is not allowed; allowed: a list with",
        ),
        (lambda text: text.replace('"mine.conf"', '"../mine.conf"'), "the name of a file in this folder"),
        (lambda text: text.replace('"mine.conf"', '"other.conf"'), "other.conf: No such file or directory"),
        (lambda text: text + "x = \n", "Invalid value"),
        (lambda text: text.replace("{folder}", "{folder"), "command has a brace without its counterpart: .* itself$"),
    ],
)
def test_a_faulty_folder(folder: Path, change: Callable[[str], str], told: str) -> None:
    """An error names the file and says in one line what is wrong with it."""
    file = folder / "server.toml"
    file.write_text(change(file.read_text()))
    with pytest.raises(ValueError, match=told) as caught:
        server_of(str(folder))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["./nothing-here", "/dev/null"])
def test_no_folder(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path without an entry is an error, which names the file that is missing."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"server.toml: No"):
        server_of(path)
