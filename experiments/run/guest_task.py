"""The runs of experiments as the tasks of a guest."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from priolab.common.snapshot.settings_snapshot import SettingsSnapshot
from priolab.experiments.hosts.guest_hosts import QUIC, InGuest
from priolab.experiments.hosts.namespaces.namespaces import known_beforehand, refer_to
from priolab.experiments.hosts.warm_up import rehearse
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.run.process import carry_out
from priolab.experiments.setup.tools import FRONT


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
    """Makes the hosts of an experiment and uses them; returns their pictures as they were made, by name."""
    return rehearse()


def use(found: Mapping[str, SettingsSnapshot]) -> None:
    """Makes the pictures the references of all hosts."""
    refer_to(found)


def read_task(folder: Path) -> RunTask:
    """Returns the run of a folder. Raises FileNotFoundError if another guest has carried it out."""
    return RunTask(RunSpec.read(RunFolder(folder)))
