"""The results folder: where it may be, and the names of the folders in it."""

import os
import secrets
from datetime import datetime
from pathlib import Path

from experiments.errors import StepFailed

_UNQUOTABLE = '"$\\{}'


def folder_name(name: str, started: datetime) -> str:
    """The name of a new results folder: no two are equal."""
    return f"{name}-{started:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def results_folder(results: Path) -> Path:
    """Makes the folder if need be and returns its path. Raises StepFailed if it cannot be written."""
    if set(str(results.resolve())) & set(_UNQUOTABLE):
        # Paths go into configuration files, and each server has quoting rules of its own.
        raise StepFailed(
            "the results folder", f"{results.resolve()} holds one of {' '.join(_UNQUOTABLE)}, which is not allowed"
        )
    try:
        results.mkdir(parents=True, exist_ok=True)
        probe = results / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StepFailed("the results folder", f"{results} cannot be written: {error.strerror}") from error
    return results.resolve()
