"""Finds the programs that a guest's kernel has ended because its memory was full. The kernel names them in its log."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

_LOG, _BADNESS = "/dev/kmsg", Path("/proc/self/oom_score_adj")
_NEVER = -1000
_RECORD_BYTES = 8192  # PRINTK_MESSAGE_MAX and more
_KILLED = re.compile(rb"Out of memory: Killed process \d+ \((.+?)\)")


class OutOfMemory:
    """The log of a guest's kernel, from now on. A context manager, in which the kernel does not end this process."""

    def __enter__(self) -> Self:
        self._log = os.open(_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self._log, 0, os.SEEK_END)
        _BADNESS.write_text(f"{_NEVER}")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._log)

    def reason(self) -> str | None:
        """Returns in words which programs were ended since; None for none."""
        names = list(dict.fromkeys(self._ended()))
        if not names:
            return None
        return f"the guest was out of memory, and its kernel ended {', '.join(names)}; --memory SIZE gives more"

    def _ended(self) -> Iterator[str]:
        with suppress(BlockingIOError):
            while True:
                if match := _KILLED.search(os.read(self._log, _RECORD_BYTES)):
                    yield match[1].decode(errors="replace")


def like_others() -> None:
    """Lets the kernel end this process as any other, which a child of a process in an OutOfMemory is not."""
    _BADNESS.write_text("0")
