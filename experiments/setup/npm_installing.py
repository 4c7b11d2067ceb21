"""Installs npm packages in a folder of the cache (experiments/setup/npm.py).

The lock file beside package.json pins versions and content. It names no registry, so npm's own settings decide where
packages come from. The packages' scripts are not run.
"""

import shutil
from pathlib import Path

from priolab.common.cache import new_folder
from priolab.common.errors import StepFailed
from priolab.common.running import ProgramFailed, finished
from priolab.experiments.setup.npm import NPM_FILES, folder_for
from priolab.proxy.server import Server

_COMMAND = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
_DEADLINE_S = 300.0
_LOST = "TAR_ENTRY_ERROR"


def install(server: Server) -> Path | None:
    """Installs a server's npm packages, unless they are installed. Raises StepFailed.

    Returns the packages' folder; None if the server needs none.
    """
    return None if server.npm is None else install_for(server.npm, f"SERVER={server.name} needs")


def install_for(asked: Path, who_needs: str) -> Path:
    """Installs the npm packages of a package.json, unless they are installed; returns their folder. Raises StepFailed.

    asked: the folder of package.json and the lock file. who_needs: a phrase for messages, such as "SERVER=spdy needs".
    """
    step = f"installing what {who_needs}"
    try:
        folder = folder_for(asked)
        if not folder.exists():
            with new_folder(folder) as made:
                for name in NPM_FILES:
                    shutil.copyfile(asked / name, made / name)
                _run(made, step)
    except OSError as error:
        raise StepFailed(step, f"{error.filename}: {error.strerror}") from error
    return folder


def _run(folder: Path, step: str) -> None:
    try:
        done = finished(_COMMAND, _DEADLINE_S, folder=folder)
    except ProgramFailed as error:
        raise StepFailed(step, str(error)) from None
    said = done.errors.splitlines()
    # A file that cannot be unpacked, as on a full disk, is only a warning to npm, which then ends with 0.
    if lost := next((line for line in said if _LOST in line), None):
        raise StepFailed(step, f"npm could not unpack a file: {lost.partition(_LOST)[2].strip()}")
    if done.code != 0:
        errors = [line for line in said if "error" in line.lower()]
        # The first error line has the cause, the last error line has the path of npm's log.
        told = " | ".join(dict.fromkeys(errors[:1] + errors[-1:]))
        raise StepFailed(step, f"npm ended with exit code {done.code}: {told}")
