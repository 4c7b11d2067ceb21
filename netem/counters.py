"""Reads the link's packet counters by direction, with either shaper.

`python -m priolab.netem.counters [SECONDS]` prints the counters in a place where `python -m priolab.netem` runs. If the
link does not exist yet, the program retries for that many seconds.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from priolab.netem import router, tc
from priolab.netem.shaper_kind import Shaper


def read(
    shaper: Shaper, *, devices: Mapping[str, Sequence[str]], ferry: Path, run: Callable[[Sequence[str]], str]
) -> dict[str, Any]:
    """Reads the counters by direction.

    With netem the counters are tc's JSON of the devices' qdiscs. With the ferry the counters are those that the ferry's
    process reports (netem/ferry/process.py). Raises OSError if the ferry does not answer.

    devices: the devices of each direction, for netem. ferry: the path of the ferry's socket. run: runs a command in the
    link's place and returns the command's output.
    """
    if shaper is Shaper.FERRY:
        from priolab.netem.ferry.process import ask  # a link of netem does not load the ferry

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
        "to_client": state.to_client,
        "to_front": state.to_front,
    }
    return {**told, "counters": found}


def main() -> int:
    """Prints the counters; returns the exit code: 0, or 1 if no link runs in this place."""
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
