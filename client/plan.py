"""The plan: what the client asks for, when, and with which priorities."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from client.dialects import Dialect, fields, levels, saying
from client.priorities import IMAGE, PAGE, SCRIPT, First, Priorities
from client.signals import Change, Group, Position, Signals

PLAN_FORMAT = 2


class Protocol(StrEnum):
    """What is spoken above TLS, by its ALPN name."""

    HTTP2 = "h2"
    SPDY = "spdy/3.1"
    HTTP3 = "h3"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """How a probe opens its window: by so many bytes at a time, each time when nothing has come for so long.

    The pause is for the front to get what it has not yet got from the origin; how long it takes is not looked at.
    leave: whether to go once all has been seen, instead of taking the rest of the load.
    """

    size_bytes: int
    quiet_ns: int
    leave: bool = False


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


@dataclass(frozen=True, kw_only=True)
class Request:
    """One resource: its name in the results, its path, what is said of its priority."""

    name: str
    path: str
    signals: Signals


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Page loads on one connection: the warm-up reloads first, the measured one last.

    A load asks for `page`; when that is complete it asks for all of `resources`, in order, at once. Where there is no
    page it begins with them.
    authority: host and port as requests name them.
    favoured: the resource that is to come first, by whatever signals say so; None if no order is asked.
    no_rfc7540_priorities: whether SETTINGS_NO_RFC7540_PRIORITIES is 1 (RFC 9218, 2.1).
    groups: said when the connection is made. changes: said in each load, see Change.
    window_bytes: flow-control window offered per stream and for the connection.
    steps: of a probe, which keeps both closed until all streams have begun; None for page loads as browsers make them.
    load_deadline_ns: a load that takes longer has failed.
    source_port: the client's own, None for whichever the kernel chooses.
    """

    protocol: Protocol
    address: str
    port: int
    server_name: str
    authority: str
    page: Request | None
    resources: tuple[Request, ...]
    favoured: str | None
    no_rfc7540_priorities: bool
    groups: tuple[Group, ...]
    changes: tuple[Change, ...]
    loads: int
    window_bytes: int
    steps: Steps | None
    load_deadline_ns: int
    source_port: int | None = None

    def to_json(self) -> str:
        """One JSON document; `from_json` reads it back."""
        return json.dumps({"format": PLAN_FORMAT, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Raises ValueError if the document is of another format."""
        document = json.loads(text)
        if document.pop("format", None) != PLAN_FORMAT:
            raise ValueError(f"not a plan of format {PLAN_FORMAT}")
        document["protocol"] = Protocol(document["protocol"])
        document["page"] = None if document["page"] is None else _request(document["page"])
        document["resources"] = tuple(map(_request, document["resources"]))
        document["groups"] = tuple(Group(**_placed(group)) for group in document["groups"])
        document["changes"] = tuple(Change(**_placed(change)) for change in document["changes"])
        document["steps"] = None if document["steps"] is None else Steps(**document["steps"])
        return cls(**document)


def _request(document: Mapping[str, Any]) -> Request:
    return Request(**{**document, "signals": Signals(**_placed(document["signals"]))})


def _placed(document: Mapping[str, Any]) -> dict[str, Any]:
    position = document["position"]
    return {**document, "position": None if position is None else Position(**position)}


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


def read_plan(path: Path) -> Plan:
    """The plan in a file."""
    return Plan.from_json(path.read_text())
