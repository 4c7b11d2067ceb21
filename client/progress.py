"""Progress lines, limits and error messages of page loads, for every transport."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from priolab.client.journal import Journal
from priolab.client.limits import Limits
from priolab.client.load_scheduler import LoadFailed
from priolab.client.transport import Deadline, TransportFailed
from priolab.common.formats.plan import Plan

_CONNECT_NS = 60 * 10**9
"""The least time allowed for connecting. On a slow link the deadline of a page load is longer, and applies instead."""


ENDED = "ended"
"""The line on standard output when the last load has ended, and the connection is still open."""


class Loading(Protocol):
    """An engine that carries out a load."""

    @property
    def unfinished(self) -> list[str]:
        """Names of the requested resources whose streams have not ended."""


def connecting_deadline(plan: Plan) -> Deadline:
    """Returns the deadline for connecting, TLS handshake included."""
    return Deadline(time.monotonic_ns() + max(_CONNECT_NS, plan.load_deadline_ns), "connecting")


@contextmanager
def told(number: int, plan: Plan, engine: Loading, journal: Journal) -> Iterator[None]:
    """A context manager around a load: prints the progress line, and limits what the front can make the journal record.

    number: the number of the load, from 1. Raises LoadFailed if the load fails; the text names the load and the
    unfinished resources.
    """
    print(f"@ load {number} of {plan.loads}", flush=True)
    journal.limits = Limits(plan)
    try:
        yield
    except (LoadFailed, TransportFailed) as error:
        if isinstance(error, LoadFailed):
            journal.limits = None  # recording the events must not fail at a limit, too
            journal.add(error.events)
        waiting = ", ".join(engine.unfinished)
        raise LoadFailed(f"load {number} of {plan.loads}: {error}; unfinished: {waiting}") from error
