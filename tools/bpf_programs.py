"""Compiles the lab's BPF programs with clang, into the objects that stand in the tree: `make bpf`.

clang.txt, beside the tuner's object, has the version of the compiler. This version of clang gives the same bytes again.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

from priolab import common
from priolab.common.errors import LabError, Unavailable
from priolab.common.process import processes
from priolab.proxy import calls
from priolab.proxy.tuner import in_kernel

_CALLS = calls.PROGRAMS["x86_64"].with_name("calls.c")
_INCLUDE = ("-I", str(Path(common.__file__).parent))
PROGRAMS: Mapping[Path, tuple[Path, Sequence[str]]] = {
    in_kernel.PROGRAM: (in_kernel.PROGRAM.with_name("sock_ops.c"), ()),
    calls.PROGRAMS["x86_64"]: (_CALLS, _INCLUDE),
    calls.PROGRAMS["generic"]: (_CALLS, ("-DGENERIC_CALLS", *_INCLUDE)),
}
"""By object: its source, and the compiler's further options."""
VERSION = in_kernel.PROGRAM.with_name("clang.txt")
_MACHINE = ("-target", "bpf", "-mcpu=v3", "-D__x86_64__", "-idirafter/usr/include/x86_64-linux-gnu")
_WORDS = (*_MACHINE, "-O2", "-g", "-Wall", "-Wextra", "-Werror")
_STEP = "compiling BPF programs"
_TOOLS = ("clang", "llvm-strip")


def compile_into(made: Path, source: Path, more: Sequence[str] = ()) -> None:
    """Compiles a source into `made`. Of debugging information keeps BTF, which loaders need. Raises LabError."""
    clang, strip = map(_installed, _TOOLS)
    nameless = (f"-ffile-prefix-map={source.parent}=.", "-ffile-compilation-dir=.")  # of this machine's folders
    processes.run([clang, *_WORDS, *nameless, *more, "-c", str(source), "-o", str(made)], step=_STEP)
    processes.run([strip, "-g", str(made)], step=_STEP)


def version() -> str:
    """Returns the version of the installed clang. Raises LabError."""
    return processes.run([_installed(_TOOLS[0]), "--version"], step=_STEP).splitlines()[0]


def _installed(name: str) -> str:
    found = which(name)
    if found is None:
        raise Unavailable(name, "it is not installed", "install clang, llvm and libbpf-dev, as in Debian 12")
    return found


def main() -> int:
    """Compiles all programs."""
    try:
        for made, (source, more) in PROGRAMS.items():
            compile_into(made, source, more)
        VERSION.write_text(f"{version()}\n")
    except (OSError, LabError) as error:
        print(f"make bpf: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
