"""Makes the base of a front's image from a root (experiments/setup/debian_tree.py), for SERVER=NAME@SUITE in
containers.

The base has the packages of the suite's server, and those with which the lab's programs in the front's image run. So
the server has the suite's libraries, and nothing is installed while the image is built.
"""

from collections.abc import Callable

from priolab.common.errors import StepFailed
from priolab.common.process.program_logs import last_lines
from priolab.common.running import ProgramFailed, piped
from priolab.experiments.hosts.containers import docker_engine
from priolab.experiments.setup.debian_tree import Root, find_root
from priolab.experiments.setup.root_making import obtain
from priolab.proxy.server import SUITES, Server

PACKAGES = ("coreutils", "dash", "iproute2", "libcap2-bin", "python3-cryptography", "python3-h2", "util-linux")
"""The packages that the front's image needs beside those of the server."""

_IMPORT_S = 600.0


def root_of_image(server: Server) -> Root | None:
    """Returns the root for the front's image; None if the server's edition is no suite, or the root is not made."""
    return find_root(server, PACKAGES) if server.edition in SUITES else None


def make_base(server: Server, tell: Callable[[str], None]) -> dict[str, str]:
    """Makes the base of the front's image; returns the variables with which compose.yaml builds on this base.

    tell: called with a line of progress before each step. Raises StepFailed and Unavailable.
    """
    root = obtain(server, tell, extra=PACKAGES)
    name = f"priolab-root:{root.name}"
    if not docker_engine.has_image(name):
        tell(f"{server.name}: making a base image")
        _load(root, name)
    return {"BASE": name, "PRIOLAB_READY": "yes", "PRIOLAB_ROOT": docker_engine.root_suffix(root)}


def _load(root: Root, name: str) -> None:
    packing = ["tar", "--create", "--numeric-owner", "--owner=0", "--group=0", f"--directory={root.path}", "."]
    step = f"making the image {name}"
    try:
        done = piped(packing, ["docker", "import", "-", name], _IMPORT_S)
    except ProgramFailed as error:
        raise StepFailed(step, str(error)) from None
    if done.code != 0:
        raise StepFailed(step, last_lines(done.errors) or "tar failed")
