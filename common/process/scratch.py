"""A temporary folder that nothing leaves behind."""

import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priolab.common.process import supervisor
from priolab.common.process.search_path import program_environment
from priolab.common.temporary import temporary_folder


def scratch_path(prefix: str, base: str | None = None) -> Path:
    """Returns a path that is nobody's for a folder in `base`, which is the folder for temporary files by default."""
    return Path(base or temporary_folder(), f"{prefix}{secrets.token_hex(8)}")


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Yields a temporary folder. A supervisor process removes the folder when this process ends, even by SIGKILL.

    The supervisor is there before the folder, so no moment is left in which SIGKILL would leave it.
    """
    scratch = scratch_path(prefix)
    with subprocess.Popen(
        supervisor.arguments(str(scratch)),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=program_environment(),
        start_new_session=True,
    ):
        scratch.mkdir(mode=0o700)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
