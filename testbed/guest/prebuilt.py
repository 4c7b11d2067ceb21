"""A guest kernel that was built elsewhere: KERNEL=PLACE/linux-7.2-0123456789ab.tar.gz#sha256=DIGEST.

Rules:
1. The file is an archive of the kernel and its record, or the kernel itself with its record (NAME.json) beside it. It
   has the kernel's name, so the lab knows before it reads the file whether it can use the kernel.
2. A file that comes by HTTP needs its digest. The digest of a file on this machine is checked if it is given.
3. The kernel is started before it is used. It has to say its own name, which is in its configuration.
"""

import gzip
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from priolab.common.elf import read_elf
from priolab.common.errors import Unavailable
from priolab.common.formats.files import sha256_of
from priolab.common.home import kernel_command
from priolab.common.running import ProgramFailed, finished
from priolab.testbed.guest.kernel_build import said_name
from priolab.testbed.guest.kernel_patches.edit import Version
from priolab.testbed.guest.kernel_source import VARIABLE

_PACKED = ".tar.gz"
_WISH = re.compile(r"((?:.*/)?(linux-(\d+)\.(\d+)-[0-9a-f]{12})(?:\.tar\.gz)?)(?:#sha256=([0-9a-f]{64}))?")
_OTHER_FILE = f"name another file, or build the kernel here: {kernel_command()}"
_MOST_BYTES = 2**28
_PIECE_BYTES = 2**16
_PATIENCE_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Prebuilt:
    """A kernel that the user names. place: the path or the URL of its file. sha256: the file's digest, if given."""

    place: str
    name: str
    version: Version
    sha256: str | None

    def refused(self, reason: str, remedy: str = _OTHER_FILE) -> Unavailable:
        """Returns the error for a kernel that cannot be used."""
        return Unavailable(f"the guest kernel {self.place}", reason, remedy)


def given() -> Prebuilt | None:
    """Returns the built kernel that the user names in the environment; None if there is none."""
    match = _WISH.fullmatch(os.environ.get(VARIABLE, ""))
    if match is None:
        return None
    return Prebuilt(place=match[1], name=match[2], version=(int(match[3]), int(match[4])), sha256=match[5])


@contextmanager
def unpacked(kernel: Prebuilt, folder: Path, tell: Callable[[str, float, float | None], None]) -> Iterator[Path]:
    """A context with the kernel in a new folder within `folder`, its record beside it. Raises Unavailable.

    tell: called with the step, the fraction of the download that is done, and None.
    """
    with tempfile.TemporaryDirectory(prefix=".kernel-", dir=folder) as scratch:
        file, source = Path(scratch, kernel.name), Path(kernel.place)
        try:
            if kernel.place.startswith(("http://", "https://")):
                if kernel.sha256 is None:
                    raise kernel.refused("its digest is missing", f"add it: KERNEL={kernel.place}#sha256=...")
                source = Path(scratch, "fetched")
                _fetch(kernel, source, lambda share: tell("fetching", share, None))
            _check_digest(kernel, source)
            if kernel.place.endswith(_PACKED):
                _unpack(kernel, source, file)
            else:
                for name in (kernel.name, f"{kernel.name}.json"):
                    shutil.copyfile(source.with_name(name), file.with_name(name))
            tell("starting", 1.0, None)
            _check(kernel, file)
        except OSError as error:
            raise kernel.refused(f"{error.strerror or error}") from error
        yield file


def archive(kernel: Path, folder: Path) -> str:
    """Packs a kernel and its record into a folder. Returns the file's name and digest, as KERNEL takes them.

    The same kernel gives the same bytes. Raises OSError.
    """
    file = folder / f"{kernel.name}{_PACKED}"
    with (
        file.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(mode="w", fileobj=packed) as tar,
    ):
        for part in (kernel, kernel.with_name(f"{kernel.name}.json")):
            entry = tarfile.TarInfo(part.name)
            entry.size, entry.mode = part.stat().st_size, 0o755
            with part.open("rb") as content:
                tar.addfile(entry, content)
    return f"{file}#sha256={sha256_of(file)}"


def _fetch(kernel: Prebuilt, file: Path, progress: Callable[[float], None]) -> None:
    import urllib.request  # runs whose kernel is there need none of these
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError

    try:
        answer = urllib.request.urlopen(kernel.place, timeout=_PATIENCE_S)  # noqa: S310 - it begins with http
        with answer, file.open("wb") as copy:
            size_bytes, here = int(answer.headers.get("Content-Length") or 0), 0
            while piece := answer.read(_PIECE_BYTES):
                here += copy.write(piece)
                if here > _MOST_BYTES:
                    raise kernel.refused(f"it has more than {_MOST_BYTES} bytes")
                progress(min(1.0, here / size_bytes) if size_bytes else 0.0)
    except URLError as error:
        if isinstance(error, HTTPError):
            error.close()
        raise kernel.refused(f"it cannot be fetched: {error.reason}") from error
    except HTTPException as error:
        raise kernel.refused(f"it cannot be fetched: {error}") from error


def _check_digest(kernel: Prebuilt, file: Path) -> None:
    if kernel.sha256 is not None and (here := sha256_of(file)) != kernel.sha256:
        raise kernel.refused(f"its sha256 is {here[:12]}..., not {kernel.sha256[:12]}...")


def _unpack(kernel: Prebuilt, source: Path, file: Path) -> None:
    try:
        with tarfile.open(source, "r:gz") as tar:
            for name in (kernel.name, f"{kernel.name}.json"):
                content = tar.extractfile(name)
                if content is None:
                    raise KeyError(name)
                file.with_name(name).write_bytes(content.read(_MOST_BYTES))
    except (tarfile.TarError, KeyError, EOFError, gzip.BadGzipFile) as error:
        raise kernel.refused("it is not an archive of a guest kernel and its record") from error


def _check(kernel: Prebuilt, file: Path) -> None:
    """Checks the kernel's machine and its name. Raises Unavailable, OSError."""
    try:
        found = read_elf(file)
    except ValueError as error:
        raise kernel.refused(str(error)) from error
    if found is None:
        raise kernel.refused("it is not a kernel of the lab")
    if found.machine != os.uname().machine:
        raise kernel.refused(f"it is for {found.machine}, and this machine is {os.uname().machine}")
    file.chmod(0o755)
    try:
        said = finished([str(file), "--showconfig"], _PATIENCE_S)
    except ProgramFailed as error:
        raise kernel.refused("it does not start") from error
    if said_name(kernel.name) not in said.out.splitlines():
        raise kernel.refused("it is not a kernel of the lab, or has another name")
