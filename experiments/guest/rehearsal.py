"""What a guest does once before its first run, so that the first finds what all others find.

The kernel makes some secrets when they are first needed, and some tables larger when they are first full; both take
random numbers, which whoever comes second does not miss. So: places, a link with everything a link may have, a
connection and a datagram over it and to the origin.
"""

import tempfile
from pathlib import Path

from experiments.places.front_tuner import FrontTuner
from experiments.places.namespaces import Namespaces
from experiments.tuners import NO_TUNER
from netem.link import Link
from netem.shaper import Shaper

_LINK = Link(rate_bit_s=10**9, delay_ns=10**6, jitter_ns=10**5, delay_up_ns=10**6, loss=1e-4)


def rehearse() -> None:
    """Leaves nothing. Raises StepFailed and OSError."""
    with (
        Namespaces(Shaper.NETEM, FrontTuner(NO_TUNER, "rehearsal")) as places,
        tempfile.TemporaryDirectory() as folder,
        places.start_link(_LINK, None, seed=0, folder=Path(folder), interval_ns=None),
    ):
        places.exchange()
