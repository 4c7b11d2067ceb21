"""The link's packet counters by direction, whatever shaper it is made of.

`python -m netem.counters [SECONDS]` prints them in a place that `python -m netem` made into a link. If the link is not
there yet, it retries for that many seconds.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netem import router, tc
from netem.ferry.process import ask
from netem.shaper import Shaper


def read(
    shaper: Shaper, *, devices: Mapping[str, Sequence[str]], ferry: Path, run: Callable[[Sequence[str]], str]
) -> dict[str, Any]:
    """Reads the counters by direction: with netem tc's own JSON of the devices' qdiscs, with the ferry its answer.

    For the answer see `netem.ferry.process.ask`. run: runs a command in the link's place and returns its output.
    Raises OSError if the ferry does not answer.
    """
    if shaper is Shaper.FERRY:
        return dict(ask(ferry))
    found = json.loads(run(tc.COUNTERS))
    return {
        direction: [qdisc for name in names for qdisc in found if qdisc["dev"] == name]
        for direction, names in devices.items()
    }


def _read_here() -> dict[str, Any]:
    state = router.State.read()
    found = read(state.shaper, devices=state.devices, ferry=router.FERRY, run=router.run)
    told = {
        "shaper": state.shaper,
        "instead_of_netem": state.instead_of_netem,
        "commands": state.commands,
        "to_front": state.to_front,
    }
    return {**told, "counters": found}


def main() -> int:
    """Returns the exit code: 0, or 1 if the place is not a link."""
    end = time.monotonic() + (float(sys.argv[1]) if len(sys.argv) > 1 else 0)
    while True:
        try:
            print(json.dumps(_read_here()))
        except (OSError, RuntimeError) as error:
            if time.monotonic() > end:
                print(f"link: {error}", file=sys.stderr)
                return 1
            time.sleep(0.05)
        else:
            return 0


if __name__ == "__main__":
    sys.exit(main())
