"""The origin as a process: Node, told everything by environment variables, asked over HTTP only."""

import hashlib
import http.client
import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from experiments.errors import StepFailed
from experiments.host.cache import cache_folder
from experiments.host.home import ROOT
from experiments.host.processes import Process, program_environment

_BACKEND = ROOT / "backend"
PROGRAM = _BACKEND / "origin.mjs"
CLOCK = _BACKEND / "clock.mjs"
# V8 hands hot functions to a second thread for compilation. In a guest whose clock stands still while it works that
# thread is never given the processor, and the first stays in the interpreter: compile on the main thread instead.
# And a pool of threads that have nothing to do takes its time to make.
ONE_THREAD = ("--single-threaded", "--v8-pool-size=0")
CLOCK_READER = (*ONE_THREAD, "-e", "process.exit(process.hrtime.bigint() > 0n ? 0 : 1)")
"""What Node is to be told to read the clock as the origin does, and to end with 0 if it could."""

_JPEG = _BACKEND / "jpeg.mjs"
_READY_S = 30.0
_RETRY_S = 0.05


def image_file(size_bytes: int) -> Path:
    """Where an image of that size is kept, once made: the same program makes the same one."""
    made_by = hashlib.sha256(_JPEG.read_bytes()).hexdigest()[:12]
    return cache_folder() / f"image-{size_bytes}-{made_by}.jpg"


def make_image(node: str, size_bytes: int) -> None:
    """Have the image made, unless it is there: a quarter of a second that each run would need. Raises StepFailed."""
    file = image_file(size_bytes)
    if file.exists():
        return
    step = "making the image"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".image-", delete=False) as output:
            done = subprocess.run(
                [node, str(_JPEG), str(size_bytes)], stdout=output, check=False, env=program_environment()
            )
        temporary = Path(output.name)
        if done.returncode == 0:
            temporary.chmod(0o644)
            temporary.replace(file)
        else:
            temporary.unlink()
            raise StepFailed(step, f"node ended with {done.returncode}")
    except OSError as error:
        raise StepFailed(step, f"{file.parent}: {error.strerror}") from error


@dataclass(frozen=True, kw_only=True)
class RunningOrigin:
    """The origin at work. clock: what it says of the clock it reads (backend/clock.mjs)."""

    process: Process
    clock: Mapping[str, Any]

    @classmethod
    def answering(cls, process: Process, answer: str | bytes) -> Self:
        """answer: to a request for /ready."""
        return cls(process=process, clock=json.loads(answer)["clock"])


def wait_for_origin(origin: Process, address: str, port: int) -> RunningOrigin:
    """Return when it answers a request; to be called where it can be reached. Raises StepFailed."""
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
