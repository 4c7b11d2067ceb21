"""Samples or tunes a front's sockets from inside the front's PID and network namespaces.

    python -m priolab.proxy.gauge look PEER PORT FOLDER INTERVAL_NS  samples the connection from PEER to PORT
    python -m priolab.proxy.gauge tune PORT FOLDER TARGET_US   sets TCP_NOTSENT_LOWAT of the connections to PORT
    python -m priolab.proxy.gauge congestion NAME              sets TCP_CONGESTION on the front's listening sockets

PEER: the client's address. PORT: the front's port. FOLDER: the folder for the recorded files. TARGET_US: the target of
the tuner's law (proxy/tuner/law.py).

`look` and `tune` run until a signal ends them. The front must be process 1 of the PID namespace, or a descendant of
process 1. With INTERVAL_NS 0 the socket is sampled only once (proxy/sampler.py, rule 4).
"""

import sys
import time
from pathlib import Path

from priolab.common.formats.decisions import JOURNAL, writing
from priolab.proxy.live_socket import choose_congestion_control
from priolab.proxy.sampler import FrontLost, Sampler
from priolab.proxy.tuner.law import Aim
from priolab.proxy.tuner.tuner import CannotTune
from priolab.proxy.tuner.userland import Userland

ENDED = "has lost the process that served the client"
"""The end of the error message when the process that served the client has ended."""

TUNING = "is tuning"
"""The line that `tune` prints when it begins to tune connections."""

_FRONT_PID = 1


def _look(peer: str, port: int, folder: Path, interval_ns: int) -> None:
    with Sampler(_FRONT_PID, peer, port, folder, interval_ns or None) as sampler:
        while True:
            next_ns = sampler.look(time.monotonic_ns())
            sampler.flush()  # a signal ends this process without an exit of the sampler
            time.sleep(max(0, next_ns - time.monotonic_ns()) / 10**9)


def _tune(port: int, folder: Path, target_us: int) -> None:
    with writing(folder / JOURNAL) as note, Userland(_FRONT_PID, Aim(target_us=target_us), note, port=port) as tuner:
        print(TUNING, flush=True)
        while True:
            next_ns = tuner.look(time.monotonic_ns())
            time.sleep(max(0, next_ns - time.monotonic_ns()) / 10**9)


def main() -> int:
    """Carries out the command line; returns the exit code: 0, or 1 with an error message."""
    role, *words = sys.argv[1:]
    try:
        if role == "look":
            peer, port, folder, interval_ns = words
            _look(peer, int(port), Path(folder), int(interval_ns))
        elif role == "tune":
            port, folder, target_us = words
            _tune(int(port), Path(folder), int(target_us))
        else:
            choose_congestion_control(_FRONT_PID, words[0])
    except FrontLost:
        print(f"the front {ENDED}", file=sys.stderr)
        return 1
    except (OSError, CannotTune) as error:
        print(f"gauge: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
