"""The guest kernel: User-Mode Linux, built once from a kernel source, and kept in the user's cache with its record.

Rules:
1. A kernel's file name has its version and a digest of its recipe: configuration, changes of the source, and
   compilation. Another recipe gives another name.
2. The record (NAME.json) is written before the kernel gets its name. A kernel without a record does not count as built.
3. An interrupted build leaves its tree, and the next build continues in this tree. A failed build leaves no tree.
"""

import ctypes
import errno
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from priolab.common.cache_folder import cache_folder
from priolab.common.errors import ScenarioError, StepFailed
from priolab.common.formats.files import sha256_of
from priolab.common.process.lock import alone
from priolab.common.running import CannotStart, finished
from priolab.testbed.guest import kernel_source, prebuilt
from priolab.testbed.guest.kernel_build import COMPILING, check_tools, compiler, make, options
from priolab.testbed.guest.kernel_patches import (
    CHANGES,
    host_line,
    processor_clock,
    queue_bytes,
    service,
    study_kernels,
)
from priolab.testbed.guest.kernel_patches.edit import Change, Version
from priolab.testbed.guest.kernel_source import SourceChoice, chosen, find, version_of

_PATIENCE_S = 10.0
_SECCOMP_SINCE: Version = (6, 16)
_GET_ACTION_AVAIL, _RET_TRAP = 2, 0x0003_0000  # <linux/seccomp.h>
_NR_SECCOMP = 317  # on x86-64
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2  # <linux/prctl.h>


@dataclass(frozen=True, kw_only=True)
class BuildRecord:
    """The record of a built kernel.

    version: the full version of the source. changes: names of the changes that were applied. lacking: names of needed
    changes that do not fit the source; without them runs take longer. stands_in: True if the source of the pinned
    version was not available, so that another version was built. sha256: the digest of the kernel's file.
    """

    version: str
    source: str
    compiler: str
    changes: Sequence[str]
    lacking: Sequence[str]
    stands_in: bool
    sha256: str


def path() -> Path:
    """Returns the path of the guest kernel that runs use, whether it is built or not.

    If the pinned version is not built, returns the path of the kernel that was built in its place, if any. Raises
    ScenarioError.
    """
    if kernel := prebuilt.given():
        return _place_of(kernel)
    choice = chosen()
    file = _file(choice)
    if not choice.pinned or _is_built(file):
        return file
    others = [other for other in sorted(cache_folder().glob("linux-*.json")) if _serves(other)]
    return others[-1].with_suffix("") if others else file


def is_built() -> bool:
    """True if the guest kernel that runs use is built."""
    return _is_built(path())


def record() -> BuildRecord | None:
    """Returns the record of the guest kernel that runs use; None if this kernel is not built."""
    return _record(path())


def name() -> str:
    """Returns a text with the kernel's file name, and with the way in which programs enter the kernel."""
    return f"{path().name} by {entry()}"


def version() -> Version | None:
    """Returns the version of the guest kernel that runs use; None if this kernel is not built."""
    found = record()
    if found is None:
        return None
    major, minor = found.version.split(".")[:2]
    return int(major), int(minor)


def offers(option: str) -> bool:
    """True if the built kernel has an option such as NET_SCH_NETEM.

    Runs the kernel, which prints its configuration. Raises TookTooLong.
    """
    return f"CONFIG_{option}=y" in _configuration(path())


def entry() -> str:
    """Returns the way in which programs enter the guest kernel on this machine: `seccomp`, or the slower `ptrace`."""
    return "ptrace" if why_ptrace() else "seccomp"


def why_ptrace() -> str | None:
    """Returns the reason why programs cannot enter the guest kernel by seccomp(2); None if they can."""
    here = version()
    if here is not None and here < _SECCOMP_SINCE:
        return "the guest kernel is older than 6.16"
    return _seccomp_refusal()


def words(*, own_clock: bool = False) -> list[str]:
    """Returns the words of the kernel's command line that choose how programs enter the kernel, and read the clock.

    own_clock: True if reads of the processor's clock are to give the guest's time, if this kernel can do that.
    """
    here = version()
    if here is None or here < _SECCOMP_SINCE:
        return []
    found = ["seccomp=off" if why_ptrace() else "seccomp=on"]
    if own_clock and _has(processor_clock.NAME):
        found.append(processor_clock.WORD)
    return found


def can_wait() -> bool:
    """True if a guest can wait for further runs when it has carried out its own."""
    return _has(host_line.NAME)


def can_serve() -> bool:
    """True if the guest kernel can let the work of a server take time."""
    return _has(service.NAME)


def counts_bytes() -> bool:
    """True if netem in the guest kernel can limit a queue in bytes."""
    return _has(queue_bytes.NAME)


def _has(change: str) -> bool:
    made = record()
    return made is not None and change in made.changes


def build(tell: Callable[[str, float, float | None], None]) -> Path:
    """Builds the guest kernel that runs use, unless it is built. Returns its path. Raises LabError.

    A kernel that was built elsewhere, and that the user names, is brought into the cache instead.

    tell: called with the step, the fraction of the build that is done, and the seconds left (None if unknown).
    """
    if kernel := prebuilt.given():
        return _once(_place_of(kernel), tell, lambda: _bring_in(kernel, tell))
    choice = chosen()
    return _once(_file(choice), tell, lambda: _build(choice, tell))


def _once(target: Path, tell: Callable[[str, float, float | None], None], make_it: Callable[[], Path]) -> Path:
    """Returns the target if it is built. Otherwise calls make_it, while no other build runs, and returns its result."""
    if _is_built(target):
        return target
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with alone(cache_folder() / "build.lock", lambda: tell("waiting for another build", 0.0, None)):
            return target if _is_built(target) else make_it()
    except OSError as error:
        raise StepFailed(
            "building the guest kernel", f"{error.filename or cache_folder()}: {error.strerror}"
        ) from error


def _build(choice: SourceChoice, tell: Callable[[str, float, float | None], None]) -> Path:
    check_tools(cache_folder() / "kernel-build.log")
    tarball = find(choice, lambda step, fraction: tell(step, fraction, None))
    version = version_of(tarball) or choice.version
    stands_in = version != choice.version
    target = _file(SourceChoice(version=version, tarball=choice.tarball))
    if stands_in and (found := _record(target)) is not None:
        _write(target, BuildRecord(**asdict(found) | {"stands_in": True}))
        return target
    made = make(target.name, tarball, version, needed(version), tell)
    try:
        temporary = target.with_name(f".{target.name}.new")
        made.kernel.replace(temporary)
        sha256 = digest_of(temporary)
        _write(
            target,
            BuildRecord(
                version=made.version,
                source=tarball.name,
                compiler=compiler(),
                changes=made.changes,
                lacking=made.lacking,
                stands_in=stands_in,
                sha256=sha256,
            ),
        )
        temporary.replace(target)
    finally:
        made.discard()
    return target


def _bring_in(kernel: prebuilt.Prebuilt, tell: Callable[[str, float, float | None], None]) -> Path:
    with prebuilt.unpacked(kernel, cache_folder(), tell) as file:
        found = _record(file)
        if found is None:
            raise kernel.refused("it has no record of its build")
        if found.sha256 != digest_of(file):
            raise kernel.refused("it differs from the kernel that its record describes")
        target = _place_of(kernel)
        _write(target, found)
        file.replace(target)
    return target


def _place_of(kernel: prebuilt.Prebuilt) -> Path:
    """Returns the path of a kernel that was built elsewhere. Raises ScenarioError if it has another recipe."""
    file = _file(SourceChoice(version=kernel.version))
    if file.name != kernel.name:
        raise ScenarioError("KERNEL", kernel.place, f"{file.name}, which this version of the lab can use")
    return file


def needed(version: Version) -> tuple[Change, ...]:
    """Returns the changes that a source of that version needs, the additions of a study's own kernel last."""
    return tuple(change for change in (*CHANGES, *study_kernels.current().changes) if change.is_needed(version))


def _file(choice: SourceChoice) -> Path:
    recipe = hashlib.sha256(repr((options(choice.version), needed(choice.version), COMPILING)).encode())
    if choice.tarball is not None:
        recipe.update(f"{choice.tarball} {choice.tarball.stat().st_size}".encode())
    return cache_folder() / f"linux-{kernel_source.words(choice.version)}-{recipe.hexdigest()[:12]}"


def _serves(document: Path) -> bool:
    """True if the record's kernel was built in place of the pinned version, by the present recipe."""
    file = document.with_name(document.name.removesuffix(".json"))
    found = _record(file)
    if found is None or not found.stands_in or not _is_built(file):
        return False
    major, minor = file.name.split("-")[1].split(".")
    return file == _file(SourceChoice(version=(int(major), int(minor))))


def _document(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")


def _is_built(file: Path) -> bool:
    """True if a kernel and its record are there, and the kernel has the digest of the record."""
    found = _record(file)
    try:
        return found is not None and found.sha256 == digest_of(file)
    except OSError:
        return False


def digest_of(file: Path) -> str:
    """Returns the SHA-256 digest of a kernel's file. Raises OSError."""
    state = file.stat()
    return _digest(file, state.st_ino, state.st_size, state.st_mtime_ns)


@cache
def _digest(file: Path, *_: int) -> str:
    """The further arguments change when the file does: a run asks several times if its kernel is built."""
    return sha256_of(file)


def _record(file: Path) -> BuildRecord | None:
    try:
        return BuildRecord(**json.loads(_document(file).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _write(file: Path, record: BuildRecord) -> None:
    temporary = _document(file).with_suffix(".new")
    temporary.write_text(json.dumps(asdict(record), indent=2) + "\n")
    temporary.replace(_document(file))


@cache
def _configuration(file: Path) -> frozenset[str]:
    try:
        return frozenset(finished([str(file), "--showconfig"], _PATIENCE_S).out.splitlines())
    except CannotStart:
        return frozenset()


@cache
def _seccomp_refusal() -> str | None:
    """Returns the reason why the host accepts no system call filters; None if it accepts them. Sets no filter."""
    libc = ctypes.CDLL(None, use_errno=True)
    trap = ctypes.c_uint32(_RET_TRAP)
    if libc.syscall(_NR_SECCOMP, _GET_ACTION_AVAIL, 0, ctypes.byref(trap)) != 0:
        return f"this system refuses seccomp(2): {errno.errorcode.get(ctypes.get_errno(), 'no reason given')}"
    libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None)
    if ctypes.get_errno() != errno.EFAULT:  # EFAULT: the host accepts filters, and tried to read this one
        return f"this system refuses filters of system calls: {errno.errorcode.get(ctypes.get_errno(), 'no reason')}"
    return None
