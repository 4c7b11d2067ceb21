"""A temporary folder that nothing leaves behind."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priolab.experiments.host import keeper
from priolab.experiments.host.search_path import program_environment


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Yields a temporary folder. A keeper process removes the folder when this process ends, even by SIGKILL."""
    with tempfile.TemporaryDirectory(prefix=prefix) as scratch:
        command = [sys.executable, "-I", "-S", str(keeper.__file__), scratch, "any", "none", "sleep", "infinity"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=program_environment(), start_new_session=True
        ):
            yield Path(scratch)
