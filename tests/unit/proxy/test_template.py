"""Tests of templates, and of the check of a user's own configuration."""

import re
from pathlib import Path

import pytest

from priolab.proxy.own_config import NEEDED, fault
from priolab.proxy.server import VALUES, Server, catalogue, with_config
from priolab.proxy.template import placeholders, rendered

NGINX = catalogue()["nginx"]
TEXT = NGINX.template_text


def test_only_braces_make_a_placeholder() -> None:
    """An at sign stands for itself unless a brace or another at sign follows it."""
    text = 'me@there @fallback "@type" $x @@{a} @{b}'
    assert rendered(text, {"b": "1"}) == 'me@there @fallback "@type" $x @{a} 1'
    assert placeholders("@{one}\n# @@{two}\n@{three} @{one}") == {"one": 1, "three": 3}
    with pytest.raises(KeyError):
        rendered(text, {})
    with pytest.raises(ValueError, match="Invalid"):
        rendered("@{b", {"b": "1"})


def _fault(text: str, server: Server = NGINX) -> str | None:
    return fault(text, server.template_text, server.template_values)


@pytest.mark.parametrize("server", catalogue().values(), ids=lambda server: server.name)
def test_the_labs_configurations_have_no_fault(server: Server) -> None:
    """Every template of the catalogue may be used as a configuration; without its placeholders the fault names them."""
    text = server.template_text
    assert _fault(text, server) is None
    needed = [name for name in NEEDED if name in placeholders(text)]
    found = _fault(re.sub(r"@\{(address|port|certificate|key|origin\w*)\}", "x", text), server)
    assert found
    assert found.startswith("lacks " + ", ".join(f"@{{{name}}}" for name in needed) + "; line ")
    assert "\n" not in found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "server @{origin};",
            "server 127.0.0.1:3000;",
            "lacks @{origin}; line 37 has server 127.0.0.1:3000; the lab's",
        ),
        ("@{address}:@{port}", "443", "lacks @{address}, @{port}; line 42 has listen 443 ssl http2; the lab's"),
        ('"@{certificate}"', "/etc/mine.crt", "lacks @{certificate}; line 44 has ssl_certificate /etc/mine.crt; the"),
        ('"@{key}"', "/etc/mine.key", "lacks @{key}; line 45 has ssl_certificate_key /etc/mine.key; the"),
        (
            "        server @{origin};",
            "        # server @{origin};",
            "lacks @{origin}; line 50 has proxy_pass http://origin",
        ),
        ("@{record}", "@{records}", "line 47 has @{records}, which is no placeholder; the placeholders are address, "),
        ("@{record}", "@{", "it has @{ without a name"),
    ],
)
def test_a_fault(old: str, new: str, told: str) -> None:
    """The fault names the placeholder that is missing, and the line that has something else in its place."""
    found = _fault(TEXT.replace(old, new))
    assert found
    assert found.startswith(told)


def test_an_article_on_the_web_is_no_configuration() -> None:
    """A text that has nothing of a configuration lacks every placeholder, and no line has anything instead."""
    found = _fault("Dear reader,\nhello.\n")
    assert found
    assert found.startswith("lacks @{address}, @{port}, @{certificate}, @{key}, @{origin}; the lab's own")


def test_optional_placeholders_may_be_absent(tmp_path: Path) -> None:
    """A configuration without the placeholders of NATIVE, BUFFERING and RECORD replaces the template."""
    file = tmp_path / "arm.json"
    file.write_text(TEXT.replace("@{record}", "").replace("@{buffering}", "on"))
    found = with_config(NGINX, str(file))
    assert found.template == file
    assert found.config_name == NGINX.config_name


@pytest.mark.parametrize("name", ["absent.conf", "."])
def test_no_file(tmp_path: Path, name: str) -> None:
    """A path that is no file is an error with one line."""
    with pytest.raises(ValueError, match=r"No such file or directory|regular file|Is a directory"):
        with_config(NGINX, str(tmp_path / name))


def test_values_are_described() -> None:
    """No name of a level is the name of a general value."""
    for server in catalogue().values():
        switches = (server.native, server.buffering, server.record)
        names = {name for switch in switches for level in switch.levels.values() for name in level}
        assert not names & set(VALUES)
