"""`python -m priolab.netem.ferry ORDER.json`: runs the ferry in the network namespace in which the command is started.

ORDER.json is an `Order` as JSON (process.py). SIGTERM ends the ferry with exit code 0. If the ferry cannot carry out
the order, it prints a line on standard error and exits with 1.
"""

import sys
from pathlib import Path

from priolab.netem.ferry.process import Order, run
from priolab.netem.ferry.ring import NotSetUp


def main() -> int:
    """Carries out the order that the command line names; returns the exit code."""
    if len(sys.argv) != 2:
        print("ferry: usage: python -m priolab.netem.ferry ORDER.json", file=sys.stderr)
        return 2
    try:
        run(Order.from_json(Path(sys.argv[1]).read_text(encoding="utf-8")))
    except (OSError, ValueError, NotSetUp) as error:
        print(f"ferry: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
