"""Carries out commands in turn, in one process: `python -m priolab.experiments.command_server REQUEST`.

The demo and the notebooks start it (common/command_server.py). Each command but the first saves the start of Python.
Its runs find the guest of the command before (docs/decisions/0011-guest.md).

Rules:
1. The first request is the argument. Each line of standard input is a further one; the end of the input ends the
   process.
2. What a command writes to standard error passes through. What it writes to standard output is a part of its answer.
3. A signal that stops a command ends the process, too. It also ends a process that waits.
4. If code that decides results has changed since the process began, it begins anew before the next command.
"""

import os
import sys
from contextlib import redirect_stdout
from io import StringIO

from priolab.common.command_server import PROCESS, STOPPED, Answer, answer_line, words_of
from priolab.experiments.__main__ import guarded

_MOST_KEPT = 2
"""The demo has several such processes, and guests that wait have memory."""


def _carry_out() -> int:
    from priolab.common.process import processes
    from priolab.common.process.interruption import Interrupted
    from priolab.experiments.cli import main
    from priolab.experiments.results import digest
    from priolab.testbed import keep_guests

    began_with, request = digest.code(), sys.argv[1]
    try:
        with keep_guests(_MOST_KEPT):
            while request:
                with redirect_stdout(StringIO()) as out:
                    code = main(words_of(request))
                print(answer_line(Answer(code=code, out=out.getvalue())), flush=True)
                if code >= STOPPED:
                    return code
                request = sys.stdin.readline()
                if request and digest.code() != began_with:
                    break
    except Interrupted as interruption:
        return interruption.code
    if request:
        os.execv(sys.executable, [*processes.module(PROCESS), request])  # noqa: S606
    return 0


if __name__ == "__main__":
    raise SystemExit(guarded(_carry_out))
