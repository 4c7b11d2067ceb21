"""The plan: what the client asks for, when, and with which priorities."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from client.dialects import Dialect, fields, levels, saying
from client.priorities import IMAGE, PAGE, SCRIPT, First, Priorities
from common.formats.plan import Plan, Protocol, Request, Steps


class PlanKind(StrEnum):
    """What a plan is for."""

    MAPS = "maps"
    """Page loads, as a browser makes them."""
    PROBE = "probe"
    """One page load whose streams are parked, so that the front has to choose."""


STEPS = Steps(size_bytes=8192, quiet_ns=10 * 10**6)
"""A probe's. 8 KiB are what nginx puts into a frame, and half of what others do."""

MAPS_PATHS: Mapping[str, str] = MappingProxyType({PAGE: "/", IMAGE: "/image.jpg", SCRIPT: "/script.js"})
"""As the origin has them, in the order in which they are asked for."""

PROBE_LEAST_BYTES = 256 * 1024
"""Of a resource that is probed: 64 KiB plug the connection's window, and then there must be something to choose."""


def maps_plan(
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
    first: First = First.IMAGE,
    paths: Mapping[str, str] = MAPS_PATHS,
    authority: str | None = None,
    source_port: int | None = None,
) -> Plan:
    """The Google Maps case: a page that names its image before its script; `reloads` loads before the measured one.

    first: what is requested first. paths: of image and script, and of the page, if there is to be one. authority: of
    the requests, if it is not the server's name.

    Raises ValueError for a dialect that the protocol cannot say.
    """
    paths = dict(paths)
    if first is First.SCRIPT:
        paths[IMAGE] = paths.pop(IMAGE)
    say = {Protocol.HTTP2: saying, Protocol.SPDY: levels, Protocol.HTTP3: fields}[protocol]
    said = say(dialect, priorities, list(paths))
    requests = {name: Request(name=name, path=path, signals=said.requests[name]) for name, path in paths.items()}
    return Plan(
        protocol=protocol,
        address=address,
        port=port,
        server_name=server_name,
        authority=server_name if authority is None else authority,
        page=requests.pop(PAGE, None),
        resources=tuple(requests.values()),
        favoured=priorities.favoured,
        no_rfc7540_priorities=said.no_rfc7540_priorities,
        groups=said.groups,
        changes=said.changes,
        loads=reloads + 1,
        window_bytes=window_bytes,
        steps=steps,
        load_deadline_ns=load_deadline_ns,
        source_port=source_port,
    )
