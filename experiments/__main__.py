"""The program `priolab`, or `python -m priolab.experiments`: runs a command, and handles signals before and after.

While the modules of the command line are imported, there is nothing to clean up yet. A signal that arrives then ends
the process at once, with a message of one line. When the command has ended, signals are ignored. The launcher
(launcher/priolab) starts this process with SIGINT blocked, so Ctrl-C waits until this module handles it.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from priolab.common.exit_codes import signalled
from priolab.common.process.interruption import STOPS
from priolab.common.process.streams import open_streams, written


def main() -> int:
    """Runs the command line; returns the exit code. In a locale without UTF-8, starts itself anew in UTF-8 mode."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"PYTHONUTF8": "1"})  # noqa: S606
    return guarded(_command)


def set_up() -> int:
    """Sets this machine up, as the words before `--` say; then carries out the command after it. Returns the exit code.

    setup.sh starts this function, if it can with the Python environment's interpreter. Then the command is carried out
    in the same process. A new environment's packages are only found by a new one.
    """
    from priolab.common.home import ROOT
    from priolab.experiments.commands import setup

    words, command = sys.argv[1:], []
    if "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    is_prepared = setup.is_environment()
    code = setup.main(words)
    if code or not command:
        return code
    if not is_prepared:
        os.execv(ROOT / ".venv" / "bin" / "priolab", ["priolab", *command])  # noqa: S606
    sys.argv[1:] = command
    sys.path.remove("")  # the checkout's folder, whose packages have other names
    return main()


def guarded(program: Callable[[], int]) -> int:
    """Calls a function that imports what it needs and handles signals then; returns its result, the exit code."""
    _from_now_on(_end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    open_streams()
    try:
        return written(program)
    finally:
        _from_now_on(signal.SIG_IGN)


def _command() -> int:
    gc.disable()  # what imports make stays, so a search for garbage would find none
    from priolab.experiments.cli import main as command

    gc.freeze()
    gc.enable()
    return command()


def _from_now_on(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for stop in STOPS:
        if signal.getsignal(stop) is not signal.SIG_IGN:
            signal.signal(stop, handler)


def _end(number: int, _: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, f"priolab: interrupted by {signal.Signals(number).name}; nothing was kept\n".encode())
    os._exit(signalled(number))


if __name__ == "__main__":
    raise SystemExit(main())
