"""Writes wire/segments.jsonl: when each segment of the connection left the front, and when it arrived at the client.

Rules:
1. The raw captures are read before the TLS keys are put into them (capture.py). Times in them are of CLOCK_REALTIME,
   those in segments.jsonl of CLOCK_MONOTONIC. wire/clock.json has the difference.
2. Only packets from the front to the client, of the connection with the page loads, and with bytes of the TCP stream,
   have a line. Lines of one end are in order of time, the client's behind the front's.
"""

from collections.abc import Iterator
from typing import Literal

import dpkt

from priolab.common import tcp_streams
from priolab.common.errors import StepFailed
from priolab.common.formats.files import read_json
from priolab.common.formats.segments import Segment
from priolab.experiments.hosts.experiment_hosts import FRONT_PORT
from priolab.experiments.results.run_folder import RunFolder

_STEP = "the segments in the captures"
_ENDS: tuple[Literal["server", "client"], ...] = ("server", "client")


def finish(folder: RunFolder) -> None:
    """Writes wire/segments.jsonl. Raises StepFailed if a capture, or the client's port, cannot be read."""
    try:
        ahead_ns = read_json(folder.wire / "clock.json")["realtime_minus_monotonic_ns"]["start"]
        port = read_json(folder.client / "socket.json")["port"]
        found = [segment for end in _ENDS for segment in _segments(folder, end, port, ahead_ns)]
    except OSError as error:
        raise StepFailed(_STEP, f"{error.filename}: {error.strerror}") from error
    except (ValueError, KeyError, dpkt.Error) as error:
        raise StepFailed(_STEP, f"they cannot be read: {error}") from error
    (folder.wire / "segments.jsonl").write_text("".join(f"{each.to_json()}\n" for each in found))


def _segments(folder: RunFolder, end: Literal["server", "client"], port: int, ahead_ns: int) -> Iterator[Segment]:
    with (folder.wire / f"{end}.pcap").open("rb") as capture:
        found = tcp_streams.captured(capture, FRONT_PORT)
    if port in found:
        for each in found[port][1].segments:
            yield Segment(
                end=end,
                t_ns=each.t_ns - ahead_ns,
                position_bytes=each.position_bytes,
                size_bytes=len(each.payload),
            )
