"""`python -m priolab.netem`: runs the link in a container between the client's network and the front's network.

Environment variables configure the link:

    NEAR, FAR                   the container's own addresses in the client's network and in the front's network
    NEAR_GATEWAY, FAR_GATEWAY   the gateways of the client and of the front; the link adds these addresses to itself
    RATE, DELAY, QUEUE, ...     the knobs of the Link (netem/link_options.py)
    SHAPER                      netem, ferry, or auto: netem if the kernel has it, else ferry
    SEED                        the seed of the ferry's random numbers
    JOURNAL                     the file for samples of the link's queues
    SAMPLE                      the sampling interval, such as 10ms; or none

The times of rate steps count from the start of the measured load. The program gets this start in a message
(netem/control.py). The steps are recorded in a file beside the journal. In the container, the sysctl ip_forward must be
1 and rp_filter 0. SIGTERM ends the program with exit code 0.
"""

import os
import select
import socket
import sys
import time
from pathlib import Path

from priolab.netem import control
from priolab.netem.changes import RateChanges
from priolab.netem.control import BEGIN
from priolab.netem.ferry.process import Order
from priolab.netem.ferry.process import run as run_ferry
from priolab.netem.ferry.ring import NotSetUp
from priolab.netem.link_options import link_from
from priolab.netem.queue_journal import Qdiscs, QueueJournal
from priolab.netem.rate_limiter import kernel_changes
from priolab.netem.router import FERRY, Router, State
from priolab.netem.sampling import AUTO, intervals, parse_sample
from priolab.netem.shaper import stages
from priolab.netem.shaper_kind import Shaper

_ADDRESSES = ("NEAR", "FAR", "NEAR_GATEWAY", "FAR_GATEWAY")


def main() -> int:
    """Makes the link and runs it until SIGTERM; returns the exit code.

    The exit code is 0 after SIGTERM, 1 if the link cannot be made, and 2 if an environment variable is missing or has a
    value that is not allowed.
    """
    words = os.environ
    try:
        link = link_from(words)
        asked = None if words.get("SHAPER", "auto") == "auto" else Shaper(words["SHAPER"])
        sampling = intervals(parse_sample(words.get("SAMPLE", AUTO)), link)
        interval_ns = None if sampling is None else sampling.measured_ns
        journal = Path(words["JOURNAL"])
        order = Order(link=link, seed=int(words["SEED"]), journal=journal, interval_ns=interval_ns, socket=FERRY)
        near, far, near_gateway, far_gateway = (words[name] for name in _ADDRESSES)
    except KeyError as error:
        print(f"link: the environment variable {error.args[0]} is not set", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"link: {error}", file=sys.stderr)
        return 2
    try:
        router = Router.between(near=near, far=far)
        router.take(near_gateway, far_gateway)
        state = router.shape(link, asked)
        if state.shaper is Shaper.FERRY:
            state.write()
            run_ferry(order)
        else:
            with (
                QueueJournal(stages(link, state.to_client, state.to_front), Qdiscs(), journal, interval_ns) as queues,
                kernel_changes(link, state.to_client, journal) as changes,
            ):
                _until_told(state, queues, changes)
    except (OSError, RuntimeError, ValueError, NotSetUp) as error:
        print(f"link: {error}", file=sys.stderr)
        return 1
    return 0


def _until_told(state: State, queues: QueueJournal, changes: RateChanges) -> None:
    with control.signals() as end, control.bound(socket.SOCK_DGRAM, BEGIN) as begin:
        state.write()
        while True:
            now_ns = time.monotonic_ns()
            wakes_ns = [wake_ns for look in (queues.look, changes.look) if (wake_ns := look(now_ns)) is not None]
            patience_s = max(0, min(wakes_ns) - time.monotonic_ns()) / 10**9 if wakes_ns else None
            readable = select.select([end, begin], [], [], patience_s)[0]
            if begin in readable:
                changes.begin(int(control.told(begin)))
            if end in readable:
                return


if __name__ == "__main__":
    sys.exit(main())
