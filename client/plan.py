"""Plans: what the client requests, when, and with which priorities."""

from collections.abc import Sequence
from enum import StrEnum

from client.dialects import Dialect, fields, levels, saying
from client.priorities import Priorities
from common.formats.page import Page
from common.formats.plan import Plan, Protocol, Request, Steps


class PlanKind(StrEnum):
    """The kind of a plan."""

    LOADS = "loads"
    """Page loads, as a browser makes them."""
    PROBE = "probe"
    """One page load whose streams are parked, so that the front has to choose."""


STEPS = Steps(size_bytes=8192, quiet_ns=10 * 10**6)
"""A probe's. 8 KiB are what nginx puts into a frame, and half of what others do."""

PROBE_LEAST_BYTES = 256 * 1024
"""The least size of a probed resource: 64 KiB plug the connection's window, and then there must be a choice."""


def page_plan(
    page: Page,
    *,
    address: str,
    port: int,
    server_name: str,
    priorities: Priorities,
    dialect: Dialect,
    reloads: int,
    window_bytes: int,
    load_deadline_ns: int,
    steps: Steps | None = None,
    protocol: Protocol = Protocol.HTTP2,
    first: str | None = None,
    authority: str | None = None,
    source_port: int | None = None,
) -> Plan:
    """Returns the plan for loads of a page: `reloads` before the measured one.

    first: the name of the resource that is requested before those that wait for the same; None for the page's order.
    authority: of the requests, if it is not the server's name.

    Raises ValueError for a dialect that the protocol cannot say.
    """
    names = _in_order(page, first)
    say = {Protocol.HTTP2: saying, Protocol.SPDY: levels, Protocol.HTTP3: fields}[protocol]
    said = say(dialect, priorities.ranks(page), priorities.opposite.ranks(page), names)
    requests = (
        Request(name=name, path=page[name].path, signals=said.requests[name], after=page[name].after) for name in names
    )
    return Plan(
        protocol=protocol,
        address=address,
        port=port,
        server_name=server_name,
        authority=server_name if authority is None else authority,
        page=page,
        requests=tuple(requests),
        favoured=priorities.favoured(page),
        no_rfc7540_priorities=said.no_rfc7540_priorities,
        groups=said.groups,
        changes=said.changes,
        loads=reloads + 1,
        window_bytes=window_bytes,
        steps=steps,
        load_deadline_ns=load_deadline_ns,
        source_port=source_port,
    )


def _in_order(page: Page, first: str | None) -> Sequence[str]:
    names = [resource.name for resource in page.resources]
    if first is not None:
        names.remove(first)
        siblings = [name for name in names if page[name].after == page[first].after]
        names.insert(names.index(siblings[0]) if siblings else len(names), first)
    return names
