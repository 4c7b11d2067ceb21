"""The part of the fabric `virtual` that a guest needs. A guest imports each module anew, so this one imports few."""

from contextlib import AbstractContextManager

from experiments.results.order import Order
from experiments.results.run_folder import RunFolder
from experiments.testbed.places import Places, run_label
from netem import calibration
from netem.shaper_kind import Shaper

QUIC = "PRIOLAB_QUIC"
"""The environment variable of a guest in which a client uses QUIC."""


class InGuest:
    """Makes the places of a run in the guest in which this process runs."""

    tolerance = calibration.VIRTUAL

    def places(self, order: Order, folder: RunFolder) -> AbstractContextManager[Places]:
        """Returns places that are namespaces of the guest's kernel."""
        # Only the process of a run needs these modules. A guest loads them before its first run (rehearsal.py).
        from experiments.testbed.namespaces.front_tuner import FrontTuner
        from experiments.testbed.namespaces.namespaces import Namespaces

        tuner = FrontTuner(order.asked_tuner, run_label(folder))
        return Namespaces(Shaper.NETEM, tuner, via=order.scenario.via, forks_client=True)
