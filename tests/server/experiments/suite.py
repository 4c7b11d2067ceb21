"""A Debian suite on this machine's disk, for tests of roots: packages, lists, and digests as apt expects them."""

import hashlib
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from priolab.common.debian.suite_sources import Source

SUITE = "sid"


class LocalSuite:
    """The suite `sid` below a folder. apt trusts it without a signature."""

    def __init__(self, home: Path) -> None:
        self._archive = home / "debian"
        self._work = home / "work"
        self._lists: list[str] = []
        (self._archive / "pool").mkdir(parents=True)
        self._write()

    @property
    def sources(self) -> Sequence[Source]:
        """The sources of a machine that fetches packages from this archive."""
        return [Source(uri=f"file:{self._archive}", trust=("Trusted: yes",))]

    def add(self, name: str, version: str, files: Mapping[str, str], depends: str = "", mode: int = 0o755) -> Path:
        """Adds a package, and returns its file. files: their texts by their paths inside the package."""
        tree = self._work / f"{name}-{version}"
        for path, content in files.items():
            target = tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
            target.chmod(mode)
        architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
        control = f"Package: {name}\nVersion: {version}\nArchitecture: {architecture.stdout.strip()}\n"
        control += "Maintainer: a test <test@example.org>\nDescription: a test\n" + (
            depends and f"Depends: {depends}\n"
        )
        (tree / "DEBIAN").mkdir()
        (tree / "DEBIAN" / "control").write_text(control)
        file = self._archive / "pool" / f"{name}_{version}.deb"
        subprocess.run(
            ["dpkg-deb", "--build", "--root-owner-group", "-Znone", tree, file], capture_output=True, check=True
        )
        self._lists.append(
            f"{control}Filename: pool/{file.name}\nSize: {file.stat().st_size}\nSHA256: {_digest(file.read_bytes())}\n"
        )
        self._write()
        return file

    def _write(self) -> None:
        architecture = "amd64" if platform.machine() == "x86_64" else "arm64"
        packages = "\n".join(self._lists).encode()
        listed = f"main/binary-{architecture}/Packages"
        lists = self._archive / "dists" / SUITE / listed
        lists.parent.mkdir(parents=True, exist_ok=True)
        lists.write_bytes(packages)
        (self._archive / "dists" / SUITE / "Release").write_text(
            f"Suite: {SUITE}\nArchitectures: {architecture}\nComponents: main\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
            f"SHA256:\n {_digest(packages)} {len(packages)} {listed}\n"
        )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
