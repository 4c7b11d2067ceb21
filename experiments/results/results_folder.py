"""Checks and makes the results folder, and names the folders in it."""

import os
import secrets
from datetime import datetime
from pathlib import Path

from priolab.common.errors import StepFailed


def folder_name(name: str, started: datetime) -> str:
    """Returns a new folder name: the given name, the time, and random digits, which differ within the same second."""
    return f"{name}-{started:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def results_folder(results: Path) -> Path:
    """Makes the results folder if need be, and returns its absolute path. Raises StepFailed if it cannot be used."""
    try:
        results.mkdir(parents=True, exist_ok=True)
        probe = results / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StepFailed("the results folder", f"{results} cannot be written: {error.strerror}") from error
    return results.resolve()
