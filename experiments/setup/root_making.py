"""Makes roots (debian_tree.py): fetches a suite's packages, and unpacks them into a folder of the cache.

Rules:
1. The record is written before the folder gets its name. A folder that is under construction has a name that ends in
   .partial. The process that makes a root holds a lock; whoever gets the lock removes partial folders.
2. The packages' maintainer scripts are not run. The lab adds the few files that servers need: users and groups.
3. No file in a root is setuid or setgid, because the root may be readable for others, and is never updated.

Uses the standard library alone, because the set-up runs before the Python environment exists.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from priolab.common.debian.suite_packages import CannotFetch, SuitePackages
from priolab.common.errors import ScenarioError, Unavailable
from priolab.common.formats.files import sha256_of
from priolab.common.process.lock import alone
from priolab.common.process.program_logs import last_lines
from priolab.common.running import ProgramFailed, finished, piped
from priolab.experiments.setup.debian_tree import FORMAT, PackageRecord, Root, find_root, roots_folder
from priolab.experiments.setup.root_version import OTHER_SUITE, version_in_root
from priolab.proxy.server import Server
from priolab.testbed import work_folder

_PROGRAM_FOLDERS = ("usr/sbin", "usr/bin")
_MERGED = ("bin", "sbin", "lib", "lib64")
_PATIENCE_S = 60.0
_USERS = {"root": 0, "daemon": 1, "bin": 2, "www-data": 33, "haproxy": 900, "nghttpx": 901, "caddy": 902}
_NOBODY, _NOGROUP = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", "nogroup:x:65534:\n"
_ABSENT = re.compile(r"(?:Unable to locate package|Package) '?([a-z0-9.+-]+)'?(?:$| has no installation candidate)")

Tell = Callable[[str], None]
"""Reports a line of progress."""


def _check_has_packages(server: Server) -> None:
    """Raises ScenarioError if the server is not one of Debian's packages, so that no suite has it."""
    if server.npm is not None or server.own:
        raise ScenarioError("SERVER", server.name, "with a suite, only servers from Debian's packages")


def obtain(server: Server, tell: Tell, *, renew: bool = False, extra: Sequence[str] = ()) -> Root:
    """Returns the root of a server, whose edition is a suite; makes it if there is none.

    tell: called with a line of progress before each step. renew: True to ask the suite for newer packages. extra:
    packages for the root beside those of the server. Raises Unavailable, and ScenarioError for a server that no suite
    has.
    """
    _check_has_packages(server)
    suite, what = str(server.edition), f"SERVER={server.name}"
    if not renew and (found := find_root(server, extra)):
        return found
    try:
        with _alone(tell):
            if not renew and (found := find_root(server, extra)):  # another process has made it meanwhile
                return found
            with tempfile.TemporaryDirectory(prefix="apt-", suffix=work_folder.PARTIAL, dir=roots_folder()) as home:
                return _make(server, suite, SuitePackages(suite, Path(home)), tell, extra)
    except CannotFetch as error:
        raise Unavailable(what, *reason_and_remedy(server, error)) from error
    except OSError as error:
        raise Unavailable(what, f"{error.filename}: {error.strerror}", "make room, or set XDG_CACHE_HOME") from error


def reason_and_remedy(server: Server, error: CannotFetch) -> tuple[str, str]:
    """Returns why a server's root cannot be made, and what the user can do."""
    suite = server.edition
    if absent := _ABSENT.search(str(error)):
        is_elsewhere = server.suites and suite not in server.suites
        remedy = f"use SERVER={server.folder.name}@{server.suites[0]}" if is_elsewhere else OTHER_SUITE
        return f"{suite} has no package {absent[1]}", remedy
    return f"the packages of {suite} cannot be fetched: {str(error).rstrip('.')}", error.remedy


@contextmanager
def _alone(tell: Tell) -> Iterator[None]:
    """A context in which no other process makes a root. Removes what an interrupted process has left."""
    folder = roots_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / "lock", lambda: tell("waiting for another process, which makes a root")):
        for abandoned in folder.glob(f"*{work_folder.PARTIAL}"):
            shutil.rmtree(abandoned, ignore_errors=True)
        yield


def _make(server: Server, suite: str, source: SuitePackages, tell: Tell, extra: Sequence[str]) -> Root:
    asked = (*server.packages, *extra)
    tell(f"{server.name}: asking for the packages of {suite}")
    source.update()
    tell(f"{server.name}: fetching {source.count(asked)} packages")
    files = source.fetch(asked)
    packages = tuple(_package(file) for file in files)
    digest = digest_of(packages)
    final = roots_folder() / f"{suite}-{server.folder.name}-{digest}"
    partial = final.with_name(final.name + work_folder.PARTIAL)
    tell(f"{server.name}: unpacking")
    try:
        unpack(files, partial)
        program = _program_in(partial, server)
        root = Root(
            path=final,
            suite=suite,
            server=server.folder.name,
            program=program,
            version=version_in_root(partial, server.arguments(server.version, {"program": program}), server),
            digest=digest,
            made_at=datetime.now(UTC).isoformat(timespec="microseconds"),
            extra=tuple(extra),
            packages=packages,
        )
        record = final.parent / f"{final.name}.json"
        written = record.with_name(record.name + work_folder.PARTIAL)
        written.write_text(json.dumps(root.record(), indent=1) + "\n")
        written.rename(record)
        if not final.is_dir():
            partial.rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return root


def digest_of(packages: Iterable[PackageRecord]) -> str:
    """Returns the digest that names a root of these packages, whatever their order."""
    lines = sorted(f"{package.name} {package.version} {package.sha256}\n" for package in packages)
    return hashlib.sha256("".join([f"{FORMAT}\n", *lines]).encode()).hexdigest()[:12]


def _package(file: Path) -> PackageRecord:
    try:
        showing = ["dpkg-deb", "--show", "--showformat=${Package} ${Version}", str(file)]
        said = finished(showing, _PATIENCE_S).checked().out
    except ProgramFailed as error:
        raise CannotFetch(str(error)) from None
    name, _, version = said.strip().partition(" ")
    return PackageRecord(name=name, version=version, sha256=sha256_of(file))


def unpack(files: Sequence[Path], root: Path) -> None:
    """Unpacks packages into the folder `root`, which must not exist, and adds users. Raises CannotFetch and OSError.

    /bin, /sbin and /lib are links to the folders in /usr, as in every Debian since 12.
    """
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for file in files:
        _extract(file, root)
    etc = root / "etc"
    etc.mkdir(exist_ok=True)
    _write(
        etc / "passwd", "".join(f"{name}:x:{id_}:{id_}:{name}:/:/bin/sh\n" for name, id_ in _USERS.items()) + _NOBODY
    )
    _write(etc / "group", "".join(f"{name}:x:{id_}:\n" for name, id_ in _USERS.items()) + _NOGROUP)
    for folder, _, names in os.walk(root):
        for path in (Path(folder, name) for name in names):
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                path.chmod(stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _extract(file: Path, root: Path) -> None:
    """Unpacks a package. `dpkg-deb --extract` would replace the links to /usr by folders."""
    unpacking = ["tar", "--extract", "--preserve-permissions", "--keep-directory-symlink", f"--directory={root}"]
    try:
        done = piped(["dpkg-deb", "--fsys-tarfile", str(file)], unpacking, _PATIENCE_S)
    except ProgramFailed as error:
        raise CannotFetch(f"{file.name} cannot be unpacked: {error}") from None
    if done.code != 0:
        raise CannotFetch(f"{file.name} cannot be unpacked: {last_lines(done.errors)}")


def _write(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    file.write_text(text)


def _program_in(root: Path, server: Server) -> str:
    """Returns the path of the server's program inside the root. Raises Unavailable if program or files are missing."""
    folder = next((name for name in _PROGRAM_FOLDERS if (root / name / server.program).exists()), None)
    lack = f"program {server.program}" if folder is None else None
    lack = lack or next((f"file {file}" for file in server.files if not (root / file.lstrip("/")).exists()), None)
    if lack:
        reason = f"the package {server.packages[0]} of {server.edition} has no {lack}"
        raise Unavailable(f"SERVER={server.name}", reason, OTHER_SUITE)
    return f"/{folder}/{server.program}"
