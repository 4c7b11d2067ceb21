"""The execution options that a request and the order of a run have in common."""

from dataclasses import dataclass, fields
from typing import Any

from priolab.netem.sampling import AUTO, Sample
from priolab.netem.shaper_kind import Shaper


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Execution options that are passed unchanged from the request to the process of a run.

    shaper: the kind of shaper; None lets the fabric choose. sample: how often the front's socket and the link's queue
    are sampled. capture: True to record packets.
    """

    shaper: Shaper | None = None
    sample: Sample = AUTO
    capture: bool = False

    def options(self) -> dict[str, Any]:
        """Returns the options of RunOptions by name; fields of subclasses are left out."""
        return {field.name: getattr(self, field.name) for field in fields(RunOptions)}
