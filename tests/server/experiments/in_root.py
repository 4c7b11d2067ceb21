"""`python -m tests.server.experiments.in_root ROOT SHARED LOG COMMAND...`: runs a command in a root, then looks around.

If a folder `readable` is beside SHARED, the command may read it.
Must be the first process of new namespaces. Prints as JSON: whether the command succeeded, the names in the folder that
was the command's file system, the number of mounts before, during and after, and whether the folder still exists.
"""

import json
import os
import sys
from functools import partial
from pathlib import Path

from priolab.common.process.processes import Process, ProcessSettings
from priolab.experiments.hosts.namespaces.front_root import mounted, started_in

_PATIENCE_S = 20.0


def _mounts() -> int:
    return len(Path("/proc/self/mounts").read_text().splitlines())


def main() -> None:
    """Run the command in the root, and print what was seen."""
    root, shared, log = map(Path, sys.argv[1:4])
    before = _mounts()
    readable = [folder for folder in [shared.with_name("readable")] if folder.exists()]
    with mounted(root, [shared], readable) as place:
        during, names = _mounts(), sorted(path.name for path in place.iterdir())
        own = ProcessSettings(environment=os.environ, root=place)
        with started_in(own, partial(Process, "the command"), sys.argv[4:], log) as process:
            process.wait(_PATIENCE_S)
            succeeded = process.succeeded
    seen = {"succeeded": succeeded, "names": names, "mounts": [before, during, _mounts()], "left": place.exists()}
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
