"""The mounts of containers: their view of the run folder.

Rules:
1. A container never sees the run folder itself. The lab may write into the run folder as root, and a symbolic link of a
   service must not lead these writes elsewhere.
2. Each service has an empty folder of its own to write into. The folder is mounted at the path that `INSIDE` has for
   the service. The service's files are copied to the run folder once, regular files only.
3. The front gets copies of the user's own files, such as a program, which it can read but not change (own_files.py).
4. Services get configurations and plans as copies, which they can read but not change.
5. Mounts do not use the run folder's path on this machine. Services may run as `nobody`, who may not enter every folder
   on that path, such as /root.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priolab.experiments.hosts.containers.user_files import copy_files
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import Scenario

TAPS: Mapping[str, str] = {"client": "client-tap", "front": "front-tap"}
"""The services that capture packets, by the place whose packets they capture."""
SERVICES = ("origin", "front", "link", "client", "gauge", *TAPS.values())
"""The services that have a folder of their own."""

INSIDE = RunFolder(Path("/priolab-run"))
"""The run folder as the services see it."""

_MOST_BYTES = 2**30
"""The size of the largest file that is collected."""


class Mounts:
    """The mounts of a run. The mounted folders are in the job's temporary folder, and are removed with it."""

    def __init__(self, folder: RunFolder, user: tuple[int, int], scenario: Scenario) -> None:
        """user: the uid and gid of the services. scenario: for the user's own files. Raises Unavailable."""
        self._home = Path(tempfile.mkdtemp(prefix="mounts-"))
        self._user = user
        self._asked = folder.asked
        self._at = _at(folder)
        for name in ("asked", *self._at):
            (self._home / name).mkdir()
            self._give(self._home / name, 0o755)
        own = self._home / "own"
        own.mkdir()
        self._own = copy_files(scenario, own)

    def volumes(self, service: str) -> list[dict[str, Any]]:
        """Returns the service's volumes, in compose's long syntax."""
        return [
            {"type": "bind", "source": str(self._home / "asked"), "target": str(INSIDE.asked), "read_only": True},
            {"type": "bind", "source": str(self._home / service), "target": str(_at(INSIDE)[service])},
            *(self._own if service == "front" else []),
        ]

    def hand_in(self) -> None:
        """Copies all present files of `asked/` to the folder that the services see."""
        for path in self._asked.iterdir():
            self._copy_in(path, self._home / "asked" / path.name)

    def hand_to(self, service: str, name: str) -> None:
        """Copies a file from the service's part of the run folder to the folder that the service sees."""
        self._copy_in(self._at[service] / name, self._home / service / name)

    def collect(self, service: str) -> None:
        """Copies the service's files to the run folder, without replacing files there."""
        for path in sorted((self._home / service).iterdir()):
            target = self._at[service] / path.name
            if not target.exists():
                _copy_out(path, target)

    def _copy_in(self, source: Path, target: Path) -> None:
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)
        self._give(target, 0o400)

    def _give(self, path: Path, mode: int) -> None:
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, *self._user)


def _at(folder: RunFolder) -> Mapping[str, Path]:
    """Returns the part of the run folder for each service's files."""
    return {
        "origin": folder.origin,
        "front": folder.front,
        "gauge": folder.front,
        "link": folder.link,
        "client": folder.client,
        **dict.fromkeys(TAPS.values(), folder.wire),
    }


def _copy_out(source: Path, target: Path) -> None:
    if not stat.S_ISREG(source.lstat().st_mode):
        return
    # The open file is checked again: while its container runs, the service may replace the file by something else.
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        state = os.fstat(file.fileno())
        if stat.S_ISREG(state.st_mode) and state.st_nlink == 1 and state.st_size <= _MOST_BYTES:
            with target.open("xb") as copy:
                shutil.copyfileobj(file, copy)
