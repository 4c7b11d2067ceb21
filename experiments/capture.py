"""A capture: what passes both ends of the connection, from the first packet to files that Wireshark opens decrypted.

Rules:
1. While the run lasts, raw packets go to wire/END.pcap; afterwards, outside, wire/END.pcapng is made of them and the
   client's TLS keys, and the raw files are removed.
2. Packets are stamped with CLOCK_REALTIME, everything else with CLOCK_MONOTONIC; wire/clock.json has the difference.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from experiments import processes
from experiments.errors import StepFailed, Unavailable
from experiments.order import Tools
from experiments.places.places import Places
from experiments.places.tap import ENDS, LAST_BLOCK_S
from experiments.processes import Process
from experiments.programs import find
from experiments.record import RunFolder, write_json

_EDITCAP = "editcap"
_EDITCAP_S = 120.0
_MARGIN_S = 0.5
_CLOCK_READINGS = 5


def check() -> None:
    """Raises Unavailable if keys cannot be embedded here."""
    if find(_EDITCAP) is None:
        raise Unavailable("CAPTURE=yes", f"{_EDITCAP} is not installed", "run `apt-get install wireshark-common`")


@contextmanager
def capturing(places: Places, tools: Tools, folder: RunFolder) -> Iterator[Sequence[Process]]:
    """Within: both taps listen. Raises StepFailed, and InvalidRun if packets were missed."""
    at_start_ns = _realtime_minus_monotonic_ns()
    with places.capturing(tools.programs["tcpdump"], folder.wire) as taps:
        yield taps
        time.sleep(LAST_BLOCK_S + _MARGIN_S)
    at_end_ns = _realtime_minus_monotonic_ns()
    write_json(folder.wire / "clock.json", {"realtime_minus_monotonic_ns": {"start": at_start_ns, "end": at_end_ns}})


def finish(folder: RunFolder) -> None:
    """Make the files that Wireshark opens; raw ones are gone afterwards in any case. Raises StepFailed."""
    raw = {end: folder.wire / f"{end}.pcap" for end in ENDS.values()}
    keys = folder.client / "keys.log"
    secrets = ["--inject-secrets", f"tls,{keys}"] if keys.exists() else []
    try:
        for end, file in raw.items():
            step = f"the capture wire/{end}.pcapng"
            if not file.exists():
                raise StepFailed(step, "no packets were written down")
            made = folder.wire / f"{end}.pcapng"
            try:
                processes.run(
                    [find(_EDITCAP) or _EDITCAP, *secrets, str(file), str(made)], step=step, timeout_s=_EDITCAP_S
                )
            except StepFailed:
                made.unlink(missing_ok=True)
                raise
    finally:
        for file in raw.values():
            file.unlink(missing_ok=True)


def _realtime_minus_monotonic_ns() -> int:
    """Of several readings the one that took least time: the true difference is within half of that."""
    readings = []
    for _ in range(_CLOCK_READINGS):
        before_ns, realtime_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after_ns - before_ns, realtime_ns - (before_ns + after_ns) // 2))
    return min(readings)[1]
