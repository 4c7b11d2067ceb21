"""Looks at a front from beside it, in its PID and network namespaces.

    python -m proxy.gauge look PEER JOURNAL       sample the connection from PEER into JOURNAL, until told to end
    python -m proxy.gauge congestion NAME         set TCP_CONGESTION on the front's listening sockets

The front is the first process there, or a descendant of it.
"""

import sys
import time
from pathlib import Path

from proxy.live_socket import LiveSocket, choose_congestion_control

ENDED = "has lost the process that served the client"
"""What it says when there is nothing left to look at."""

_FRONT_PID = 1
_INTERVAL_S = 0.1


def _look(peer: str, journal: Path) -> None:
    live = LiveSocket(_FRONT_PID, peer)
    with journal.open("w", buffering=1) as lines:
        while True:
            if (sample := live.sample()) is not None:
                lines.write(sample.to_json() + "\n")
            elif live.holder_ended:
                print(f"the front {ENDED}", file=sys.stderr)
                sys.exit(1)
            time.sleep(_INTERVAL_S)


def main() -> int:
    """Exit code 1 if the system refuses."""
    role, *words = sys.argv[1:]
    try:
        if role == "look":
            _look(words[0], Path(words[1]))
        else:
            choose_congestion_control(_FRONT_PID, words[0])
    except OSError as error:
        print(f"gauge: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
