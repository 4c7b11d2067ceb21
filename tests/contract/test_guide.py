"""docs/guide/adding-a-server.md: its examples are files of the catalogue, and it names every field of an entry."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from priolab.proxy import server
from tests.contract.fronts import front

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/guide/adding-a-server.md").read_text()
SHOWN = re.findall(r"^`(proxy/servers/[^`]+)`:\n\n```\w*\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
NAMED = set(re.findall(r"`(\w+)`", GUIDE))


class _Noting(dict[str, Any]):
    """A table that notes the names of its own and its subtables' fields that are read."""

    def __init__(self, table: dict[str, Any], noted: set[str]) -> None:
        super().__init__(table)
        self._noted = noted
        for name, value in table.items():
            if isinstance(value, dict):
                self[name] = _Noting(value, noted)

    def __getitem__(self, name: str) -> Any:
        self._noted.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._noted.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._noted.add(name)
        return super().get(name, default)


def test_the_example_is_the_trees() -> None:
    """The guide's example shows both files of the server caddy, to the letter."""
    assert {Path(path).parent for path, _ in SHOWN} == {Path("proxy/servers/caddy")}
    folder = ROOT / "proxy/servers/caddy"
    assert sorted(ROOT / path for path, _ in SHOWN) == sorted(folder.iterdir())
    for path, text in SHOWN:
        assert text == (ROOT / path).read_text(), path


def test_the_excerpt_is_the_trees() -> None:
    """The guide's excerpt of `[native]`, with a level that needs a newer version, is in HAProxy's server.toml."""
    (excerpt,) = re.findall(r"^```toml\n(\[native\]\n.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert excerpt in (ROOT / "proxy/servers/haproxy/server.toml").read_text()


def test_the_records_excerpt_is_the_trees() -> None:
    """The guide's excerpt of `[record]` is in nginx's server.toml."""
    (excerpt,) = re.findall(r"^```toml\n(\[record\]\n.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert excerpt in (ROOT / "proxy/servers/nginx/server.toml").read_text()


def test_every_field_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide names every field that proxy/server.py reads from an entry."""
    folders = [known.folder for known in server.catalogue().values()]
    read, noted = tomllib.loads, set[str]()
    monkeypatch.setattr(tomllib, "loads", lambda text: _Noting(read(text), noted))
    for folder in folders:
        server._read(folder)
    assert {"program", "on_since", "takes_whole"} <= noted
    assert noted - NAMED == set()


def test_every_value_is_named() -> None:
    """The guide names every value that a template may use, except those that levels and privileges add."""
    described = front("nginx")
    own = described.settings.server
    brought = {
        *own.native.levels["off"],
        *own.buffering.levels["on"],
        *own.record_values(None),
        *own.privileges["root"],
        *own.listener.levels["tls"],
    }
    assert set(described._values) - brought - NAMED == set()


def test_every_test_is_there() -> None:
    """The test files that the guide names exist."""
    assert [path for path in re.findall(r"`(tests/[\w/]+\.py)`", GUIDE) if not (ROOT / path).is_file()] == []
