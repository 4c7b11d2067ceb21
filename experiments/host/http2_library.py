"""Finds the library or the compiler that a server's HTTP/2 comes from: libnghttp2 in a root, or Go in a Go program."""

import re
from pathlib import Path

from experiments.host.programs import program_of, root_of
from proxy.server import Server

_LIBRARY = "libnghttp2-14"
_GO = re.compile(rb"\xff Go buildinf:.{18}(.)(go[0-9][ -~]*)", re.DOTALL)
"""The block that Go writes into each program (debug/buildinfo, from Go 1.18 on): 32 bytes of head, then the version's
length and the version. Other bytes follow."""


def http2_library(server: Server) -> str:
    """Returns library or compiler with the version; empty if the server's HTTP/2 is its own, or nothing is known.

    The library is known only of a server in a root, whose record names its packages. Raises Unavailable.
    """
    root = root_of(server)
    if root and (found := next((each for each in root.packages if each.name == _LIBRARY), None)):
        return f"libnghttp2 {found.version}"
    program = program_of(server)
    if program is None:
        return ""
    return _go_of(Path(f"{root.path}{program}" if root else program).read_bytes())


def _go_of(program: bytes) -> str:
    found = _GO.search(program)
    return found[2][: found[1][0]].decode().replace("go", "Go ", 1) if found else ""
