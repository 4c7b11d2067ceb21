"""`python -m tests.lab.stock_runner COMMAND...`: runs a command with the limits of a stock CI runner.

The command is no superuser (the caller sees to that), has no user namespaces, and two processors.
"""

import os
import sys

from tests.support.refusing import refuse_user_namespaces

_PROCESSORS = 2


if __name__ == "__main__":
    if os.geteuid() == 0:
        sys.exit("stock_runner: started by root; start it as tests/support/ordinary.py says")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_PROCESSORS])
    refuse_user_namespaces()
    os.execvp(sys.argv[1], sys.argv[1:])
