"""The origin as a process: Node, configured by environment variables, and reached over HTTP only."""

import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from priolab.common.errors import StepFailed
from priolab.common.home import ROOT
from priolab.common.process.processes import Process
from priolab.common.timeouts import READY_S

_BACKEND = ROOT / "backend"
PROGRAM = _BACKEND / "origin.mjs"
CLOCK = _BACKEND / "clock.mjs"
PAGE = _BACKEND / "page.mjs"
"""The module that makes the responses. It imports the origin's other modules."""
# V8 would compile hot functions on a second thread. In a guest, whose clock stands still while a program works, that
# thread never gets the processor. A pool of idle threads would also take time to make.
ONE_THREAD = ("--single-threaded", "--v8-pool-size=0", "--no-opt", "--no-sparkplug")
"""Node's arguments to use one thread and no compiler. V8's compilers read the clock, which advances a guest's clock."""

CLOCK_READER = (*ONE_THREAD, "-e", "process.exit(process.hrtime.bigint() > 0n ? 0 : 1)")
"""Node's arguments to read the clock as the origin does. The exit code is 0 on success."""

_RETRY_S = 0.05


@dataclass(frozen=True, kw_only=True)
class OriginSettings:
    """Settings of the origin. program: the path of Node. page: the file of the page. folder: where the logs go."""

    program: str
    page: Path
    folder: Path

    @property
    def command(self) -> tuple[str, ...]:
        """The argument list that starts the origin."""
        return (self.program, *ONE_THREAD, str(PROGRAM))

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that backend/origin.mjs reads, except for HOST and PORT."""
        return {
            "PAGE": str(self.page),
            "ACCESS_LOG": str(self.folder / "access.jsonl"),
        }


@dataclass(frozen=True, kw_only=True)
class RunningOrigin:
    """A running origin. clock: the origin's report of the clock that it reads (backend/clock.mjs)."""

    process: Process
    clock: Mapping[str, Any]

    @classmethod
    def answering(cls, process: Process, answer: str | bytes) -> Self:
        """Builds a RunningOrigin from the answer that the origin gave to a request for /ready. process: the origin."""
        return cls(process=process, clock=json.loads(answer)["clock"])


def wait_for_origin(origin: Process, address: str, port: int) -> RunningOrigin:
    """Waits until the origin answers with status 200. Raises StepFailed.

    The origin must be reachable from the calling thread's network namespace.
    """
    end = time.monotonic() + READY_S
    while True:
        origin.check_alive()
        connection = http.client.HTTPConnection(address, port, timeout=2.0)
        try:
            connection.request("GET", "/ready")
            response = connection.getresponse()
            if response.status == http.HTTPStatus.OK:
                return RunningOrigin.answering(origin, response.read())
            reason = "it does not answer with status 200"
        except OSError as error:
            reason = str(error)
        finally:
            connection.close()
        if time.monotonic() > end:
            raise StepFailed("the origin", f"not ready after {READY_S} s: {reason}", origin.log)
        time.sleep(_RETRY_S)
