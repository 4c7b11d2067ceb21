"""The user's own server folder and program in the front's container, read-only.

A dynamically linked program brings its libraries and its loader from this machine, because the image may have other
versions of them. In the container a small script starts the loader with these libraries; only the program uses them.
"""

import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

from priolab.common.errors import TimedOut, Unavailable
from priolab.common.process import processes
from priolab.common.process.search_path import program_environment
from priolab.common.running import TookTooLong, finished
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.installed import program_of
from priolab.experiments.setup.programs import remedy_for
from priolab.experiments.setup.user_program import OwnProgram, inspected, version_in
from priolab.proxy.server import Server, catalogue

INSIDE = Path("/priolab-own")
"""The folder of the user's files in the front's container."""

FOLDER = INSIDE / "folder"
"""The user's server folder in the front's container."""

_PROGRAM = INSIDE / "program"
_PATIENCE_S = 60.0
_ELSEWHERE = "use FABRIC=virtual or netns"


def image_server(server: Server) -> str:
    """Returns the server of the catalogue in whose image the server runs.

    This is the server itself or, for a user's folder, one with the same packages; if there is none, nginx.
    """
    if not server.own:
        return server.folder.name
    same = [known.name for known in catalogue().values() if known.in_images and known.packages == server.packages]
    return same[0] if same else next(name for name, known in catalogue().items() if known.base)


def mounted_program(scenario: Scenario) -> OwnProgram | None:
    """Returns the program of this machine that the front's container gets; None if the image's own program runs.

    Raises Unavailable.
    """
    if scenario.program is not None:
        return inspected(scenario.program, f"PROGRAM={scenario.program}")
    server = scenario.front
    if not server.own or catalogue()[image_server(server)].packages == server.packages:
        return None
    what = f"SERVER={scenario.server}"
    program = program_of(server)
    if program is None:
        raise Unavailable(what, f"{server.program} is not installed", remedy_for(server))
    return inspected(program, what)


def program_inside(own: OwnProgram) -> str:
    """Returns the path in the front's container that starts the program."""
    return str(_PROGRAM / own.path.name)


def copy_files(scenario: Scenario, home: Path) -> list[dict[str, Any]]:
    """Copies the user's files into a folder that containers may see; returns the volumes, in compose's long syntax.

    home: the folder for the copies, which the caller has made. Raises Unavailable.
    """
    volumes = []
    server = scenario.front
    if server.own:
        shutil.copytree(server.folder, home / "folder")
        _open_to_all(home / "folder")
        volumes.append({"type": "bind", "source": str(home / "folder"), "target": str(FOLDER), "read_only": True})
    if own := mounted_program(scenario):
        _copy_program(own, home / "program")
        volumes.append({"type": "bind", "source": str(home / "program"), "target": str(_PROGRAM), "read_only": True})
    return volumes


def _copy_program(own: OwnProgram, folder: Path) -> None:
    folder.mkdir()
    if own.loader is None:
        shutil.copyfile(own.path, folder / own.path.name)
        _open_to_all(folder, executable=True)
        return
    real, libraries = folder / "real", folder / "lib"
    for each in (real, libraries):
        each.mkdir()
    shutil.copyfile(own.path, real / own.path.name)
    shutil.copyfile(own.loader, real / own.loader.name)
    for library in own.libraries:
        shutil.copyfile(library, libraries / library.name)
    start = [
        str(_PROGRAM / "real" / own.loader.name),
        "--library-path",
        str(_PROGRAM / "lib"),
        str(_PROGRAM / "real" / own.path.name),
    ]
    (folder / own.path.name).write_text(f'#!/bin/sh\nexec {shlex.join(start)} "$@"\n')
    _open_to_all(folder, executable=True)


def _open_to_all(folder: Path, *, executable: bool = False) -> None:
    """Lets every user read the folder, because a container's program may run as another user than the owner."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
        elif path.is_file() and not path.is_symlink():
            path.chmod(0o755 if executable or os.access(path, os.X_OK) else 0o644)


def version_in_image(scenario: Scenario, image: str) -> str:
    """Returns the version that the mounted program prints in a container of the image. Raises Unavailable.

    So a program that cannot run in the container is found before the runs.
    """
    server, own = scenario.front, mounted_program(scenario)
    assert own is not None
    knob = f"SERVER={scenario.server}" if scenario.program is None else f"PROGRAM={scenario.program}"
    what = f"{knob} with FABRIC=compose"
    asked = server.arguments(server.version, {"program": program_inside(own), "folder": str(FOLDER)})
    with tempfile.TemporaryDirectory(prefix="own-") as home:
        Path(home).chmod(0o755)
        volumes = copy_files(scenario, Path(home))
        mounts = [f"--volume={each['source']}:{each['target']}:ro" for each in volumes]
        command = ["docker", "run", "--rm", "--network", "none", "--cap-drop", "ALL", *mounts]
        command += ["--entrypoint", asked[0], image, *asked[1:]]
        try:
            done = finished(command, _PATIENCE_S, environment=program_environment())
        except TookTooLong as error:
            raise TimedOut(what, " ".join(asked), _PATIENCE_S, processes.CALMER) from error
    try:
        return version_in(done, asked, what)
    except Unavailable as error:
        reason = f"in the front's container {error.reason}"
        instead = "name the program that the script starts" if own.loader is None else "link the program statically"
        raise Unavailable(what, reason, f"{_ELSEWHERE}, or {instead}") from error
