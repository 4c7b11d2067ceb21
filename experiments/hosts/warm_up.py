"""Warms the guest's caches once, so that every run starts from the same state.

The kernel makes some secrets when they are first needed, and enlarges some tables when they are first full. In both
cases the kernel draws random numbers. Without a rehearsal, the kernel would draw them in the first run only. So the
rehearsal makes places and a link with delay, jitter, loss and rate. Then the rehearsal makes a connection and sends a
datagram, over the link to the front and from the front to the origin.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from priolab.common.picture.picture import Picture
from priolab.experiments.hosts.namespaces.namespaces import Namespaces
from priolab.experiments.scenario.scenario import ShaperAt
from priolab.netem.link import Link
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.elf import read_elf

_LIBRARY = re.compile(r"(/\S+) \(0x")  # as ld.so(8) lists them
_LINK = Link(rate_bit_s=10**9, delay_ns=10**6, jitter_ns=10**5, delay_up_ns=10**6, loss=1e-4)


def keep_open(programs: Iterable[str], root: Path | None = None) -> None:
    """Opens programs and their libraries, and keeps them open while this process lives.

    root: the file tree in which the programs run; None for this machine's.

    The guest's kernel drops a file of the host from its cache when no process has the file open. The kernel would
    then read the file again for the next run. Node alone has 46 MB.
    """
    for program in programs:
        listed = ""
        file = Path(f"{root or ''}{program}")
        if (elf := read_elf(file)) and elf.loader:  # the variable stops no other program from starting
            listed = subprocess.run(
                [program],
                env={"LD_TRACE_LOADED_OBJECTS": "1"},
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=partial(os.chroot, root) if root else None,
            ).stdout
        for path in (program, *_LIBRARY.findall(listed)):
            os.open(f"{root or ''}{path}", os.O_RDONLY | os.O_CLOEXEC)


def rehearse() -> Mapping[str, Picture]:
    """Makes places, uses them once, and removes them. Raises StepFailed and OSError.

    Returns the pictures of the places as they were made, by their names.
    """
    with Namespaces(Shaper.NETEM, None) as places:
        references = places.references()
        _use(places)
    return references


def _use(places: Namespaces) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        places.start_link(_LINK, None, ShaperAt.LINK, seed=0, folder=Path(folder), interval_ns=None),
    ):
        places.exchange()
