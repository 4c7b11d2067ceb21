"""Captures the packets at both ends of the connection, into files that Wireshark opens decrypted.

Rules:
1. During the run, tcpdump writes raw packets into wire/END.pcap. When the run has ended, the lab joins each raw file
   with the client's TLS keys into wire/END.pcapng, and removes the raw file. END is `client` or `server` (the front).
   A pcapng file is complete or absent. After a failed run the pcapng file holds the packets up to the failure.
2. Packets have timestamps of CLOCK_REALTIME, everything else of CLOCK_MONOTONIC. wire/clock.json has the difference of
   these clocks.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.formats.files import write_json
from priolab.common.process import processes
from priolab.common.process.processes import Process
from priolab.common.process.search_path import find
from priolab.experiments.hosts.experiment_hosts import CAPTURES, Hosts
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.setup.tools import Tools
from priolab.testbed import packet_capture

_EDITCAP = "editcap"
_PACKAGES = {"tcpdump": "tcpdump", _EDITCAP: "wireshark-common"}
_EDITCAP_S = 120.0
LAST_PACKETS_S = packet_capture.LAST_BLOCK_S + 0.5
"""The time for which a tap runs on after the loads, until tcpdump has the last packets."""

_CLOCK_READINGS = 5


def check(*, own_tcpdump: bool) -> None:
    """Checks that the programs for captures are installed. Raises Unavailable, which names all missing programs.

    own_tcpdump: True if tcpdump runs in containers that have it, so this machine needs none.
    """
    wanted = [_EDITCAP] if own_tcpdump else list(_PACKAGES)
    missing = [program for program in wanted if find(program) is None]
    if missing:
        packages = " ".join(_PACKAGES[program] for program in missing)
        verb = "is" if len(missing) == 1 else "are"
        raise Unavailable(
            "CAPTURE=yes", f"{' and '.join(missing)} {verb} not installed", f"run `apt-get install {packages}`"
        )


@contextmanager
def capturing(places: Hosts, tools: Tools, folder: RunFolder) -> Iterator[Sequence[Process]]:
    """Captures packets at client and front while the context is open. Yields the processes that capture.

    Raises StepFailed, and InvalidRun if a packet was missed.
    """
    at_start_ns = realtime_minus_monotonic_ns()
    try:
        with places.capturing(tools.programs["tcpdump"], folder.wire) as taps:
            yield taps
            time.sleep(LAST_PACKETS_S)
    finally:
        ahead_ns = {"start": at_start_ns, "end": realtime_minus_monotonic_ns()}
        write_json(folder.wire / "clock.json", {"realtime_minus_monotonic_ns": ahead_ns})


def finish(folder: RunFolder) -> None:
    """Makes the files wire/client.pcapng and wire/server.pcapng. Removes the raw files, also after a failure.

    Raises StepFailed for the first file that failed, after trying to make both.
    """
    failures = []
    for end in CAPTURES.values():
        try:
            _embed_keys(folder, end)
        except StepFailed as error:
            failures.append(error)
    if failures:
        raise failures[0]


def _embed_keys(folder: RunFolder, end: str) -> None:
    raw, made, keys = folder.wire / f"{end}.pcap", folder.wire / f"{end}.pcapng", folder.client / "keys.log"
    step = f"the capture wire/{made.name}"
    if not raw.exists():
        raise StepFailed(step, "no packets were recorded")
    secrets = ["--inject-secrets", f"tls,{keys}"] if keys.exists() else []
    try:
        command = [find(_EDITCAP) or _EDITCAP, *secrets, str(raw), str(made)]
        processes.run(command, step=step, timeout_s=_EDITCAP_S)
    except StepFailed:
        made.unlink(missing_ok=True)
        raise
    finally:
        raw.unlink()


def realtime_minus_monotonic_ns() -> int:
    """Returns CLOCK_REALTIME minus CLOCK_MONOTONIC. Reads both clocks several times, and uses the quickest reading.

    The error is at most half the time that the quickest reading took.
    """
    readings = []
    for _ in range(_CLOCK_READINGS):
        before_ns, realtime_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after_ns - before_ns, realtime_ns - (before_ns + after_ns) // 2))
    return min(readings)[1]
