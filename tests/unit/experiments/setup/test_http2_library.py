"""Tests of the library or compiler that a server's HTTP/2 comes from."""

import json
from pathlib import Path

import pytest

from priolab.experiments.setup.debian_tree import PackageRecord, Root
from priolab.experiments.setup.http2_library import http2_library
from priolab.proxy.server import server_of

GO = b"\xff Go buildinf:\x08\x02" + bytes(16) + b"\x08go1.24.4\x30" + b"path\tcmd"
"""The block that Go writes into a program: magic number, pointer size, flags, padding, length and version."""

QUIC = b"\ndep\tgithub.com/quic-go/quic-go\tv0.63.0\th1:abc=\n"
"""The line about quic-go that Go writes into a program made of modules."""


def _make_root(cache: Path, server: str, content: bytes, *packages: PackageRecord, suite: str = "sid") -> None:
    name = f"{suite}-{server}-0123456789ab"
    root = Root(
        path=cache / "priolab" / "roots" / name,
        suite=suite,
        server=server,
        program=f"/usr/bin/{server}",
        version="1.0",
        digest="0123456789ab",
        made_at="2026-11-24",
        extra=(),
        packages=packages,
    )
    (root.path / "usr/bin").mkdir(parents=True)
    (root.path / "usr/bin" / server).write_bytes(content)
    (root.path.parent / f"{name}.json").write_text(json.dumps(root.record()))


@pytest.mark.parametrize(
    ("server", "content", "packages", "expected"),
    [
        ("apache", b"ELF", ["libnghttp2-14", "libc6"], "libnghttp2 1.70.0-1"),
        ("caddy", b"ELF" + GO, [], "Go 1.24.4"),
        ("nginx", b"ELF go1.24.4", ["libc6"], ""),
        ("caddy-h3", b"ELF" + GO + QUIC, [], "quic-go 0.63.0, Go 1.24.4"),
        ("caddy-h3", b"ELF" + GO, [], "Go 1.24.4"),
        ("caddy", b"ELF" + GO + QUIC, [], "Go 1.24.4"),
    ],
)
def test_in_a_root(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    content: bytes,
    packages: list[str],
    expected: str,
) -> None:
    """The library is one of the root's packages; Go's version is in the program, and for HTTP/3 that of quic-go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    records = [PackageRecord(name=name, version="1.70.0-1", sha256="0") for name in packages]
    _make_root(tmp_path, server, content, *records)
    assert http2_library(server_of(f"{server}@sid")) == expected


def test_a_library_for_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traffic Server's packages include curl, and so libnghttp2; its HTTP/2 is its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server = server_of("trafficserver@bookworm")
    _make_root(
        tmp_path,
        "trafficserver",
        b"ELF",
        PackageRecord(name="libnghttp2-14", version="1.52.0-1", sha256="0"),
        suite="bookworm",
    )
    assert http2_library(server) == ""


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of a server that has not been fetched."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert http2_library(server_of("nginx@sid")) == ""
