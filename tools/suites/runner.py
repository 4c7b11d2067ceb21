"""An imitation of a CI runner with Ubuntu 24.04: a bare Debian with Ubuntu's name, sources and keys, and a user of it.

It differs from such a runner: kernel, C library and versions of packages are Debian's, and it lacks what the lab does
not look for. Its only source is a folder with packages. Debian's archive is none of its sources, and it has no keys for
this archive until a package brings them. The compiler is Debian's, with the options that Ubuntu's has by default.
"""

import hashlib
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from priolab.common.process.lock import alone
from tools.suites import tree as trees
from tools.suites.tree import CannotMake, Tree

SUITE = "trixie"
"""The Debian release whose C library and compiler are closest to those of Ubuntu 24.04."""

USER = "runner"
INSTALLED = (
    *("bison", "bzip2", "ca-certificates", "curl", "ethtool", "flex", "gcc", "git", "iproute2", "libc6-dev", "make"),
    *("nginx", "nodejs", "python3", "python3-venv", "sudo", "xz-utils"),
)
"""The packages that the lab needs and a runner has."""

INSTALLABLE = ("bc", "debian-archive-keyring", "debootstrap")
"""The packages that the lab needs, and that a runner can install."""

_RELEASE = """PRETTY_NAME="Ubuntu 24.04 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
UBUNTU_CODENAME=noble
"""
_DAY_S = 86400.0
_ARCHIVE = "srv/ubuntu"
_SOURCES = f"Types: deb\nURIs: file:/{_ARCHIVE}\nSuites: ./\nTrusted: yes\n"
_KEYRING = """Package: ubuntu-keyring
Version: 1
Architecture: all
Maintainer: nobody <nobody@localhost>
Provides: debian-archive-keyring
Description: stands for the keys of Ubuntu's archive
"""
_COMPILER = """#!/bin/sh
case " $* " in
*" -c "* | *" -E "* | *" -S "* | *" c-header "*) ;;
*) set -- -Wl,-z,relro -Wl,-z,now -Wl,--as-needed "$@" ;;
esac
case " $* " in
*" -O"[123s]*) set -- -D_FORTIFY_SOURCE=3 "$@" ;;
esac
exec /usr/bin/gcc -fstack-protector-strong -fstack-clash-protection -fcf-protection -Wformat -Wformat-security "$@"
"""
_INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends"
_PREPARE = f"""set -e
update-ca-certificates
apt-get -qq update
{_INSTALL} install {" ".join(INSTALLED)}
mkdir -p /{_ARCHIVE}/partial
{_INSTALL} -o Dir::Cache::archives=/{_ARCHIVE} --download-only --reinstall install {" ".join(INSTALLABLE)}
apt-get clean
rm -r /etc/apt/sources.list.d/* /var/lib/apt/lists/* /{_ARCHIVE}/lock /{_ARCHIVE}/partial
dpkg-deb --build /{_ARCHIVE}/keyring /{_ARCHIVE}/ubuntu-keyring_1_all.deb
dpkg --install /{_ARCHIVE}/ubuntu-keyring_1_all.deb
dpkg --purge debian-archive-keyring
useradd --create-home --shell /bin/bash {USER}
echo '{USER} ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/{USER}
"""


def make(cache: Path) -> Tree:
    """Make the runner's file system in a cache folder, unless it is there. Raises CannotMake.

    Whoever changes it works on a layer above it: other processes may use it.
    """
    recipe = _sha256(repr((SUITE, _PREPARE, _RELEASE, _SOURCES, _KEYRING, _COMPILER)).encode())
    tree = Tree(suite=SUITE, folder=cache / "priolab" / "suites" / f"runner-{recipe[:12]}")
    tree.folder.mkdir(parents=True, exist_ok=True)
    made = tree.folder / "made"
    with alone(tree.folder):
        if not made.exists():
            trees.make(tree)
            _turn_into_runner(tree)
        made.touch()  # it is in use
    _remove_old(tree)
    return tree


def _turn_into_runner(tree: Tree) -> None:
    archive, log = tree.root / _ARCHIVE, tree.folder / "make.log"
    control = archive / "keyring/DEBIAN/control"
    control.parent.mkdir(parents=True)
    control.write_text(_KEYRING)
    if code := trees.run(tree, "root", "/", ["sh", "-c", _PREPARE], log):
        raise CannotMake(f"the runner's packages: exit code {code} (log: {log})")
    shutil.rmtree(archive / "keyring")
    index = "\n".join(_entries(sorted(archive.glob("*.deb"))))
    (archive / "Packages").write_text(index)
    (archive / "Release").write_text(f"SHA256:\n {_sha256(index.encode())} {len(index.encode())} Packages\n")
    compiler = tree.root / "usr/local/bin/gcc"
    compiler.write_text(_COMPILER)
    compiler.chmod(0o755)
    (tree.root / "usr/lib/os-release").write_text(_RELEASE)
    (tree.root / "etc/apt/sources.list.d/ubuntu.sources").write_text(_SOURCES)


def _entries(packages: Iterable[Path]) -> Iterator[str]:
    """Yield the packages' entries in the archive's index."""
    for file in packages:
        fields = subprocess.run(["dpkg-deb", "--field", file], capture_output=True, text=True, check=True).stdout
        content = file.read_bytes()
        yield f"{fields}Filename: ./{file.name}\nSize: {len(content)}\nSHA256: {_sha256(content)}\n"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _remove_old(tree: Tree) -> None:
    """Remove file systems of other recipes that nobody has used for a day."""
    for folder in tree.folder.parent.glob("runner-*"):
        made = folder / "made"
        if time.time() - (made if made.exists() else folder).stat().st_mtime > _DAY_S:
            trees.remove(folder)
