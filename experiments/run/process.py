"""The process that carries out one arm: `python -m priolab.experiments.run.process RUN-FOLDER`.

The process runs in the guest or on the host, where it makes the namespaces or containers. It writes outcome.json into
the run folder, and progress to standard output as lines that begin with "@ ".
"""

import sys
import traceback
from pathlib import Path
from typing import Any

from priolab.common.errors import InvalidRun, LabError, StepFailed, Unavailable
from priolab.common.formats.files import write_json
from priolab.experiments.hosts.fabric import MakesHosts
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.run.fabrics import FABRICS
from priolab.experiments.run.page_loads import Conditions
from priolab.experiments.run.steps import run_arm
from priolab.testbed import check_kernel


def tell(step: str) -> None:
    """Prints a line of progress."""
    print(f"@ {step}", flush=True)


def carry_out(
    folder: RunFolder,
    fabric: MakesHosts | None = None,
    spec: RunSpec | None = None,
    *,
    seeded: bool = False,
    known_as: Path | None = None,
) -> None:
    """Runs the arm and writes outcome.json, also when the arm fails.

    fabric: the fabric that the spec names, if it has been imported already; None to import it.
    spec: the folder's spec, if it has been read already; None to read it.
    seeded: True if all random numbers follow from the spec's seed; False if only the ferry's random numbers do.
    known_as: the run folder's path outside the guest, to be named in the reason of a failure in place of the path
    inside the guest; None without a guest.
    """
    observed: dict[str, Any] = {"seeded": seeded}
    status, reason, seen = "ok", None, folder
    try:
        spec = spec or RunSpec.read(folder)
        fabric = fabric or FABRICS[spec.fabric]
        conditions = Conditions(spec=spec, tolerance=fabric.tolerance, in_guest=seeded)
        tell("places of client, link, front and origin")
        with fabric.places(spec, folder) as places:
            seen = places.seen(folder)
            run_arm(folder, places, conditions, observed=observed, tell=tell)
        if seeded:
            check_kernel()
    except InvalidRun as error:
        status, reason = "invalid", str(error)
    except Unavailable as error:
        status, reason = "unsupported", str(error)
    except LabError as error:
        status, reason = "failed", str(error)
    except Exception as error:  # a bug in the lab: the traceback goes to the log, the run is marked as failed
        traceback.print_exc()
        status, reason = "failed", str(StepFailed("the lab itself", f"{type(error).__name__}: {error}"))
    if reason and seen is not folder:
        reason = reason.replace(f"{seen.path}/", f"{folder.path}/")
    if reason and known_as:
        reason = reason.replace(str(folder.path), str(known_as))
    write_json(folder.outcome, {"status": status, "reason": reason, "observed": observed})


if __name__ == "__main__":
    carry_out(RunFolder(Path(sys.argv[1])))
