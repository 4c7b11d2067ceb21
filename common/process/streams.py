"""The standard streams of a command, which a shell may have closed (`>&-`), and which may fail (a full disk)."""

import io
import os
import signal
import sys
from collections.abc import Callable

from priolab.common.exit_codes import ExitCode, signalled

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


closed: set[str] = set()
"""The names of the standard streams that were closed when `open_streams` was called."""


class _Stderr(io.FileIO):
    """Standard error. What cannot be written is lost, because there is no other place to say so."""

    def write(self, data: "io.ReadableBuffer", /) -> int:  # type: ignore[name-defined]
        """Writes the bytes, or drops them; returns their number."""
        try:
            return super().write(data)
        except OSError:
            return len(memoryview(data).cast("B"))


def open_streams() -> None:
    """Opens /dev/null in place of each standard stream that is closed, so that no other file gets its descriptor.

    Afterwards standard error never raises OSError, and standard output never UnicodeEncodeError.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < len(_STREAMS):
        os.set_inheritable(descriptor, True)  # noqa: FBT003
    os.close(descriptor)
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            closed.add(name)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Stderr(2, "w", closefd=False)),
        encoding=sys.stderr.encoding,
        errors="backslashreplace",
        write_through=True,
    )


def written(program: Callable[[], int]) -> int:
    """Calls a program, and writes the rest of its output; returns its exit code, or one that tells of the output.

    A SystemExit of argparse counts as a return.
    """
    try:
        code = program()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = signalled(signal.SIGPIPE)
    except OSError as error:
        if not code:  # otherwise the program has told of it
            print(f"priolab: writing: {error.strerror}; nothing was kept", file=sys.stderr)
            code = ExitCode.NOT_OK
    else:
        return code
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes the rest once more when it ends
    return code
