"""Compiles a BPF program and stores the result in a folder. The file's name has a hash of compiler and sources.

The compiler is gcc for BPF if it is installed, else clang. gcc-bpf takes a quarter of the disk space of clang.
"""

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from priolab.common.running import ProgramFailed, finished
from priolab.proxy.tuner.tuner import CannotTune

_HERE = Path(__file__).parent
SOCK_OPS = (_HERE / "sock_ops.c", _HERE / "law.h", _HERE / "caution.h")
"""The tuner's program: the file to compile, and the files that it includes."""
CALLS = (_HERE.parent / "calls.c", _HERE.parent / "calls.h")
"""The program that counts a front's calls (calls.py)."""
# Linux 6.1 refuses the check for a null pointer if it is a comparison with a register that is zero, which gcc prefers.
_COMPILERS = (("bpf-gcc", "-gbtf", "-fno-cse-follow-jumps"), ("clang", "-target", "bpf", "-g"))
_HEADERS = (Path("/usr/include"), Path(f"/usr/include/{platform.machine()}-linux-gnu"))
_WORDS = ("-O2", "-mcpu=v3", *(f"-idirafter{folder}" for folder in _HEADERS))
_NEEDED = (_HEADERS[0] / "bpf" / "bpf_helpers.h", _HEADERS[0] / "linux" / "bpf.h")
REMEDY = "install gcc-bpf and libbpf-dev"
_DEADLINE_S = 60.0


def compiled(folder: Path, sources: Sequence[Path] = SOCK_OPS) -> Path:
    """Returns the path of the compiled program in the folder; compiles it if necessary. Raises CannotTune.

    sources: the file to compile, and the files that it includes.
    """
    compiler, name = command(), sources[0].stem
    target = folder / f"{name}-{_recipe(compiler, sources)}.o"
    try:
        if target.exists():
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as scratch:
            made = Path(scratch) / target.name
            _run([*compiler, "-c", str(sources[0]), "-o", str(made)])
            made.replace(target)
    except OSError as error:
        raise CannotTune(f"{target} cannot be written: {error.strerror}") from error
    return target


def command() -> list[str]:
    """Returns the compiler and its options for BPF. Raises CannotTune if the compiler or a header is not installed."""
    installed = [[program, *words] for name, *words in _COMPILERS if (program := shutil.which(name))]
    if not installed:
        raise CannotTune("no compiler for BPF is installed", REMEDY)
    lacking = [path for path in _NEEDED if not path.exists()]
    if lacking:
        raise CannotTune(f"{lacking[0]} is not installed", REMEDY)
    return [*installed[0], *_WORDS]


def _recipe(compiler: list[str], sources: Sequence[Path]) -> str:
    digest = hashlib.sha256(" ".join(compiler).encode())
    digest.update(_run([compiler[0], "--version"]).encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def _run(command: list[str]) -> str:
    try:
        done = finished(command, _DEADLINE_S, environment=os.environ | {"LC_ALL": "C"})
    except ProgramFailed as error:
        raise CannotTune(str(error)) from error
    if done.code != 0:
        said = done.errors.strip().splitlines()
        errors = [line for line in said if "error" in line.lower()] or said or ["it printed no message"]
        raise CannotTune(f"{command[0]} failed: {errors[0]}")
    return done.out
