"""The processor time of another process."""

import os
from pathlib import Path


def processor_s(pid: int) -> float:
    """Seconds of a processor that a process has used, in the kernel too. Raises OSError."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
