"""What containers see of the run folder.

Rules:
1. A container never sees the run folder itself: a lab that runs as root writes there, and must not be led elsewhere by
   what somebody else has put in its way.
2. Each service has an empty room that it may write into, mounted as the folder of that name of `INSIDE`. What it leaves
   there is collected once, as plain files.
3. What was asked is handed in as copies that the services can read and not change.
4. Where the run folder is on this machine plays no part: in an image others may not enter each folder on that way, as
   /root, and the services are nobody.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.results.run_folder import RunFolder

TAPS: Mapping[str, str] = {"client": "client-tap", "front": "front-tap"}
"""The service beside each end of the connection that captures there."""
SERVICES = ("origin", "front", "link", "client", "gauge", *TAPS.values())
"""Those that have rooms."""

INSIDE = RunFolder(Path("/priolab-run"))
"""The run folder as the services know it."""

_MOST_BYTES = 2**30
"""A file that is larger is not collected."""


class Rooms:
    """The rooms of one run. They are in the arm's temporary folder and go with it."""

    def __init__(self, folder: RunFolder, user: tuple[int, int]) -> None:
        """user: whom the services run as."""
        self._home = Path(tempfile.mkdtemp(prefix="rooms-"))
        self._user = user
        self._asked = folder.asked
        self._at = _at(folder)
        for name in ("asked", *self._at):
            (self._home / name).mkdir()
            self._give(self._home / name, 0o755)

    def mounts(self, service: str) -> list[dict[str, Any]]:
        """Its volumes, in compose's long syntax."""
        return [
            {"type": "bind", "source": str(self._home / "asked"), "target": str(INSIDE.asked), "read_only": True},
            {"type": "bind", "source": str(self._home / service), "target": str(_at(INSIDE)[service])},
        ]

    def hand_in(self) -> None:
        """What has been asked so far can be read by the services."""
        for path in self._asked.iterdir():
            self._copy_in(path, self._home / "asked" / path.name)

    def hand_to(self, service: str, name: str) -> None:
        """One file of the service's folder is put into its room."""
        self._copy_in(self._at[service] / name, self._home / service / name)

    def collect(self, service: str) -> None:
        """Copy what the service has left to the run folder; what the lab has there itself stays."""
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
    """By service, the folder that it writes into."""
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
    # Looked at again once it is open: until its container ends, its owner may put something else in its place.
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        state = os.fstat(file.fileno())
        if stat.S_ISREG(state.st_mode) and state.st_nlink == 1 and state.st_size <= _MOST_BYTES:
            with target.open("xb") as copy:
                shutil.copyfileobj(file, copy)
