"""Warms the guest's caches once, so that every run starts from the same state.

The kernel makes some secrets when they are first needed, and enlarges some tables when they are first full. In both
cases the kernel draws random numbers. Without a rehearsal, the kernel would draw them in the first run only. So the
rehearsal makes places and a link with delay, jitter, loss and rate. Then the rehearsal makes a connection and sends a
datagram, over the link to the front and from the front to the origin.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from priolab.common.snapshot.settings_snapshot import SettingsSnapshot
from priolab.experiments.hosts.namespaces.experiment_topology import four_hosts
from priolab.experiments.hosts.namespaces.namespaces import Namespaces
from priolab.netem.shaper_kind import Shaper
from priolab.testbed import WARM_UP


def rehearse() -> Mapping[str, SettingsSnapshot]:
    """Makes places, uses them once, and removes them. Raises StepFailed and OSError.

    Returns the pictures of the places as they were made, by their names.
    """
    with Namespaces(four_hosts(WARM_UP), Shaper.NETEM, None) as places:
        references = places.references()
        _use(places)
    return references


def _use(places: Namespaces) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        places.start_link(None, seed=0, folder=Path(folder), interval_ns=None),
    ):
        places.exchange()
