"""Plans: what the client requests, when, and with which priorities."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from priolab.client.dialects import Dialect, Saying, fields, levels, saying
from priolab.client.priorities import Priorities
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.plan import Decoy, Disturbance, Plan, Protocol, Request, Signals, Steps


class PlanKind(StrEnum):
    """The kind of a plan."""

    LOADS = "loads"
    """Page loads, as a browser makes them."""
    PROBE = "probe"
    """A page load with small windows, so that the front has to choose between streams (flow_control_probe.py)."""


STEPS = Steps(size_bytes=8192, quiet_ns=10 * 10**6)
"""The steps by which a probe enlarges the connection's window, over a path without delay. A step has the size of
nginx's DATA frames; other servers send DATA frames of 16 KiB."""


DECOY_QUERY = "?decoy"
"""The query of a disturbance's requests. It tells them from the load's requests in the origin's log."""

DECOY = "decoy"
"""The name of the requests whose streams the client resets (Disturbance.RESET)."""

PROBE_LEAST_BYTES = 256 * 1024
"""The least size of a probe's resources. The first 64 KiB use up the connection's initial window. The front chooses
between streams only for the bytes after the first 64 KiB."""


def steps_over(silence_ns: int, *, leave: bool = False) -> Steps:
    """Returns the steps of a probe over a path on which nothing may arrive for silence_ns while bytes are on their way.

    The pause before a step is longer than this, by the time that STEPS gives the front to fetch data. leave: True to
    end the load once the front has nothing left to choose.
    """
    return replace(STEPS, quiet_ns=STEPS.quiet_ns + silence_ns, leave=leave)


def signals_for(
    protocol: Protocol, dialect: Dialect, priorities: Priorities, page: Page, resources: Sequence[Resource]
) -> Saying:
    """Returns the signals with which a client asks for an order. resources: all of the page, in the requests' order.

    Raises ValueError for a dialect that the protocol has no signals for.
    """
    say = {Protocol.HTTP2: saying, Protocol.SPDY: levels, Protocol.HTTP3: fields}[protocol]
    return say(dialect, priorities.ranks(page), priorities.opposite.ranks(page), resources)


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
    connection_window_bytes: int | None = None,
    load_deadline_ns: int,
    steps: Steps | None = None,
    protocol: Protocol = Protocol.HTTP2,
    first: str | None = None,
    authority: str | None = None,
    source_port: int | None = None,
    disturbance: Disturbance | None = None,
    decoy_query: str = "",
    tls: bool = True,
) -> Plan:
    """Returns the plan for loads of a page: `reloads` warm-up loads, then the measured load.

    reloads: the number of warm-up loads. steps: the steps of a probe; None for page loads as browsers make them.
    first: the resource to request before all other resources that wait for the same resource; None for the page's
    order.
    authority: the `:authority` of requests; None for server_name. address, port: where the client connects.
    server_name: the name in the front's certificate. priorities, dialect: the order to ask for, and the signals that
    ask for it. window_bytes: the flow-control window offered for each stream. connection_window_bytes: that of the
    connection; None for the same size. load_deadline_ns: the time allowed for a load. source_port: the client's port;
    None for any. disturbance: the disturbance of a probe. decoy_query: what the paths of a disturbance's requests have
    after the resource's path, so that logs of the origin can tell these requests from the others. tls: False for HTTP/2
    without TLS.

    Raises ValueError for a dialect that the protocol has no signals for.
    """
    resources = _in_order(page, first)
    said = signals_for(protocol, dialect, priorities, page, resources)
    requests = tuple(
        Request(
            name=each.name,
            path=each.path,
            signals=said.requests[each.name],
            after=each.after,
            wait_ns=each.wait_ns,
        )
        for each in resources
    )
    decoy = None
    if disturbance is not None:
        opposite = signals_for(protocol, dialect, priorities.opposite, page, resources)
        decoy = _decoy(disturbance, page, requests, opposite.requests, priorities.favoured(page), decoy_query)
    return Plan(
        protocol=protocol,
        address=address,
        port=port,
        server_name=server_name,
        authority=server_name if authority is None else authority,
        page=page,
        requests=requests,
        no_rfc7540_priorities=said.no_rfc7540_priorities,
        groups=said.groups,
        changes=said.changes,
        loads=reloads + 1,
        window_bytes=window_bytes,
        connection_window_bytes=connection_window_bytes,
        steps=steps,
        load_deadline_ns=load_deadline_ns,
        source_port=source_port,
        decoy=decoy,
        tls=tls,
    )


def _decoy(
    disturbance: Disturbance,
    page: Page,
    requests: Sequence[Request],
    opposite: Mapping[str, Signals],
    favoured: Sequence[str],
    query: str,
) -> Decoy:
    """Returns the requests of a disturbance. opposite: for each resource, the signals that ask for the opposite order.

    The streams to be reset, one before all others and one after, have the signals of a resource that is asked for
    first, if there is one.
    """
    if disturbance is Disturbance.CONNECTION:
        made = [replace(each, signals=opposite[each.name], after=None, wait_ns=0) for each in requests]
    else:
        contents = [each for each in requests if page[each.name] in page.contents]
        like = next((each for each in contents if each.name in favoured), contents[0])
        made = [replace(contents[0], name=DECOY, signals=like.signals, after=None, wait_ns=0)] * 2
    return Decoy(disturbance=disturbance, requests=tuple(replace(each, path=f"{each.path}{query}") for each in made))


def with_decoys(page: Page) -> Page:
    """Returns the page with a copy of each resource, for the requests of a disturbance.

    A copy has DECOY_QUERY after its path.
    """
    copies = (
        replace(each, name=f"{each.name}-{DECOY}", path=f"{each.path}{DECOY_QUERY}", important=False)
        for each in page.resources
    )
    return replace(page, resources=(*page.resources, *copies))


def _in_order(page: Page, first: str | None) -> Sequence[Resource]:
    names = [resource.name for resource in page.resources]
    if first is not None:
        names.remove(first)
        siblings = [name for name in names if page[name].after == page[first].after]
        names.insert(names.index(siblings[0]) if siblings else len(names), first)
    return [page[name] for name in names]
