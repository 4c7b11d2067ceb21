"""`python -m tests.support.ordinary STAGE COMMAND...`: runs a command as an ordinary user; must be started by root.

The user may not be able to enter a folder that the lab needs, such as an interpreter's folder below /root. So the
command gets a mount namespace in which an empty folder, which the user may enter, is mounted over the closed folder.
The needed folders are mounted in the empty folder. STAGE: an empty folder.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NOBODY = 65534
_ROOT = Path(__file__).resolve().parent.parent.parent


def command(stage: Path, *words: str) -> list[str]:
    """Returns the argument list that runs the command `words` as an ordinary user."""
    return ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", __name__, str(stage), *words]


def _closed(path: Path) -> Path | None:
    """Returns the outermost folder, of `path` and its parents, that other users may not enter; None without one."""
    on_the_way = reversed([path, *path.parents])
    return next((folder for folder in on_the_way if not folder.stat().st_mode & 0o001), None)


def _on_the_way_to_python() -> Iterator[Path]:
    """Yields the folders of the symlinks that lead from the environment's interpreter to the real one."""
    link = Path(sys.executable)
    while link.is_symlink():
        link = link.parent / link.readlink()
        yield link.parent


def _open_up(stage: Path) -> None:
    folders = [Path(folder).resolve() for folder in (sys.base_prefix, sys.prefix, _ROOT)]
    needed = dict.fromkeys([*folders, *_on_the_way_to_python()])
    hidden = {folder: closed for folder in needed if (closed := _closed(folder)) is not None}
    held = {folder: stage / str(number) for number, folder in enumerate(hidden)}
    _mount("-t", "tmpfs", "none", str(stage))
    for folder, place in held.items():
        place.mkdir()
        _mount("--rbind", str(folder), str(place))
    for closed in set(hidden.values()):
        _mount("-t", "tmpfs", "-o", "mode=755", "none", str(closed))
    for folder, place in held.items():
        folder.mkdir(parents=True, exist_ok=True)
        _mount("--rbind", str(place), str(folder))


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _check_namespace() -> None:
    """Exits if this process shares the mount namespace of its parent: the mounts would change the whole machine."""
    own, parents = (Path(f"/proc/{process}/ns/mnt").readlink() for process in ("self", os.getppid()))
    if own == parents:
        sys.exit("ordinary: not in a mount namespace of its own; start it as `command` says")


if __name__ == "__main__":
    _check_namespace()
    _open_up(Path(sys.argv[1]))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.execvp(sys.argv[2], sys.argv[2:])
