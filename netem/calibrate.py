"""The two ends of a calibration as two programs, for places such as containers that a single process cannot enter.

    python -m priolab.netem.calibrate far ADDRESS PORT      in the front's place: answers until the near end is done
    python -m priolab.netem.calibrate near FAR PORT ORDER.json  in the client's place: prints the Calibration as JSON

ADDRESS, PORT: where the far end listens. FAR: this address, for the near end. ORDER.json holds the Link as `link` and
the Tolerance as `tolerance`.
"""

import json
import socket
import sys
from dataclasses import asdict
from pathlib import Path

from priolab.netem.calibration import Tolerance
from priolab.netem.link import Link
from priolab.netem.link_probe import NearEnd, respond


def main() -> int:
    """Runs the end that the command line names; returns the exit code, 0."""
    role, address, port, *rest = sys.argv[1:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        if role == "far":
            end.bind((address, int(port)))
            respond(end)
            return 0
        order = json.loads(Path(rest[0]).read_text())
        with NearEnd(end, (address, int(port)), Link.from_document(order["link"])) as near:
            measured, attempts = near.until_within(Tolerance(**order["tolerance"]))
        print(json.dumps({"measured": asdict(measured), "attempts": attempts}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
