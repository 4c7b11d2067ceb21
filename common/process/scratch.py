"""A temporary folder that nothing leaves behind."""

import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priolab.common.process import supervisor
from priolab.common.process.search_path import program_environment
from priolab.common.temporary import temporary_folder


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Yields a temporary folder. A supervisor process removes the folder when this process ends, even by SIGKILL.

    The supervisor is there before the folder, so no moment is left in which SIGKILL would leave it.
    """
    scratch = Path(temporary_folder(), f"{prefix}{secrets.token_hex(8)}")
    command = [sys.executable, "-I", "-S", str(supervisor.__file__), str(scratch), "any", "none", "sleep", "infinity"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=program_environment(), start_new_session=True
    ):
        scratch.mkdir(mode=0o700)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
