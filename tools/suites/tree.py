"""A bare file system of a suite, made once by debootstrap outside the checkout, and a copy with a fresh clone.

Only a process in its own mount namespace enters the copy (inside.py), so this process sees no mounts in it. Before it
removes the copy, it checks that nothing is mounted there.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from priolab.common.debian.suite_packages import machine_sources
from priolab.common.debian.suite_sources import Source, debian_sources, sources_for
from priolab.common.process.lock import alone
from priolab.common.process.search_path import find

PACKAGES = ("ca-certificates", "git", "make", "python3")
"""The packages of a user who can clone the lab and run `make`."""

KERNEL = ("iproute2", "kmod", "linux-image-arm64")
"""The further packages of a tree that an emulated machine starts (emulated.py)."""

USER = "lab"
ENTERING = (
    "setpriv",
    "--pdeathsig=KILL",
    "unshare",
    "--mount",
    "--propagation",
    "private",
    "--pid",
    "--fork",
    "--kill-child",
)
"""The start of a command whose namespaces end with it, or with the process that started it."""

_INSIDE = Path(__file__).with_name("inside.py")
_FOREIGN = Path(__file__).with_name("foreign.py")
_DEADLINE_S = 7200.0
_AUTHORITIES = Path("usr/local/share/ca-certificates")
_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
_PASSED_ON = re.compile(
    r"(?i)^(https?_proxy|no_proxy|pip_(?!find_links).*|npm_config_.*|.*_ca_bundle|ssl_cert_file|pip_cert)$"
)


class CannotMake(Exception):
    """The tree cannot be made; the text is one line."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A folder with a file system, and logs. Trees of one suite and architecture share a bare file system.

    foreign: True if the programs are for arm64, and this machine carries them out by qemu-user.
    """

    suite: str
    folder: Path
    foreign: bool = False

    @property
    def bare(self) -> Path:
        """The file system as debootstrap made it."""
        return self.folder.parent / f"{self.suite}{'-arm64' if self.foreign else ''}" / "bare"

    @property
    def entering(self) -> Sequence[str]:
        """The start of a command in namespaces where the programs of the file system can be carried out."""
        return [*([sys.executable, "-I", str(_FOREIGN)] if self.foreign else []), *ENTERING]

    @property
    def root(self) -> Path:
        """The copy that commands run in."""
        return self.folder / "root"

    def home(self, user: str) -> Path:
        """Return the user's home as a path inside the tree."""
        return Path("/root") if user == "root" else Path("/home") / user


def foreign_in(cache: Path, suite: str) -> Tree:
    """Return the suite's tree for arm64 in the cache; it need not exist."""
    return Tree(suite=suite, folder=cache / "priolab" / "suites" / f"{suite}-arm64", foreign=True)


def passed_on(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for downloads, with paths of certificates replaced by the tree's bundle."""
    found = {name: value for name, value in variables.items() if _PASSED_ON.match(name)}
    return {name: _BUNDLE if value.endswith((".crt", ".pem")) else value for name, value in found.items()}


def make_bare(tree: Tree) -> Sequence[Source]:
    """Make the bare file system, unless it is there. Return this machine's sources of Debian. Raises CannotMake."""
    if os.geteuid() != 0:
        raise CannotMake("it takes root: debootstrap makes a file system of root's, and apt in it becomes other users")
    archives = debian_sources(machine_sources(Path("/etc/apt")), None, None)
    if not archives:
        raise CannotMake("this machine's apt sources name no archive of Debian")
    tree.folder.mkdir(parents=True, exist_ok=True)
    tree.bare.parent.mkdir(exist_ok=True)
    with alone(tree.bare.parent):
        if not tree.bare.exists():
            _debootstrap(tree, archives)
    return archives


def make(tree: Tree) -> None:
    """Make a fresh copy of the bare file system, with this machine's network settings. Raises CannotMake."""
    archives = make_bare(tree)
    if tree.root.exists():
        remove(tree.root)
    _run(["cp", "--archive", "--reflink=auto", str(tree.bare), str(tree.root)], "copying")
    etc = tree.root / "etc"
    (etc / "apt/sources.list").unlink(missing_ok=True)
    own = [replace(source, trust=()) for source in archives]  # the tree has the keys of its own suite
    (etc / "apt/sources.list.d/debian.sources").write_text(sources_for(tree.suite, own))
    acquire = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=True).stdout
    (etc / "apt/apt.conf.d/90acquire").write_text(acquire)
    shutil.copy("/etc/resolv.conf", etc / "resolv.conf")
    for authority in (Path("/") / _AUTHORITIES).glob("*.crt"):
        shutil.copy(authority, tree.root / _AUTHORITIES)
    for path in ("etc/pip.conf", "root/.config/pip/pip.conf", "root/.pip/pip.conf", "root/.npmrc", "etc/npmrc"):
        if (Path("/") / path).is_file():
            (tree.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path("/") / path, tree.root / path)


def run(tree: Tree, user: str, folder: str, command: Sequence[str], log: Path) -> int:
    """Run a command in the tree and write its output to the log. Return its exit code; 124 if it took too long."""
    with _started(tree, user, folder, command, log) as process:
        try:
            return process.wait(_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return 124
        except BaseException:
            process.terminate()
            raise


def watched(
    tree: Tree,
    user: str,
    folder: str,
    command: Sequence[str],
    log: Path,
    enough: Callable[[str], bool],
    limit_s: float,
) -> int | None:
    """Run a command as `run` does. Return its exit code; None if it was ended.

    enough: is called with the log twice a second; the command is ended if it returns True, or after limit_s.
    """
    end = time.monotonic() + limit_s
    with _started(tree, user, folder, command, log) as process:
        try:
            while process.poll() is None:
                if enough(log.read_text(errors="replace")) or time.monotonic() > end:
                    process.kill()
                    return None
                time.sleep(0.5)
        except BaseException:
            process.kill()
            raise
    return process.returncode


@contextmanager
def _started(
    tree: Tree, user: str, folder: str, command: Sequence[str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    entering = [*tree.entering, sys.executable, "-I", str(_INSIDE), str(tree.root), user, folder]
    environment = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"} | passed_on(os.environ)
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*entering, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        ) as process,
    ):
        yield process


def prepare(tree: Tree) -> None:
    """Add certificate authorities and an ordinary user; let root use the user's clone. Raises CannotMake."""
    log = tree.folder / "prepare.log"
    for command in (
        ["update-ca-certificates"],
        ["sh", "-c", f"id {USER} 2>/dev/null || useradd --create-home --shell /bin/sh {USER}"],
        ["git", "config", "--system", "--replace-all", "safe.directory", "*"],
    ):
        if code := run(tree, "root", "/", command, log):
            raise CannotMake(f"{command[0]} ended with {code} (log: {log})")


def clone(tree: Tree, checkout: Path, user: str) -> Path:
    """Clone the checkout's HEAD into the user's home; return its path inside the tree. Raises CannotMake."""
    within = tree.home(user) / "lab"
    folder = tree.root / within.relative_to("/")
    if folder.exists():
        remove(folder)
    _run(["git", "clone", "--quiet", "--no-hardlinks", str(checkout), str(folder)], "cloning")
    return within


def share_kernel(cache: Path, tree: Tree, user: str) -> None:
    """Copy the guest kernel from a cache to the user's; the kernel is static, so every suite can start it."""
    theirs = tree.root / tree.home(user).relative_to("/") / ".cache/priolab"
    theirs.mkdir(parents=True, exist_ok=True)
    for file in cache.glob("linux-*"):
        if file.is_file():
            shutil.copy2(file, theirs)


def take_kernel(tree: Tree, user: str, cache: Path) -> None:
    """Copy the guest kernel that a user of the tree has built to a cache, unless the cache has it."""
    theirs = tree.root / tree.home(user).relative_to("/") / ".cache/priolab"
    cache.mkdir(parents=True, exist_ok=True)
    for file in theirs.glob("linux-*"):
        if file.is_file() and not (cache / file.name).exists():
            made = shutil.copy2(file, cache / f".{file.name}.{os.getpid()}")
            os.chown(made, os.geteuid(), os.getegid())
            Path(made).rename(cache / file.name)


def remove(folder: Path) -> None:
    """Remove the folder. Raises CannotMake if anything is mounted in it."""
    if mounts := mounted_below(folder.resolve(), Path("/proc/self/mountinfo").read_text()):
        raise CannotMake(f"{mounts[0]} is mounted: `umount {mounts[0]}` first")
    shutil.rmtree(folder)


def mounted_below(folder: Path, mountinfo: str) -> list[str]:
    """Return the mount points at the folder and below it."""
    points = [line.split()[4].encode().decode("unicode_escape") for line in mountinfo.splitlines()]
    return [point for point in points if Path(point).is_relative_to(folder)]


def check_installed(packages: Mapping[str, str]) -> None:
    """Raises CannotMake without these programs; packages: by the program's name, Debian's package that has it."""
    if missing := {program: package for program, package in packages.items() if find(program) is None}:
        what = " and ".join(missing)
        is_are = "is" if len(missing) == 1 else "are"
        raise CannotMake(f"{what} {is_are} not installed; run `apt-get install {' '.join(missing.values())}`")


def _debootstrap(tree: Tree, archives: Sequence[Source]) -> None:
    check_installed({"debootstrap": "debootstrap"})
    made = tree.bare.with_name(".bare-new")
    if made.exists():
        remove(made)
    made.mkdir(mode=0o755)
    log = tree.bare.with_name("debootstrap.log")
    command = ["debootstrap", "--force-check-gpg", "--variant=minbase"]
    packages = [*PACKAGES]
    if tree.foreign:
        # In a user namespace debootstrap has to be told that it may not make devices. The machine needs no initrd.
        command = [*tree.entering, "env", "container=lxc", "INITRD=No", *command, "--arch=arm64"]
        packages += KERNEL
    command += [f"--include={','.join(packages)}", tree.suite, str(made), archives[0].uri]
    with log.open("w") as output:
        done = subprocess.run(command, stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        raise CannotMake(f"debootstrap ended with {done.returncode} (log: {log})")
    made.rename(tree.bare)


def _run(command: Sequence[str], step: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMake(f"{step}: {done.stderr.strip()}")
