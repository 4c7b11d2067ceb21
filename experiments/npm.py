"""Packages of npm that a front needs: installed once, outside the tree, in a folder named for what was asked for.

    python -m experiments.npm [SERVER ...]     install what these servers need, or all of the catalogue

Which versions, and of what content, stands in the lock file beside package.json; it names no registry, so npm's own
settings decide where packages come from. Their scripts are not run.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.cache import cache_folder
from experiments.errors import LabError, StepFailed
from proxy.server import Server, catalogue

_FILES = ("package.json", "package-lock.json")
_COMMAND = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
_DEADLINE_S = 300.0


def modules_of(server: Server) -> Path | None:
    """Where that server's packages are, or would be; None if it needs none."""
    if server.npm is None:
        return None
    asked = b"".join((server.npm / name).read_bytes() for name in _FILES)
    return cache_folder() / f"npm-{server.npm.name}-{hashlib.sha256(asked).hexdigest()[:12]}"


def lacks_modules(server: Server) -> bool:
    """Whether it needs some that are not there."""
    folder = modules_of(server)
    return folder is not None and not folder.exists()


def install(server: Server) -> Path | None:
    """Have npm install them, unless they are there; where they are, None if there are none. Raises StepFailed."""
    folder = modules_of(server)
    if server.npm is None or folder is None or folder.exists():
        return folder
    step = f"installing what SERVER={server.name} needs"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".npm-", dir=folder.parent) as scratch:
            made = Path(scratch) / folder.name
            made.mkdir()
            for name in _FILES:
                shutil.copyfile(server.npm / name, made / name)
            done = subprocess.run(_COMMAND, cwd=made, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
            if done.returncode != 0:
                errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
                # The first says what it was, the last where npm has written down the rest.
                raise StepFailed(
                    step, f"npm ended with {done.returncode}: {' | '.join(dict.fromkeys(errors[:1] + errors[-1:]))}"
                )
            made.rename(folder)
    except FileNotFoundError:
        raise StepFailed(step, "npm is not installed") from None
    except subprocess.TimeoutExpired:
        raise StepFailed(step, f"npm took more than {_DEADLINE_S:g} s") from None
    except OSError as error:
        if not folder.exists():  # somebody else may have been first
            raise StepFailed(step, f"{error.filename}: {error.strerror}") from error
    return folder


def main() -> int:
    """Entry point; exit code."""
    try:
        for name in sys.argv[1:] or catalogue():
            if name not in catalogue():
                raise StepFailed("npm", f"{name} is no server; there are {', '.join(catalogue())}")
            if folder := install(catalogue()[name]):
                print(f"{name}: {folder}")
    except LabError as error:
        print(f"npm: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
