"""The origin as a process: Node, told everything by environment variables, asked over HTTP only."""

import http.client
import time
from pathlib import Path

from experiments.errors import StepFailed
from experiments.processes import Process

PROGRAM = Path(__file__).resolve().parent.parent / "backend" / "origin.mjs"
# V8 hands hot functions to a second thread for compilation. In a guest whose clock stands still while it works that
# thread is never given the processor, and the first stays in the interpreter: compile on the main thread instead.
ONE_THREAD = "--single-threaded"
_READY_S = 30.0
_RETRY_S = 0.05


def wait_for_origin(origin: Process, address: str, port: int) -> None:
    """Return when it answers a request; to be called where it can be reached. Raises StepFailed."""
    end = time.monotonic() + _READY_S
    while True:
        origin.check_alive()
        connection = http.client.HTTPConnection(address, port, timeout=2.0)
        try:
            connection.request("GET", "/ready")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
            reason = "it does not answer 200"
        except OSError as error:
            reason = str(error)
        finally:
            connection.close()
        if time.monotonic() > end:
            raise StepFailed("the origin", f"not ready after {_READY_S:g} s: {reason}", origin.log)
        time.sleep(_RETRY_S)
