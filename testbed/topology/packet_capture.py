"""A tap: a tcpdump at one end of the connection, which records the packets of a port.

Rules:
1. A tap listens before the client starts, and records every packet: a missed packet makes the run invalid.
2. Packets are recorded in full. Their timestamps are the kernel's, in nanoseconds of CLOCK_REALTIME.
3. The kernel hands packets to tcpdump in blocks, the last one up to a second late (LAST_BLOCK_S). So a tap runs at
   least a second longer than the loads.
4. The messages of tcpdump are kept only if the tap failed.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from priolab.common.errors import InvalidRun, StepFailed
from priolab.common.process.processes import Process, wait_until
from priolab.common.process.program_logs import tail
from priolab.common.timeouts import HELPER_S

LAST_BLOCK_S = 1.0
_BUFFER_KIB = 16 * 1024
_END_S = 10.0
_LISTENS = "listening on"
_MISSED = re.compile(r"(\d+) packets? dropped by kernel")
_WHOLE_LOG = 100


def command(program: str, device: str, file: Path | None, port: int | None, *, ipv6: bool = False) -> list[str]:
    """Returns the argument list of the tcpdump that writes the device's packets of a port into a pcap file.

    file: None for its standard output. port: a port of TCP; None for all packets of IPv4. ipv6: True for all packets of
    IPv6, too.

    `-Z root` keeps a tcpdump of root from becoming another user, who could not write the file. AppArmor requires
    that the file's name ends in .pcap or the like.
    """
    how = ["-p", "-U", "-B", str(_BUFFER_KIB), "--time-stamp-precision=nano", "-Z", "root"]
    which = ("ip or ip6" if ipv6 else "ip") if port is None else f"tcp port {port}"
    return [program, *how, "-i", device, "-w", str(file or "-"), which]


@contextmanager
def listening(tap: Process, end: Callable[[], object]) -> Iterator[Process]:
    """Waits until the tap listens, and yields the tap. When the context closes, ends the tap.

    end: makes the tap end. Raises StepFailed, and InvalidRun if the tap missed packets.
    """
    with tap:
        wait_until(lambda: _LISTENS in tail(tap.log, _WHOLE_LOG), HELPER_S, tap.check_alive, tap.name)
        yield tap
        tap.check_alive()
        end()
        tap.wait(_END_S)
    said = _MISSED.search(tail(tap.log, _WHOLE_LOG))
    if said is None:
        raise StepFailed(tap.name, "it ended without a report of how many packets it missed", tap.log)
    if missed := int(said[1]):
        raise InvalidRun(f"packets missed by {tap.name}", 0, missed)
    tap.log.unlink()
