"""Reads the processor time of another process."""

import os
from pathlib import Path


def processor_s(pid: int) -> float:
    """Returns the processor time that a process has used, in user and kernel mode, in seconds. Raises OSError."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
