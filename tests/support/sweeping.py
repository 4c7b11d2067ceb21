"""Sweeps for tests, with a fabric that copies a finished run within milliseconds instead of carrying one out."""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from pathlib import Path
from typing import cast

from priolab.experiments.execution.request import RunSettings
from priolab.experiments.hosts.fabric import Fabric, HostKernel
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.tools import Tools
from priolab.experiments.sweep.grid import expand, grid_from
from priolab.experiments.sweep.sweep import Sweep, SweepProgress
from priolab.netem.calibration import REAL, Tolerance

_MADE = Path(__file__).parents[1] / "golden" / "format-3" / "control.1"
KERNEL = "TESTS_KERNEL"
"""The environment variable with the name of the copying fabric's kernel."""

DEAF = SweepProgress(step=lambda _: None, opened=lambda _: None, ended=lambda *_: None)
"""Tells nobody about a sweep's progress."""

TINY = {"SIZE": ("20480",), "RELOADS": ("0",)}
"""The knobs of the run that is copied."""


@dataclass
class CopyingFabric(HostKernel):
    """A fabric whose runs are copies of a finished run.

    troubles: by arm, the shell commands instead of copying; `$0` is the run's folder.
    faults: by arm, an exception that `command` raises.
    """

    troubles: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, Exception] = field(default_factory=dict)
    name: str = "copying"
    merit: str = "quick"
    virtual_clock: bool = True
    runs_per_command: int = 1
    own_programs: bool = False
    tolerance: Tolerance = REAL
    log: Path | None = None

    def kernel(self) -> str:
        return os.environ.get(KERNEL, "none")

    def kernel_record(self) -> Mapping[str, str]:
        return {"release": self.kernel()}

    def check_usable(self, *_: object) -> None:
        """Accept every scenario."""

    def prepare(self, *_: object) -> None:
        """Prepare nothing."""

    def tools(self, scenario: Scenario, *, capture: bool) -> Tools:
        del capture
        return Tools(programs={}, versions={scenario.server: "1"})

    def copying(self) -> str:
        """Return the shell commands of a run without trouble."""
        observed = json.loads((_MADE / "run.json").read_text())["observed"]
        outcome = shlex.quote(json.dumps({"status": "ok", "reason": None, "observed": observed}))
        return f"cp -r {shlex.quote(str(_MADE))}/[cflo]* . && printf %s {outcome} >outcome.json"

    def script(self, folder: RunFolder) -> str:
        """Return the shell commands of a run."""
        arm = folder.path.name.rpartition(".partial")[0].rpartition(".")[0]
        note = f"echo {shlex.quote(folder.path.name)} >>{shlex.quote(str(self.log))}; " if self.log else ""
        do = self.troubles.get(arm) or self.copying()
        return f"cd {shlex.quote(str(folder.path))} && {{ {note}{do}; }}"

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        """Return a command that carries out the first run, then those that it can claim, and prints its progress."""
        del scratch
        names = [folder.path.name.removesuffix(".partial") for _, folder in runs]
        for name in names:
            if fault := self.faults.get(name.rpartition(".")[0]):
                raise fault
        steps = [
            f"{{ echo '@ begins {name}'; {self.script(folder)} || exit 1; echo '@ ended {name}'; }}"
            for name, (_, folder) in zip(names, runs, strict=True)
        ]
        claims = [f"rm {shlex.quote(str(folder.path / 'waiting'))} 2>&- && " for _, folder in runs]
        return ["sh", "-c", "\n".join(map(add, ["", *claims[1:]], steps)) + "\nexit 0"]


def sweep_of(
    values: Mapping[str, tuple[str, ...]],
    *,
    repeat: int = 1,
    seed: int = 1,
    results: Path = Path("results"),
    fabric: CopyingFabric | None = None,
) -> Sweep:
    """Return a sweep of this grid."""
    grid = grid_from({**TINY, **values})
    return Sweep(
        name="mine",
        title="Mine",
        grid=grid,
        points=expand(grid),
        repeat=repeat,
        seed=seed,
        order_seed=seed,
        run_settings=RunSettings(
            fabric=cast("Fabric", fabric or CopyingFabric()),
            fabric_reason="for a test",
            sample=10**8,
        ),
        results=results,
    )
