"""The runs of experiments as the tasks of a guest."""

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from priolab.common.snapshot.settings_snapshot import SettingsSnapshot
from priolab.experiments.hosts.guest_hosts import QUIC, InGuest
from priolab.experiments.hosts.namespaces.experiment_topology import four_hosts
from priolab.experiments.hosts.namespaces.namespaces import Namespaces, known_beforehand, refer_to
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.run.process import carry_out
from priolab.experiments.setup.tools import FRONT
from priolab.netem.shaper_kind import Shaper
from priolab.testbed import WARM_UP


class RunTask:
    """A run."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self.seed = spec.seed
        self.in_turns = not spec.scenario.client.is_browser
        self.programs: Collection[tuple[str | None, str]] = {
            (spec.root if name == FRONT else None, program) for name, program in spec.programs.items()
        }

    def prepare(self) -> None:
        """Finds out how Node reads the clock."""
        known_beforehand(self._spec.programs["node"])

    def carry_out(self, folder: Path, *, seeded: bool, known_as: Path, later_s: int) -> None:
        """Carries out the run."""
        carry_out(RunFolder(folder), InGuest(later_s), self._spec, seeded=seeded, known_as=known_as)


def begin() -> None:
    """Makes a key with `cryptography` and imports the client for QUIC, if the environment has QUIC.

    The OpenSSL of the QUIC client then allocates its random number generators, for the reason that guest_start.py gives
    for Python's own OpenSSL. The import would otherwise take each run a third of a second.
    """
    if QUIC not in os.environ:
        return
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    X25519PrivateKey.generate()
    import priolab.client.http3.session  # noqa: F401


def warm_up() -> Mapping[str, SettingsSnapshot]:
    """Makes the hosts of an experiment, uses them once, and removes them. Raises StepFailed and OSError.

    Returns their pictures as they were made, by their names. Every run starts from the same state then: the kernel
    makes some secrets when they are first needed, and enlarges some tables when they are first full, and draws random
    numbers for both. So there is a link with delay, jitter, loss and rate, and a connection and a datagram from the
    client to the front, and from the front to the origin.
    """
    with Namespaces(four_hosts(WARM_UP), Shaper.NETEM, None) as places, tempfile.TemporaryDirectory() as folder:
        references = places.references()
        with places.start_link(None, seed=0, folder=Path(folder), interval_ns=None):
            places.exchange()
    return references


def use(found: Mapping[str, SettingsSnapshot]) -> None:
    """Makes the pictures the references of all hosts."""
    refer_to(found)


def read_task(folder: Path) -> RunTask:
    """Returns the run of a folder. Raises FileNotFoundError if another guest has carried it out."""
    return RunTask(RunSpec.read(RunFolder(folder)))
