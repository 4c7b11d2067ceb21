"""Warms the guest's caches once, so that every run starts from the same state.

The kernel makes some secrets when they are first needed, and enlarges some tables when they are first full; both draw
random numbers, in the first run only. So a rehearsal makes places, a link with everything a link may have, a connection
and a datagram over it and to the origin.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from experiments.host.tuner_program import NO_TUNER
from experiments.scenario.scenario import ShaperAt
from experiments.testbed.namespaces.front_tuner import FrontTuner
from experiments.testbed.namespaces.namespaces import Namespaces
from netem.link import Link
from netem.shaper import Shaper

_LIBRARY = re.compile(r"(/\S+) \(0x")  # as ld.so(8) lists them
_LINK = Link(rate_bit_s=10**9, delay_ns=10**6, jitter_ns=10**5, delay_up_ns=10**6, loss=1e-4)


def keep_open(programs: Iterable[str]) -> None:
    """Opens programs, and the libraries they need, for as long as this process lives.

    A file of the host's that no process has open is forgotten, and read again for the next run: 46 MB of Node's.
    """
    for program in programs:
        listed = subprocess.run(
            [program], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True, check=False
        ).stdout
        for path in (program, *_LIBRARY.findall(listed)):
            os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def rehearse() -> None:
    """Makes places and uses them once. Leaves nothing. Raises StepFailed and OSError."""
    with (
        Namespaces(Shaper.NETEM, FrontTuner(NO_TUNER, "rehearsal")) as places,
        tempfile.TemporaryDirectory() as folder,
        places.start_link(_LINK, None, ShaperAt.LINK, seed=0, folder=Path(folder), interval_ns=None),
    ):
        places.exchange()
