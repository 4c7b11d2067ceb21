"""Checks the program that the knob PROGRAM names, before the runs: its file, its machine, its loader, its libraries."""

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from priolab.common.elf import read_elf
from priolab.common.errors import Unavailable
from priolab.common.process import processes
from priolab.common.process.search_path import program_environment
from priolab.common.running import CannotStart, Finished, TookTooLong, finished
from priolab.proxy.server import absolute

_PATIENCE_S = 20.0
_LIBRARY = re.compile(r"^\s*(\S+) => (/.*) \(0x[0-9a-f]+\)$")
_ABSENT = re.compile(r"^\s*(\S+) => not found$")
_REBUILD = "build the program on this machine, or link it statically"
_OTHER = "name a program that prints its version"


@dataclass(frozen=True, kw_only=True)
class OwnProgram:
    """A program of the user's own that this machine can start.

    path: its absolute path. loader: the loader of a dynamically linked program; None for other programs. libraries: the
    libraries that the loader finds for it.
    """

    path: Path
    loader: Path | None = None
    libraries: tuple[Path, ...] = ()


def inspected(text: str, what: str) -> OwnProgram:
    """Checks the file of a program, and finds its libraries. Raises Unavailable, with one line.

    text: the path. what: the knob and its value, for errors.
    """
    path = absolute(text)
    try:
        if path.is_dir():
            raise Unavailable(
                what, "it is a folder", f"name the program in it, such as PROGRAM={text.rstrip('/')}/nginx"
            )
        with path.open("rb") as file:
            start = file.read(256)
        if not os.access(path, os.X_OK):
            raise Unavailable(what, "it is not executable", f"run `chmod +x {text}`")
        elf = read_elf(path)
    except ValueError as error:
        raise Unavailable(what, str(error), _REBUILD) from error
    except OSError as error:
        raise Unavailable(what, f"{error.filename}: {error.strerror}", "name a program that can be read") from error
    if elf is None:
        _check_script(start, what)
        return OwnProgram(path=path)
    if elf.machine != platform.machine():
        raise Unavailable(
            what, f"it is a program for {elf.machine}, and this machine is {platform.machine()}", _REBUILD
        )
    if elf.loader is None:
        return OwnProgram(path=path)
    loader = Path(elf.loader)
    if not loader.exists():
        reason = f"its loader {loader} does not exist here: it was built for another C library or system"
        raise Unavailable(what, reason, _REBUILD)
    return OwnProgram(path=path, loader=loader, libraries=_libraries(path, loader, what))


def _check_script(start: bytes, what: str) -> None:
    if not start.startswith(b"#!"):
        raise Unavailable(what, "it is neither an ELF program nor a script that begins with #!", _REBUILD)
    words = start[2:].split(b"\n")[0].split()
    interpreter = Path(os.fsdecode(words[0])) if words else Path()
    if not (interpreter.is_file() and os.access(interpreter, os.X_OK)):
        raise Unavailable(what, f"its first line names {interpreter}, which cannot be executed", "correct that line")


def _libraries(path: Path, loader: Path, what: str) -> tuple[Path, ...]:
    """Returns the libraries that the loader finds, as ldd(1) does."""
    command = [str(loader), "--list", str(path)] if "musl" in loader.name else [str(loader), str(path)]
    environment = program_environment() | ({} if "musl" in loader.name else {"LD_TRACE_LOADED_OBJECTS": "1"})
    done = _done(command, what, environment)
    found: list[Path] = []
    for line in done.out.splitlines():
        if absent := _ABSENT.match(line):
            remedy = "install it, or name its folder in the environment variable LD_LIBRARY_PATH"
            raise Unavailable(what, f"the loader does not find its library {absent[1]}", remedy)
        if known := _LIBRARY.match(line):
            found.append(Path(known[2]))
    if complaint := (done.errors.strip().splitlines() or [""])[0]:
        raise Unavailable(what, f"the loader says: {complaint.removeprefix(f'{path}: ')}", _REBUILD)
    if done.code != 0:
        raise Unavailable(what, f"the loader {loader} cannot load it", _REBUILD)
    return tuple(found)


def version_said(command: Sequence[str], what: str, remedy: str = _OTHER) -> str:
    """Returns the first line that the program prints as its version. Raises Unavailable.

    command: the argument list that asks. what: the knob and its value, for errors. remedy: for errors.
    """
    done = _done(command, what, program_environment(), remedy)
    return version_in(done, command, what, remedy)


def version_in(done: Finished, command: Sequence[str], what: str, remedy: str = _OTHER) -> str:
    """Returns the version in a program's output, the first line. Raises Unavailable if there is none.

    command, what, remedy: for errors, which quote the command and the last line of its output.
    """
    code, out, errors = done.code, done.out.strip(), done.errors.strip()
    lines = [line.strip() for line in (out or errors).splitlines()]
    asked = f"`{' '.join(command)}`"
    if code != 0:
        said = (errors or out).splitlines() or ["it printed nothing"]
        ended = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        raise Unavailable(what, f"{asked} {ended}: {said[-1].strip()}", remedy)
    if not lines:
        raise Unavailable(what, f"{asked} ended with exit code 0, and printed no version", remedy)
    return lines[0]


def _done(command: Sequence[str], what: str, environment: dict[str, str], remedy: str = _REBUILD) -> Finished:
    try:
        return finished(command, _PATIENCE_S, environment=environment)
    except CannotStart as error:
        raise Unavailable(what, f"`{' '.join(command)}` cannot be started: {error.reason}", remedy) from error
    except TookTooLong as error:
        reason = f"`{' '.join(command)}` took more than {_PATIENCE_S:g} s"
        raise Unavailable(what, reason, processes.CALMER) from error
