"""The order for one arm, and the process that carries it out: `python -m experiments.arm RUN-FOLDER`.

It runs where the places are to be, in the guest or on the host, and leaves its outcome in the run folder. Lines on
standard output that begin with "@ " tell of progress.
"""

import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.errors import InvalidRun, LabError, StepFailed, Unavailable
from experiments.record import RunFolder, read_json, write_json
from experiments.run import Tools, run_arm
from experiments.scenario import Scenario, scenario_from


@dataclass(frozen=True, kw_only=True)
class Order:
    """knobs: the scenario in words. programs: absolute paths by name. versions: what they call themselves."""

    knobs: Mapping[str, str]
    load_deadline_ns: int
    programs: Mapping[str, str]
    versions: Mapping[str, str]

    @property
    def scenario(self) -> Scenario:
        """The scenario the knobs describe."""
        return scenario_from(self.knobs)

    def write(self, folder: RunFolder) -> None:
        """Leave it in the run folder."""
        write_json(folder.arm, vars(self))

    @classmethod
    def read(cls, folder: RunFolder) -> "Order":
        """What `write` left."""
        return cls(**read_json(folder.arm))


def tell(step: str) -> None:
    """Tell whoever watches what happens now."""
    print(f"@ {step}", flush=True)


def carry_out(folder: RunFolder) -> None:
    """Run the arm and write outcome.json, also when it fails."""
    observed: dict[str, Any] = {}
    status, reason = "ok", None
    try:
        order = Order.read(folder)
        run_arm(
            order.scenario,
            folder,
            Tools(programs=order.programs, versions=order.versions),
            load_deadline_ns=order.load_deadline_ns,
            observed=observed,
            tell=tell,
        )
    except InvalidRun as error:
        status, reason = "invalid", str(error)
    except Unavailable as error:
        status, reason = "unsupported", str(error)
    except LabError as error:
        status, reason = "failed", str(error)
    except Exception as error:  # a fault of the lab's own: the trace goes to the log, the run is marked
        traceback.print_exc()
        status, reason = "failed", str(StepFailed("the lab itself", f"{type(error).__name__}: {error}"))
    write_json(folder.outcome, {"status": status, "reason": reason, "observed": observed})


if __name__ == "__main__":
    carry_out(RunFolder(Path(sys.argv[1])))
