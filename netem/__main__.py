"""`python -m netem`: runs the link in a place that is attached to both networks. Environment variables configure it.

    NEAR, FAR                   this place's addresses toward the client and toward the front
    NEAR_GATEWAY, FAR_GATEWAY   the gateways of the client and the front; this place takes these addresses
    RATE RATE_STEPS DELAY DELAY_UP QUEUE LOSS JITTER    the Link (netem/words.py)
    SHAPER                      netem, ferry, or auto: netem if the kernel has it, else ferry
    SEED                        the seed of the ferry's random numbers
    JOURNAL                     the file for samples of the link's queues
    SAMPLE                      the sampling interval, such as 10ms; or none

The times of rate steps count from the start of the measured load, of which a message informs the program
(netem/control.py). The steps are recorded in a file beside the journal. The place must have the sysctls forwarding on
and rp_filter off. SIGTERM ends the program with exit code 0.
"""

import os
import select
import socket
import sys
import time
from pathlib import Path

from netem import control
from netem.changes import RateChanges
from netem.control import BEGIN
from netem.ferry.process import Order
from netem.ferry.process import run as run_ferry
from netem.ferry.ring import NotSetUp
from netem.queue_journal import Qdiscs, QueueJournal
from netem.router import FERRY, Router, State
from netem.shaper import Shaper, stages
from netem.stepped import kernel_changes
from netem.words import SAMPLE_DEFAULT, link_from, parse_sample_ns

_ADDRESSES = ("NEAR", "FAR", "NEAR_GATEWAY", "FAR_GATEWAY")


def main() -> int:
    """Returns the exit code: 0 after SIGTERM, 1 if the link cannot be made, 2 for a bad environment variable."""
    words = os.environ
    try:
        link = link_from(words)
        asked = None if words.get("SHAPER", "auto") == "auto" else Shaper(words["SHAPER"])
        interval_ns = parse_sample_ns(words.get("SAMPLE", SAMPLE_DEFAULT))
        journal = Path(words["JOURNAL"])
        order = Order(link=link, seed=int(words["SEED"]), journal=journal, interval_ns=interval_ns, socket=FERRY)
        near, far, near_gateway, far_gateway = (words[name] for name in _ADDRESSES)
    except KeyError as error:
        print(f"link: {error.args[0]} is not set", file=sys.stderr)
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
                QueueJournal(stages(link, state.to_client, state.to_front), [Qdiscs()], journal, interval_ns) as queues,
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
                changes.begin(control.told_begin(begin))
            if end in readable:
                return


if __name__ == "__main__":
    sys.exit(main())
