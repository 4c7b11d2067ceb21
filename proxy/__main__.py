"""`python -m priolab.proxy [COMMAND.json]`: executes a front in this process.

With a file, the program executes the command in the file, a JSON list of words. Without a file, it starts a front that
people can visit with a browser. Environment variables configure this front:

    SERVER            the server's name in the catalogue
    NATIVE            on or off: the server's own limit on the bytes that it writes ahead of the network
    BUFFERING         on or off: whether the front takes whole responses from the origin
    RECORD            the largest TLS record in bytes, or stock for the server's default
    ADDRESS           the address to listen on; the port is 443
    ORIGIN            the origin, HOST:PORT
    SIZE              the bytes of the largest response

The front's files, and the certificate authority to trust (ca.pem), are in /run/front.
"""

import json
import os
import sys
from pathlib import Path

from priolab.proxy.certificates import issue
from priolab.proxy.front import Front, FrontSettings
from priolab.proxy.readiness import HOME, NAMES
from priolab.proxy.server import server_of


def _front() -> Front:
    words = os.environ
    server = server_of(words["SERVER"])
    if server.protocol != "h2":
        sys.exit(
            f"front: SERVER={server.name} is not allowed; allowed: servers that speak h2;"
            f" this one speaks {server.protocol}"
        )
    record = words["RECORD"]
    if record != "stock" and "bytes" not in server.record.levels:
        sys.exit(f"front: RECORD={record} is not allowed; allowed with SERVER={server.name}: stock")
    state = HOME / "state"
    state.mkdir()
    return Front(
        FrontSettings(
            server=server,
            native=words["NATIVE"],
            buffering=words["BUFFERING"],
            program=server.program,
            server_name=NAMES[0],
            address=words["ADDRESS"],
            port=443,
            origin=words["ORIGIN"],
            size_bytes=int(words["SIZE"]),
            certificates=issue(HOME, *NAMES, words["ADDRESS"]),
            config=HOME / server.config_name,
            state=state,
            as_root=os.geteuid() == 0,
            log=HOME / "error.log",
            output=HOME / "output.log",
            record_bytes=None if record == "stock" else int(record),
        )
    )


def main() -> None:
    """Executes the server in this process; does not return."""
    if len(sys.argv) > 1:
        command = tuple(json.loads(Path(sys.argv[1]).read_text()))
    else:
        try:
            front = _front()
        except KeyError as error:
            sys.exit(f"front: {error} is a missing environment variable, or a value that is not allowed")
        front.configure()
        command = front.command
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
