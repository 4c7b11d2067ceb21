"""`python -m netem`: be the link, in a place that is attached to both networks; everything is told by environment.

    NEAR, FAR                   this place's addresses toward the client and toward the front
    NEAR_GATEWAY, FAR_GATEWAY   the addresses that the others' default routes lead to; this place takes them
    RATE DELAY DELAY_UP QUEUE LOSS JITTER    the Link (netem/words.py)
    SHAPER                      netem, ferry, or auto: netem where the kernel has it
    SEED, JOURNAL               of the ferry: of what is random, and the file of its queue's length

Forwarding and rp_filter are sysctls that the place must come with. Ends with 0 when told to by SIGTERM.
"""

import os
import signal
import sys
from pathlib import Path

from netem.ferry.process import Order
from netem.ferry.process import run as run_ferry
from netem.ferry.ring import NotSetUp
from netem.router import FERRY, Router, State
from netem.shaper import Shaper
from netem.words import link_from

_ADDRESSES = ("NEAR", "FAR", "NEAR_GATEWAY", "FAR_GATEWAY")


def main() -> int:
    """Exit code: 0 when told to end, 1 if it cannot be the link, 2 if it was told something that makes no sense."""
    words = os.environ
    try:
        link = link_from(words)
        asked = None if words.get("SHAPER", "auto") == "auto" else Shaper(words["SHAPER"])
        order = Order(link=link, seed=int(words["SEED"]), journal=Path(words["JOURNAL"]), socket=FERRY)
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
            _until_told(state)
    except (OSError, RuntimeError, ValueError, NotSetUp) as error:
        print(f"link: {error}", file=sys.stderr)
        return 1
    return 0


def _until_told(state: State) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    state.write()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    sys.exit(main())
