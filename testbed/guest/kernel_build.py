"""Builds a guest kernel: unpacks the source, changes and configures it, and compiles it.

Rules:
1. A source tree gets its final name once the source is configured. Until then the name ends in `.partial`. The next
   build removes such a tree of an interrupted build.
2. The next build continues to compile a named tree where the last build stopped: make(1) compiles only what is missing.
3. While the source is unpacked, each change that decides results or keeps the host safe is checked as soon as its files
   are there. A source that does not fit ends the build at once. The next build remembers that, and does not unpack the
   source again.
4. make(1) runs under a supervisor (common/process/supervisor.py): if this process is killed, no make and no compiler
   goes on in a tree that the next build uses.
5. Progress counts compiled files. A dry run of make(1) lists beforehand which files are left.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from priolab.common.cache_folder import cache_folder
from priolab.common.errors import StepFailed
from priolab.common.process import supervisor
from priolab.common.process.processes import die_with_parent
from priolab.common.process.program_logs import tail
from priolab.common.process.scratch import scratch_path
from priolab.common.process.search_path import program_environment
from priolab.common.running import finished
from priolab.testbed.guest.kernel_patches import study_kernels
from priolab.testbed.guest.kernel_patches.edit import DECLARATIONS, Change, Effect, Version
from priolab.testbed.guest.kernel_source import KERNEL_FILES, KERNEL_PROGRAMS, PINNED, words

CONFIG = Path(__file__).with_name("kernel.config")
_COMPILER, _HEADERS = ".priolab-gcc", ".priolab-headers.h"
COMPILING: Mapping[str, bytes] = {
    _COMPILER: Path(__file__).with_name("gcc.sh").read_bytes(),
    _HEADERS: Path(__file__).with_name("headers.h").read_bytes(),
    DECLARATIONS[0]: DECLARATIONS[1],
}
"""The content of the files that each build writes into the source tree, by their path there.

The first is the script that make(1) runs as the compiler. The second has the headers that the compiler compiles once
for all files. The third declares the functions of the lab's own C files.
"""

_STEP = "building the guest kernel"
_APPLIED = ".priolab-changes"
_MAKE = ("make", "ARCH=um", f"CC=./{_COMPILER}")
_TOOLS = (*KERNEL_PROGRAMS, "tar")
_PACKAGES = (*KERNEL_PROGRAMS.values(), *KERNEL_FILES.values())
_COMPILED = re.compile(rb"^  (?:CC|AS) ", re.MULTILINE)
_TO_COMPILE = re.compile(rb"echo '  (?:CC|AS) ")
_OPTION = re.compile(r"^(CONFIG_\S+)(?:\s+# (since|until) (\d+)\.(\d+))?$", re.MULTILINE)
_REMEDY = (
    f"name a Debian mirror that has Linux {words(PINNED)}, MIRROR=http://HOST/debian, "
    "or a kernel that was built elsewhere, KERNEL=FILE#sha256=DIGEST (docs/guide/fabrics.md)"
)
_PIECE_BYTES = 2**20
_POLL_S = 1.0
# The fraction of a build's time at which each step begins. Compiling takes the rest.
_UNPACKING, _CONFIGURING, _COMPILING = 0.0, 0.05, 0.08

# Patterns of files that are not unpacked, because no guest kernel is compiled from them.
_NOT_COMPILED = Path(__file__).with_name("not-compiled.txt")


class _Misfit(StepFailed):
    """A change that has to fit the source does not fit it."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """A newly built kernel in its source tree.

    version: the full version of the source. changes: names of the changes that were applied. lacking: names of
    needed changes that do not fit the source.
    """

    kernel: Path
    version: str
    changes: Sequence[str]
    lacking: Sequence[str]

    def discard(self) -> None:
        """Removes the source tree."""
        _discard(self.kernel.parent)


def make(
    name: str,
    tarball: Path,
    version: Version,
    changes: Sequence[Change],
    tell: Callable[[str, float, float | None], None],
) -> Built:
    """Builds a kernel from a tarball, or continues an interrupted build of that name. Raises StepFailed.

    No other build may run at the same time. tell: called with the step, the fraction of the build that is done, and the
    seconds left (None if unknown).
    """
    folder = cache_folder() / "build"
    folder.mkdir(exist_ok=True)
    tree, log = folder / name, cache_folder() / "kernel-build.log"
    for wreck in folder.iterdir():
        if wreck != tree:
            _discard(wreck)
    misfit, source = cache_folder() / f"{name}.misfit", f"{tarball} {tarball.stat().st_mtime_ns}\n"
    if misfit.exists() and misfit.read_text().startswith(source):
        raise _Misfit(_STEP, misfit.read_text().removeprefix(source))
    try:
        with log.open("wb") as output:
            building = _Building(output.fileno(), log, tell)
            if not tree.exists():
                building.prepare(folder / f"{name}.partial", tree, tarball, version, changes)
            building.compile(tree)
            building.run(["strip", "linux"], tree)
            applied = (tree / _APPLIED).read_text().splitlines()
            return Built(
                kernel=tree / "linux",
                version=_full_version(tree),
                changes=applied,
                lacking=[change.name for change in changes if change.name not in applied],
            )
    except (StepFailed, OSError) as error:
        _discard(tree)
        _discard(folder / f"{name}.partial")
        if isinstance(error, _Misfit):
            misfit.write_text(f"{source}{error.reason}")
        raise


def options(version: Version) -> list[str]:
    """Returns the configuration lines for a kernel of that version, the additions of a study's own kernel last."""
    found = []
    for option, bound, major, minor in _OPTION.findall(CONFIG.read_text()):
        named = (int(major or 0), int(minor or 0))
        if version <= named if bound == "until" else version >= named:
            found.append(option)
    return [*found, *study_kernels.current().options]


def said_name(name: str) -> str:
    """Returns the configuration line by which a kernel says its own name (`--showconfig`), whatever its file's name."""
    return f'CONFIG_BUILD_SALT="{name}"'


def check_tools(log: Path) -> None:
    """Checks that the build tools work. Raises StepFailed."""
    if lacking := [name for name in _TOOLS if shutil.which(name) is None]:
        raise StepFailed(_STEP, f"not installed: {' '.join(lacking)}; install: {' '.join(_PACKAGES)}")
    with log.open("wb") as output:
        command = ["gcc", "-static", "-x", "c", "-", "-o", os.devnull]
        done = subprocess.run(command, input=b"int main(void) { return 0; }", stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        raise StepFailed(_STEP, f"gcc cannot compile a program of one line: {_first_error(log) or tail(log)}", log)


def compiler() -> str:
    """Returns the first line of the C compiler's version."""
    return (finished(["gcc", "--version"], 60.0).out.splitlines() or ["unknown"])[0]


class _Building:
    """The steps of a build, each with its output in the log."""

    def __init__(self, output: int, log: Path, tell: Callable[[str, float, float | None], None]) -> None:
        self._output = output
        self._log = log
        self._tell = tell

    def prepare(self, partial: Path, tree: Path, tarball: Path, version: Version, changes: Sequence[Change]) -> None:
        partial.mkdir()
        self._unpack(tarball, partial, version, [change for change in changes if change.effect is not Effect.SPEED])
        self._tell("configuring", _CONFIGURING, None)
        (partial / _APPLIED).write_text("".join(f"{name}\n" for name in self._change(partial, version, changes)))
        self._configure(partial, [*options(version), said_name(tree.name)])
        partial.rename(tree)

    def _unpack(self, tarball: Path, folder: Path, version: Version, deciding: Sequence[Change]) -> None:
        """Unpacks the files that may be needed, and checks that the changes which decide results fit them.

        tar reads from a pipe. The number of bytes written to the pipe gives the progress.
        """
        index = folder / ".priolab-unpacked"
        index.touch()
        command = ["tar", "-x", f"--{_packed(tarball)}", "-C", str(folder), "--strip-components=1", "--verbose"]
        command += ["--index-file", str(index), "--exclude-from", str(_NOT_COMPILED)]
        size_bytes, read_bytes, listed, complete = tarball.stat().st_size, 0, "\n", set[str]()
        with (
            self._step(command, folder, subprocess.PIPE) as process,
            tarball.open("rb") as packed,
            index.open(errors="replace") as names,
        ):
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # tar has ended, and has logged the reason
                while piece := packed.read(_PIECE_BYTES):
                    process.stdin.write(piece)
                    read_bytes += len(piece)
                    self._tell("unpacking", _UNPACKING + (_CONFIGURING - _UNPACKING) * read_bytes / size_bytes, None)
                    *earlier, unpacked, cut_off = (listed + names.read()).split("\n")
                    complete.update(name.partition("/")[2] for name in earlier)
                    listed = f"{unpacked}\n{cut_off}"  # tar lists a file before it unpacks the file
                    checked = [change for change in deciding if change.files <= complete]
                    deciding = [change for change in deciding if change not in checked]
                    _refuse([change for change in checked if not change.fits(folder)], version)
                process.stdin.close()

    def _change(self, tree: Path, version: Version, changes: Sequence[Change]) -> list[str]:
        lacking = [change for change in changes if not change.apply(tree)]
        _refuse([change for change in lacking if change.effect is not Effect.SPEED], version)
        return [change.name for change in changes if change not in lacking]

    def _configure(self, tree: Path, wanted: Sequence[str]) -> None:
        fragment = tree / ".priolab-config"
        fragment.write_text("".join(f"{line}\n" for line in wanted))
        for name, content in COMPILING.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(content)
        (tree / _COMPILER).chmod(0o755)
        self.run([*_MAKE, f"KCONFIG_ALLCONFIG={fragment.name}", "allnoconfig"], tree)
        given = (tree / ".config").read_text().splitlines()
        if missing := [line for line in wanted if line not in given]:
            raise StepFailed(_STEP, f"this kernel source does not have the options {', '.join(missing)}", self._log)

    def compile(self, tree: Path) -> None:
        """Compiles the missing files. Estimates the time left from the average time per file so far."""
        self._tell("counting the files to compile", _COMPILING, None)
        self.run([*_MAKE, "prepare"], tree)
        total = tree / ".priolab-files"
        left = len(_TO_COMPILE.findall(self._dry_run(tree)))
        if not total.exists():
            total.write_text(str(left))
        files, offset = max(int(total.read_text()), left, 1), self._log.stat().st_size
        started = time.monotonic()
        command = [*_MAKE, f"-j{len(os.sched_getaffinity(0))}", "linux"]
        with self._step(command, tree) as process:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_S)
                compiled = len(_COMPILED.findall(self._log.read_bytes()[offset:]))
                share = min(1.0, (files - left + compiled) / files)
                each_s = (time.monotonic() - started) / compiled if compiled else None
                left_s = None if each_s is None else each_s * max(0, left - compiled)
                self._tell("compiling", _COMPILING + (1 - _COMPILING) * share, left_s)

    def _dry_run(self, tree: Path) -> bytes:
        """Returns the output of make's dry run, which names all files to compile.

        The dry run fails at the first file that does not exist yet, but only after it has named the files to compile.
        """
        done = subprocess.run(
            [*_MAKE, "--dry-run", "linux"],
            cwd=tree,
            env=program_environment() | {"LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
            preexec_fn=die_with_parent,
        )
        return done.stdout

    def run(self, command: list[str], folder: Path) -> None:
        """Runs a command, with its output in the log. Raises StepFailed if the command fails."""
        with self._step(command, folder):
            pass

    @contextmanager
    def _step(
        self, command: list[str], folder: Path, stdin: int = subprocess.DEVNULL
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Starts a command. The end of the context waits for the command, and raises StepFailed if the command failed.

        An exception inside the context kills the command.
        """
        scratch = str(scratch_path("priolab-make-")) if command[0] == _MAKE[0] else None  # names a cgroup
        try:
            kept = [] if scratch is None else supervisor.arguments(scratch)
            with self._start([*kept, *command], folder, subprocess.PIPE if scratch else stdin) as process:
                try:
                    yield process
                    process.wait()
                except BaseException:
                    if scratch is None:
                        os.killpg(process.pid, signal.SIGKILL)  # with all processes that it started
                    elif process.stdin is not None:
                        process.stdin.close()  # this makes the supervisor end the command
                    raise
        finally:
            if scratch is not None:
                supervisor.clean_up(scratch)  # needed only if the supervisor itself was killed
        self._check(process, command)

    def _start(self, command: list[str], folder: Path, stdin: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                command,
                cwd=folder,
                stdin=stdin,
                stdout=self._output,
                stderr=self._output,
                env=program_environment() | {"LC_ALL": "C.UTF-8"},
                start_new_session=True,
                preexec_fn=die_with_parent if command[0] == "tar" else None,  # a supervisor notices its parent's end
            )
        except FileNotFoundError:
            raise StepFailed(_STEP, f"{command[0]} is not installed", self._log) from None

    def _check(self, process: subprocess.Popen[bytes], command: Sequence[str]) -> None:
        if process.returncode != 0:
            said = tail(self._log) if command[0] == "tar" else _first_error(self._log) or tail(self._log)
            if _is_full(self._log.parent):
                said = f"No space left on device: {self._log.parent}"
            reason = f"{' '.join(command[:3])} ended with exit code {process.returncode}: {said}"
            raise StepFailed(_STEP, reason, self._log)


def _refuse(misfits: Sequence[Change], version: Version) -> None:
    """Raises _Misfit if there is a change that has to fit the source, and does not."""
    if misfits:
        names = " and ".join(repr(change.name) for change in misfits)
        raise _Misfit(_STEP, f"Linux {words(version)} has other lines than the change {names} expects; {_REMEDY}")


def _is_full(folder: Path) -> bool:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize < _PIECE_BYTES


def _packed(tarball: Path) -> str:
    kinds = {".xz": "xz", ".bz2": "bzip2", ".gz": "gzip", ".zst": "zstd"}
    return kinds.get(tarball.suffix, "no-auto-compress")


def _full_version(tree: Path) -> str:
    found = re.findall(r"^(?:VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", (tree / "Makefile").read_text(), re.MULTILINE)
    return ".".join(found[:3])


def _first_error(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return next((line.strip() for line in lines if "error" in line.lower() or "***" in line), "")


def _discard(tree: Path) -> None:
    shutil.rmtree(tree, ignore_errors=True)
