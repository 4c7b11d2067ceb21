"""`python -m tests.page` checks the types of the demo's scripts with TypeScript; it compiles nothing."""

import subprocess
import sys

from priolab.common.errors import LabError
from priolab.common.home import ROOT
from tests.page import installed

_CONFIG = ROOT / "extras" / "demo" / "page" / "jsconfig.json"


def main() -> int:
    """Return the compiler's exit code, or 1 if it cannot be installed; 0 in a checkout without the demo."""
    if not _CONFIG.exists():
        return 0
    try:
        compiler = installed() / "node_modules" / ".bin" / "tsc"
    except LabError as error:
        print(f"tests.page: {error}", file=sys.stderr)
        return 1
    return subprocess.run([compiler, "-p", _CONFIG], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
