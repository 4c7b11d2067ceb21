"""A tap: tcpdump beside one end of the connection, recording the packets of the front's port as they pass.

Rules:
1. It listens before the client starts, and has everything at its end: a missed packet makes the run invalid.
2. Packets are kept from first to last byte, and stamped by the kernel in nanoseconds of CLOCK_REALTIME.
3. The kernel hands packets over in blocks, the last one up to `LAST_BLOCK_S` late: a tap stays that long.
4. Its output is kept only if something went wrong.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from experiments.errors import InvalidRun, StepFailed
from experiments.host.processes import Process, tail, wait_until
from experiments.testbed.places import FRONT_PORT

LAST_BLOCK_S = 1.0
ENDS: Mapping[str, str] = {"client": "client", "front": "server"}
"""The place beside each tap, and the name of the tap's files."""

_BUFFER_KIB = 16 * 1024
_READY_S = 20.0
_END_S = 10.0
_LISTENS = "listening on"
_MISSED = re.compile(r"(\d+) packets? dropped by kernel")
_WHOLE_LOG = 100


def command(program: str, device: str, file: Path) -> list[str]:
    """The argument list that writes the packets of the device into a pcap file.

    tcpdump as root becomes another user, who could not write there, unless it is told to stay. Under AppArmor, the
    file's name must end like that of a capture.
    """
    how = ["-p", "-U", "-B", str(_BUFFER_KIB), "--time-stamp-precision=nano", "-Z", "root"]
    return [program, *how, "-i", device, "-w", str(file), f"tcp port {FRONT_PORT}"]


@contextmanager
def listening(tap: Process, end: Callable[[], object]) -> Iterator[Process]:
    """Waits until the tap listens; ends it by `end`. Raises StepFailed, and InvalidRun if it has missed packets."""
    with tap:
        wait_until(lambda: _LISTENS in tail(tap.log, _WHOLE_LOG), _READY_S, tap.check_alive, tap.name)
        yield tap
        tap.check_alive()
        end()
        tap.wait(_END_S)
    said = _MISSED.search(tail(tap.log, _WHOLE_LOG))
    if said is None:
        raise StepFailed(tap.name, "it ended without a word about what it missed", tap.log)
    if missed := int(said[1]):
        raise InvalidRun(f"packets missed by {tap.name}", 0, missed)
    tap.log.unlink()
