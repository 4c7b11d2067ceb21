"""Builds the client of `make tuner-scale` into build/crowd, with the Go toolchain of the tuner."""

import sys
from pathlib import Path

from priolab.common.errors import LabError
from priolab.common.home import ROOT
from priolab.experiments.setup.go_toolchain import FLAGS
from priolab.extras.tuner.program import workshop

_SOURCES = Path(__file__).parent / "crowd"
_PROGRAM = ROOT / "build" / "crowd"


def main() -> int:
    """Builds the program."""
    _PROGRAM.parent.mkdir(exist_ok=True)
    print("building the client of many connections with Go", flush=True)
    try:
        with workshop(sorted(_SOURCES.iterdir())) as there:
            there.run("vet", "./...")
            there.run("build", *FLAGS, "-o", str(_PROGRAM), ".")
    except (LabError, OSError) as error:
        print(f"make tuner-scale: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
