"""Packages of npm: installed once, outside the tree, in a folder named for the lock file.

    python -m experiments.host.npm [SERVER | FOLDER ...]     install what these servers need, or all of the catalogue,
                                                        or what a folder (a word with a slash) asks for

The lock file beside package.json pins versions and content. It names no registry, so npm's own settings decide where
packages come from. Their scripts are not run.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.errors import LabError, StepFailed
from experiments.host.cache import cache_folder
from proxy.server import Server, catalogue

_FILES = ("package.json", "package-lock.json")
_COMMAND = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
_DEADLINE_S = 300.0
_LOST = "TAR_ENTRY_ERROR"


def folder_for(asked: Path) -> Path:
    """The folder for the packages of this package.json and lock file, there or not."""
    content = b"".join((asked / name).read_bytes() for name in _FILES)
    return cache_folder() / f"npm-{asked.name}-{hashlib.sha256(content).hexdigest()[:12]}"


def modules_of(server: Server) -> Path | None:
    """The folder for that server's packages, there or not; None if it needs none."""
    return None if server.npm is None else folder_for(server.npm)


def lacks_modules(server: Server) -> bool:
    """True if the server needs packages that are not there."""
    folder = modules_of(server)
    return folder is not None and not folder.exists()


def install(server: Server) -> Path | None:
    """Installs the server's packages, unless they are there. Raises StepFailed.

    Returns their folder, None if it needs none.
    """
    return None if server.npm is None else install_for(server.npm, f"SERVER={server.name} needs")


def install_for(asked: Path, who_needs: str) -> Path:
    """Installs the packages that this folder asks for, unless they are there; returns theirs. Raises StepFailed."""
    step = f"installing what {who_needs}"
    try:
        folder = folder_for(asked)
        if folder.exists():
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".npm-", dir=folder.parent) as scratch:
            made = Path(scratch) / folder.name
            made.mkdir()
            for name in _FILES:
                shutil.copyfile(asked / name, made / name)
            try:
                done = subprocess.run(
                    _COMMAND, cwd=made, capture_output=True, text=True, timeout=_DEADLINE_S, check=False
                )
            except FileNotFoundError:
                raise StepFailed(step, "npm is not installed") from None
            # A file that cannot be unpacked, as on a full disk, is only a warning to npm, which then ends with 0.
            if lost := next((line for line in done.stderr.splitlines() if _LOST in line), None):
                raise StepFailed(step, f"npm could not unpack a file: {lost.partition(_LOST)[2].strip()}")
            if done.returncode != 0:
                errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
                # The first line is the error, the last the path of npm's log.
                raise StepFailed(
                    step, f"npm ended with {done.returncode}: {' | '.join(dict.fromkeys(errors[:1] + errors[-1:]))}"
                )
            try:
                made.rename(folder)
            except OSError:
                if not folder.exists():  # another process may have been first
                    raise
    except subprocess.TimeoutExpired:
        raise StepFailed(step, f"npm took more than {_DEADLINE_S:g} s") from None
    except OSError as error:
        raise StepFailed(step, f"{error.filename}: {error.strerror}") from error
    return folder


def main() -> int:
    """Entry point; returns the exit code."""
    try:
        for name in sys.argv[1:] or catalogue():
            if "/" not in name and name not in catalogue():
                raise StepFailed("npm", f"{name} is no server; there are {', '.join(catalogue())}")
            if folder := install_for(Path(name), f"{name} asks for") if "/" in name else install(catalogue()[name]):
                print(f"{name}: {folder}")
    except LabError as error:
        print(f"npm: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
