"""Says which servers this machine has. A list of names imports this module, so the module itself imports little."""

from pathlib import Path

from priolab.common.errors import Unavailable
from priolab.common.process.search_path import find
from priolab.experiments.setup.debian_tree import Root, find_root
from priolab.experiments.setup.npm import lacks_modules
from priolab.experiments.setup.wheels import program_in_cache
from priolab.proxy.server import SUITES, Server


def check_edition(server: Server) -> None:
    """Checks that the lab can run the server's edition. Raises Unavailable."""
    if server.edition is not None and server.edition not in SUITES and server.wheel is None:
        reason = f"the lab cannot run a server of the edition {server.edition} yet"
        raise Unavailable(f"SERVER={server.name}", reason, f"use SERVER={server.folder.name}")


def root_of(server: Server) -> Root | None:
    """Returns the root of a server whose edition is a Debian suite; None for other servers, and if none is made."""
    return find_root(server) if server.edition in SUITES else None


def program_of(server: Server) -> str | None:
    """Returns the path of the server's program; None if it is not installed. Raises Unavailable.

    The one place that finds a server's program, also that of an edition. The path is in the server's root if it has one
    (root_of).
    """
    check_edition(server)
    if server.edition in SUITES:
        root = root_of(server)
        return root.program if root else None
    if server.wheel is not None:
        program = program_in_cache(server)
        return str(program) if program else None
    return find(server.program)


def lack_of(server: Server, program: str | None = None) -> str | None:
    """Returns the first thing that the server needs and that is not installed; None if nothing is missing.

    program: the path of the program that runs as the server; None for the installed one. Raises Unavailable.
    """
    if program is None and program_of(server) is None:
        return server.name if server.edition else server.program
    if server.edition in SUITES:
        return None  # a root has all that the server needs
    if lack := next((file for file in server.files if not Path(file).exists()), None):
        return lack
    return "an npm package" if lacks_modules(server) else None
