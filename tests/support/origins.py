"""Origins as single processes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priolab.common.process.search_path import find

_ORIGIN = Path(__file__).parents[2] / "backend" / "origin.mjs"


@contextmanager
def running_origin(log: Path, **settings: str) -> Iterator[int]:
    """Start an origin on a port that the kernel chooses, and return the port."""
    environment = os.environ | {"PORT": "0", "ACCESS_LOG": str(log), **settings}
    node = find("node")
    assert node is not None
    with subprocess.Popen([node, str(_ORIGIN)], env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        ready = process.stderr.readline()
        assert "listening on 127.0.0.1:" in ready, ready
        try:
            yield int(ready.rpartition(":")[2])
        finally:
            process.terminate()
