"""Finds what a server's HTTP comes from: libnghttp2 in a root, Go in a Go program, and quic-go for HTTP/3."""

import re
from pathlib import Path

from priolab.common.formats.plan import Protocol
from priolab.experiments.setup.installed import program_of, root_of
from priolab.proxy.server import Server

_LIBRARY = "libnghttp2-14"
_FOR_OTHERS = ("trafficserver",)
"""Servers whose packages need this library for something else: Traffic Server's for curl."""
_GO = re.compile(rb"\xff Go buildinf:.{18}(.)(go[0-9][ -~]*)", re.DOTALL)
"""The block that Go writes into each program (debug/buildinfo, from Go 1.18 on): 32 bytes of head, then the version's
length and the version. Other bytes follow."""
_QUIC = re.compile(rb"\ndep\tgithub.com/quic-go/quic-go\tv([0-9.]+)\t")
"""The line about quic-go in the list of modules that Go writes into a program; Debian's programs have no such list."""


def http2_library(server: Server) -> str:
    """Returns library or compiler with the version; empty if the server's HTTP is its own, or nothing is known.

    The library is known only of a server in a root, whose record names its packages, and of programs made with Go.
    Raises Unavailable.
    """
    root = root_of(server)
    if (
        root
        and server.folder.name not in _FOR_OTHERS
        and (found := next((each for each in root.packages if each.name == _LIBRARY), None))
    ):
        return f"libnghttp2 {found.version}"
    program = program_of(server)
    if program is None:
        return ""
    content = Path(f"{root.path}{program}" if root else program).read_bytes()
    quic = _QUIC.search(content) if server.protocol == Protocol.HTTP3 else None
    return f"quic-go {quic[1].decode()}, {_go_of(content)}" if quic else _go_of(content)


def _go_of(program: bytes) -> str:
    found = _GO.search(program)
    return found[2][: found[1][0]].decode().replace("go", "Go ", 1) if found else ""
