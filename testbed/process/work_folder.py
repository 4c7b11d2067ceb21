"""Messages of a process that carries out work, and its claims of the work.

A line of output that begins with PROGRESS is for the lab. A process with several folders of work prints a line with
BEGINS or ENDED and the folder's name before and after each, and the line IDLE when it waits for others.
"""

from pathlib import Path

PROGRESS = "@ "
BEGINS, ENDED = "begins ", "ended "
IDLE = "idle"
PARTIAL = ".partial"
"""The end of the name of a folder whose work is not finished."""

_WAITING = "waiting"


def offer(folder: Path) -> None:
    """Lets any process claim a folder: a file in it exists until a process has claimed the folder. Raises OSError."""
    (folder / _WAITING).touch()


def claim(folder: Path) -> bool:
    """Claims a folder for this process. Returns True in one process only, whichever processes and guests call this.

    Returns False if the folder is not on offer any more.
    """
    try:
        (folder / _WAITING).unlink()
    except FileNotFoundError:
        return False
    return True
