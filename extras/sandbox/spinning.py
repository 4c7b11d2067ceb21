"""Finds the program of a guest that uses the processor all the time: the clock of the guest stands still meanwhile.

A process of a guest is a process of this machine, which has the guest's stack in its memory. At the top of a stack is
the path of its program (execve(2) puts it there).
"""

from pathlib import Path

_NAME_BYTES = 4096


def spinning(folder: Path) -> str | None:
    """Returns the path of the program; None if it cannot be told. folder: that of the order."""
    del folder
    return None
