"""The origin as a process: Node, configured by environment variables alone, and spoken to over HTTP only."""

import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from experiments.errors import StepFailed
from experiments.host.home import ROOT
from experiments.host.processes import Process

_BACKEND = ROOT / "backend"
PROGRAM = _BACKEND / "origin.mjs"
CLOCK = _BACKEND / "clock.mjs"
# V8 compiles hot functions on a second thread. In a guest whose clock stands still while it works, that thread never
# gets the processor, and the first stays in the interpreter: so compile on the main thread. A pool of idle threads
# would also take time to make.
ONE_THREAD = ("--single-threaded", "--v8-pool-size=0", "--no-opt", "--no-sparkplug")
"""Node's arguments for one thread that compiles nothing: its compilers read the clock, which moves a guest's."""

CLOCK_READER = (*ONE_THREAD, "-e", "process.exit(process.hrtime.bigint() > 0n ? 0 : 1)")
"""Node's arguments to read the clock as the origin does, and to end with 0 on success."""

_READY_S = 30.0
_RETRY_S = 0.05


@dataclass(frozen=True, kw_only=True)
class RunningOrigin:
    """The origin at work. clock: its report of the clock it reads (backend/clock.mjs)."""

    process: Process
    clock: Mapping[str, Any]

    @classmethod
    def answering(cls, process: Process, answer: str | bytes) -> Self:
        """Builds it from the answer to a request for /ready."""
        return cls(process=process, clock=json.loads(answer)["clock"])


def wait_for_origin(origin: Process, address: str, port: int) -> RunningOrigin:
    """Returns when the origin answers a request; call it where the origin can be reached. Raises StepFailed."""
    end = time.monotonic() + _READY_S
    while True:
        origin.check_alive()
        connection = http.client.HTTPConnection(address, port, timeout=2.0)
        try:
            connection.request("GET", "/ready")
            response = connection.getresponse()
            if response.status == http.HTTPStatus.OK:
                return RunningOrigin.answering(origin, response.read())
            reason = "it does not answer 200"
        except OSError as error:
            reason = str(error)
        finally:
            connection.close()
        if time.monotonic() > end:
            raise StepFailed("the origin", f"not ready after {_READY_S:g} s: {reason}", origin.log)
        time.sleep(_RETRY_S)
