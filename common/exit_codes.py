"""The exit codes of every command: of `priolab`, of the set-up, and of `priolab sandbox` when its client has not ended.

A client of the sandbox that has ended gives its own exit code, and a signal 128 plus its number. LIMIT, NOT_STARTED and
NOT_FOUND are those of timeout(1), env(1) and shells.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit code of a command."""

    OK = 0
    """All that was asked for is done, and every run is ok."""
    NOT_OK = 1
    """A run is failed, invalid or unsupported, a check does not hold, or an error ended the command."""
    BAD_INPUT = 2
    """A value or an option is not allowed; argparse uses it, too."""
    NO_SERVER = 123
    """The sandbox's server ended before it listened, or does not listen."""
    LIMIT = 124
    """The sandbox's client did not end within --limit."""
    WALL_LIMIT = 125
    """The sandbox's client did not end within --wall-limit."""
    NOT_STARTED = 126
    """A program of the sandbox cannot be started."""
    NOT_FOUND = 127
    """A program of the sandbox is not found."""


def exit_code(*, ok: bool) -> ExitCode:
    """Returns the exit code of a command that came to its end."""
    return ExitCode.OK if ok else ExitCode.NOT_OK


def signalled(number: int) -> int:
    """Returns the exit code of a command that this signal ended."""
    return 128 + number
