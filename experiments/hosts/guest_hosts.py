"""The part of the fabric `virtual` that a guest needs. A guest imports each module anew, so this one imports few."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path

from priolab.experiments.hosts.experiment_hosts import Hosts, run_label
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.setup.npm import modules_of
from priolab.netem import calibration
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.server import CATALOGUE, Server

QUIC = "PRIOLAB_QUIC"
"""The environment variable of a guest in which a client uses QUIC."""

_SEEN = Path("/run")
"""The folder in which fronts see the folders of their programs, for every checkout and every user alike."""


class InGuest:
    """Makes the places of a run in the guest in which this process runs."""

    tolerance = calibration.VIRTUAL

    def __init__(self, later_s: int = 0) -> None:
        """later_s: how much later the run begins than the first run of a guest."""
        self._later_s = later_s

    def places(self, spec: RunSpec, folder: RunFolder) -> AbstractContextManager[Hosts]:
        """Returns places that are namespaces of the guest's kernel."""
        # Only the process of a run needs these modules. A guest loads them before its first run (guest_task.py).
        from priolab.experiments.hosts.namespaces.experiment_topology import topology_of
        from priolab.experiments.hosts.namespaces.front_root import seen_at
        from priolab.experiments.hosts.namespaces.namespaces import Namespaces, tuner_of

        via = spec.scenario.via
        servers = (spec.scenario.front, *([via.front] if via else ()))
        moved = {each: seen_at(_SEEN / each.name, each) for each in sorted({*chain(*map(_folders, servers))})}
        tuner = tuner_of(spec, run_label(folder))
        # Go 1.19 makes random numbers of the monotonic clock. So the fronts see that of a guest's first run.
        return Namespaces(
            topology_of(spec.scenario), Shaper.NETEM, tuner, forks_client=True, moved=moved, back_s=self._later_s
        )


def _folders(server: Server) -> Iterator[Path]:
    """Yields the folders of this machine that have files of a server in the checkout or in the cache.

    Where a program's data lie in memory, and so what the program sends, depends on the lengths of these folders' paths.
    """
    if server.is_the_labs:
        yield CATALOGUE
    if modules := modules_of(server):
        yield modules
