"""`python -m proxy [COMMAND.json]`: become a front.

With a file, it executes the command in it, a list of words. Without, it starts a front that people can visit,
configured by environment variables:

    SERVER, NATIVE    the server, and on or off for its own mechanism
    BUFFERING         on or off: it takes whole responses from the origin
    RECORD            its largest TLS record in bytes, or stock
    ADDRESS, ORIGIN   the address it listens on, port 443; the origin, HOST:PORT
    SIZE              bytes of the largest response

Its files, and the certificate authority to trust (ca.pem), are in /run/front.
"""

import json
import os
import sys
from pathlib import Path

from proxy.certificates import issue
from proxy.front import Front, FrontSettings
from proxy.readiness import HOME, NAMES
from proxy.server import catalogue


def _front() -> Front:
    words = os.environ
    server = catalogue()[words["SERVER"]]
    if server.protocol != "h2":
        sys.exit(f"front: SERVER={server.name} speaks {server.protocol}, which does not run in containers")
    record = words["RECORD"]
    if record != "stock" and "bytes" not in server.record.levels:
        sys.exit(f"front: RECORD={record} is not possible with SERVER={server.name}")
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
            config=HOME / server.template.name,
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
            sys.exit(f"front: {error} is not set, or not one of its values")
        front.configure()
        command = front.command
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
