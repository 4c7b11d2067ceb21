"""The folders in which the lab searches for programs."""

import os
import shutil
from collections.abc import Mapping

SYSTEM_FOLDERS = ("/usr/sbin", "/sbin")
"""Folders of programs that an ordinary user's PATH lacks on Debian."""


def search_path(environment: Mapping[str, str] | None = None) -> str:
    """Returns the folders in which to search for programs: PATH, then SYSTEM_FOLDERS, joined by colons."""
    path = (os.environ if environment is None else environment).get("PATH", os.defpath)
    known = path.split(os.pathsep)
    return os.pathsep.join([path, *(folder for folder in SYSTEM_FOLDERS if folder not in known)])


def find(program: str) -> str | None:
    """Returns the absolute path of a program in PATH or SYSTEM_FOLDERS; None if neither has it."""
    return shutil.which(program, path=search_path())


def program_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment for a program of the lab, with SYSTEM_FOLDERS added to PATH, and TZ=UTC.

    environment: the variables to begin with; None for those of this process.
    Without TZ, the C library looks for a file each time a program asks for the local time.
    """
    variables = dict(os.environ if environment is None else environment)
    return variables | {"PATH": search_path(environment), "TZ": "UTC"}
