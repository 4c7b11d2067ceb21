"""`python -m tests.page` checks the types of the demo's scripts with TypeScript; it compiles nothing."""

import subprocess
import sys
from pathlib import Path

from priolab import experiments
from priolab.experiments.errors import LabError
from tests.page import installed

_CONFIG = Path(experiments.__path__[0]) / "demo" / "page" / "jsconfig.json"


def main() -> int:
    """Return the compiler's exit code, or 1 if it cannot be installed."""
    try:
        compiler = installed() / "node_modules" / ".bin" / "tsc"
    except LabError as error:
        print(f"tests.page: {error}", file=sys.stderr)
        return 1
    return subprocess.run([compiler, "-p", _CONFIG], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
