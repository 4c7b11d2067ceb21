"""The load of a page from a running site, of which only the client's log exists. Pure.

A site's origin has no log that the lab can read. So the client first requests each resource alone, one after the other.
The time from a resource's request to its first byte, when nothing else is requested, is the time that origin, server
and network need anyway. In the load, a resource counts as available when this time has passed since its request, less
the way back to the client.

The ledger of such a load has three parts, which add up to the time from the focal resource's request to its first byte:

1. alone: the time that the resource took when it was requested alone;
2. behind: the further time until the resource's first TLS record began to arrive;
3. record: the time in which the rest of this record arrived, because a client cannot decrypt a part of a record.

The second part is the wait behind other bytes: in the server, in its kernel, or in the network's queue. The client
cannot tell these three apart. Less than nothing is possible, if the resource was faster than alone, for example because
a cache had it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from priolab.analysis.loads.metrics import PageLoad, Piece, ResourceTimes
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import Page
from priolab.common.formats.reading import FolderError


@dataclass(frozen=True, kw_only=True)
class SiteLedger:
    """The waits of the focal resource's first byte, as far as a client can tell. Times in nanoseconds.

    wait_ns: from the request to the first byte; the sum of the other three, which the module explains.
    on_their_way_bytes: payload of the others that arrived within a round trip after the request. The server had sent
    these bytes before the request reached it. too_early_bytes: payload of the others that arrived later than that, but
    before the first byte, and after the resource was available. A server that keeps the order would have sent them
    after the resource.
    """

    focal: str
    wait_ns: int
    alone_ns: int
    behind_ns: int
    record_ns: int
    on_their_way_bytes: int
    too_early_bytes: int


def one_after_the_other(page: Page) -> Page:
    """Returns the page for the requests without company: each resource waits until the one before it is complete."""
    resources, before = [], None
    for each in page.resources:
        resources.append(replace(each, after=before))
        before = each.name
    return replace(page, resources=tuple(resources))


def alone_ns(events: Sequence[Event]) -> Mapping[str, int]:
    """Returns the time from each resource's request to its first byte, in nanoseconds. events: those of one load."""
    requested: dict[str, int] = {}
    found: dict[str, int] = {}
    for event in events:
        if event.resource is None:
            continue
        if event.kind is Kind.REQUEST_SENT:
            requested[event.resource] = event.t_ns
        elif event.kind is Kind.DATA and event.size_bytes:
            found.setdefault(event.resource, event.t_ns - requested[event.resource])
    return found


def site_loads(events: Sequence[Event], page: Page, alone: Mapping[str, int], one_way_ns: int) -> list[PageLoad]:
    """Returns the complete loads in order; each resource has the size that arrived.

    alone: see `alone_ns`. one_way_ns: the time from server to client. Raises FolderError if a resource has no payload.
    """
    by_load: dict[int, list[Event]] = {}
    for event in events:
        by_load.setdefault(event.load, []).append(event)
    complete = [each for each in by_load.values() if any(event.kind is Kind.LOAD_FINISHED for event in each)]
    return [_site_load(each, page, alone, one_way_ns) for each in complete]


def _site_load(events: Sequence[Event], page: Page, alone: Mapping[str, int], one_way_ns: int) -> PageLoad:
    resources = {}
    for resource in page.resources:
        own = [event for event in events if event.resource == resource.name]
        pieces = tuple(
            Piece(t_ns=event.t_ns, size_bytes=event.size_bytes)
            for event in own
            if event.kind is Kind.DATA and event.size_bytes
        )
        if not pieces or resource.name not in alone:
            raise FolderError(f"{resource.path} has no content, so that it has no first byte")
        requested_ns = next(event.t_ns for event in own if event.kind is Kind.REQUEST_SENT)
        available_ns = requested_ns + max(0, alone[resource.name] - one_way_ns)
        size_bytes = sum(piece.size_bytes for piece in pieces)
        resources[resource.name] = ResourceTimes(
            resource=replace(resource, size_bytes=size_bytes, chunks=()),
            requested_ns=requested_ns,
            available_ns=min(available_ns, pieces[0].t_ns),
            headers_ns=next(event.t_ns for event in own if event.kind is Kind.HEADERS),
            pieces=pieces,
        )
    return PageLoad(
        number=events[0].load,
        started_ns=next(event.t_ns for event in events if event.kind is Kind.LOAD_STARTED),
        finished_ns=next(event.t_ns for event in events if event.kind is Kind.LOAD_FINISHED),
        page=replace(page, resources=tuple(times.resource for times in resources.values())),
        resources=resources,
    )


def site_ledger(load: PageLoad, events: Sequence[Event], alone: Mapping[str, int], round_trip_ns: int) -> SiteLedger:
    """Returns the ledger of a load. events: those of all loads. round_trip_ns: of the idle network."""
    focal = load.focal
    first_ns = focal.first_byte_ns
    first = next(
        event
        for event in events
        if event.load == load.number and event.resource == focal.name and event.kind is Kind.DATA and event.size_bytes
    )
    wait_ns = first_ns - focal.requested_ns
    record_ns = first_ns - (first_ns if first.record_ns is None else max(first.record_ns, focal.requested_ns))
    could_ns = focal.requested_ns + max(round_trip_ns, alone[focal.name])
    on_their_way = load.others.bytes_before(min(first_ns, focal.requested_ns + round_trip_ns))
    return SiteLedger(
        focal=focal.name,
        wait_ns=wait_ns,
        alone_ns=alone[focal.name],
        behind_ns=wait_ns - record_ns - alone[focal.name],
        record_ns=record_ns,
        on_their_way_bytes=on_their_way - load.others.bytes_before(focal.requested_ns),
        too_early_bytes=max(0, load.others.bytes_before(first_ns) - load.others.bytes_before(could_ns)),
    )
