"""What every run of a plan has in common, whatever it is carried by."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from client.journal import Journal
from client.limits import Limits
from client.loads import LoadFailed
from client.transport import Deadline, TransportFailed
from common.formats.plan import Plan

_CONNECT_NS = 60 * 10**9
"""At least so long may connecting take; where a page load may take longer, because the link is slow, this may too."""


class Loading(Protocol):
    """What is loaded by."""

    @property
    def unfinished(self) -> list[str]:
        """Names of the resources that have not ended."""


def connecting_deadline(plan: Plan) -> Deadline:
    """Until when there must be a connection."""
    return Deadline(time.monotonic_ns() + max(_CONNECT_NS, plan.load_deadline_ns), "connecting")


@contextmanager
def told(number: int, plan: Plan, engine: Loading, journal: Journal) -> Iterator[None]:
    """Within, a load is carried out: its beginning is told, and if it comes to nothing, which and what was left of it.

    The journal keeps to the load's limits.

    Raises LoadFailed.
    """
    print(f"@ load {number} of {plan.loads}", flush=True)
    journal.limits = Limits(plan)
    try:
        yield
    except (LoadFailed, TransportFailed) as error:
        if isinstance(error, LoadFailed):
            journal.limits = None  # one reason is enough
            journal.add(error.events)
        waiting = ", ".join(engine.unfinished)
        raise LoadFailed(f"load {number} of {plan.loads}: {error}; unfinished: {waiting}") from error
