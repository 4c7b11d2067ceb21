"""The record of a client's plan, which says what the client requests: client/plan.json."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from priolab.common.formats.page import Page, check_order

PLAN_FORMAT: Literal[3] = 3


class Protocol(StrEnum):
    """The protocol above TLS, by its ALPN name."""

    HTTP2 = "h2"
    SPDY = "spdy/3.1"
    HTTP3 = "h3"


NAMES: Mapping[Protocol, str] = MappingProxyType(
    {Protocol.HTTP2: "HTTP/2", Protocol.SPDY: "SPDY/3.1", Protocol.HTTP3: "HTTP/3"}
)
"""The protocols' names for people."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """A position in the priority tree of RFC 7540, 5.3.

    weight: 1 to 256. depends_on: the name of a group, or of a resource of the same load; None for the root.
    """

    weight: int
    depends_on: str | None = None
    exclusive: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """A stream that is never opened. It only has a position in the tree, so that other streams can depend on it.

    See RFC 7540, 5.3.4.
    """

    name: str
    stream_id: int
    position: Position


@dataclass(frozen=True, kw_only=True)
class Signals:
    """The priority signals sent with a request.

    position: the position in the HEADERS frame; None if the frame has no position. field: the value of the header field
    `priority` (RFC 9218, 5); None without the header field. level: the priority in SPDY/3.1's SYN_STREAM, from 0 (the
    most urgent) to 7; None if no order is asked for.
    """

    position: Position | None = None
    field: str | None = None
    level: int | None = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of an open stream's priority.

    The client sends the changes of a load when the first payload byte of a resource that has a change arrives. A
    resource that is requested later gets its change right after its request.
    position: the content of a PRIORITY frame (RFC 7540, 6.3); None to send no such frame. field: the content of a
    PRIORITY_UPDATE frame (RFC 9218, 7); None to send no such frame.
    """

    resource: str
    position: Position | None = None
    field: str | None = None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The steps of a probe: it enlarges the connection's window by size_bytes when nothing has arrived for quiet_ns.

    The pause gives the front time to fetch data from the origin. The probe does not evaluate times.
    leave: True to end the load once the front has nothing left to choose, without the rest of the responses.
    """

    size_bytes: int
    quiet_ns: int
    leave: bool = False


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request. name: the name of the resource. after: the name of a resource.

    The request is sent wait_ns after the resource `after` is complete; with None, wait_ns after the load's begin.
    """

    name: str
    path: str
    signals: Signals
    after: str | None = None
    wait_ns: int = 0


class Disturbance(StrEnum):
    """An event in the middle of a probe that must not change the order of its responses."""

    RESET = "reset"
    """The client makes one more request, before the others, and resets its stream when all responses have begun."""
    CONNECTION = "connection"
    """The client makes the same requests on another connection, with the opposite priorities, when all responses have
    begun. It takes none of the further responses."""


@dataclass(frozen=True, kw_only=True)
class Decoy:
    """The requests of a disturbance. Their responses are no part of a load."""

    disturbance: Disturbance
    requests: tuple[Request, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Page loads on one connection: the warm-up loads first, the measured load last.

    A load begins with the requests that wait for nothing, in order. When a resource is complete, the requests that wait
    for it follow, in order.
    address, port: where the client connects. server_name: the name in the front's certificate.
    authority: host and port in the requests' `:authority`.
    no_rfc7540_priorities: True if the client sends SETTINGS_NO_RFC7540_PRIORITIES=1 (RFC 9218, 2.1).
    groups: the groups whose positions are sent when the connection is made. changes: the changes of open streams'
    priorities, which are sent in each load. loads: the number of page loads.
    window_bytes: the flow-control window offered for each stream.
    connection_window_bytes: that offered for the connection; None for the same size.
    steps: the steps of a probe, in which window_bytes does not apply; None for page loads as browsers make them.
    load_deadline_ns: the time allowed for a load; a load that takes longer fails.
    source_port: the client's port; None for any.
    begins_ns: the time at which the client connects, CLOCK_MONOTONIC; None for at once.
    decoy: the requests that disturb a probe; None without a disturbance.
    packets_at_once: True if the client may read several packets with one system call where it has nothing to do before
    the last of them.
    tls: False for HTTP/2 without TLS, with prior knowledge (RFC 9113, 3.3).
    """

    protocol: Protocol
    address: str
    port: int
    server_name: str
    authority: str
    page: Page
    requests: tuple[Request, ...]
    no_rfc7540_priorities: bool
    groups: tuple[Group, ...]
    changes: tuple[Change, ...]
    loads: int
    window_bytes: int
    steps: Steps | None
    load_deadline_ns: int
    source_port: int | None = None
    begins_ns: int | None = None
    decoy: Decoy | None = None
    connection_window_bytes: int | None = None
    packets_at_once: bool = False
    tls: bool = True
    format: Literal[3] = PLAN_FORMAT

    def __post_init__(self) -> None:
        check_order(self.page.resources)

    @property
    def whole_window_bytes(self) -> int:
        """The flow-control window of the connection."""
        return self.connection_window_bytes or self.window_bytes

    def request(self, name: str | None) -> Request | None:
        """Returns the request for the resource with this name; None if the plan has no such request."""
        return next((each for each in self.requests if each.name == name), None)

    def due(self, after: str | None) -> tuple[Request, ...]:
        """Returns the requests to send when the resource `after` is complete; with None, the first ones of the load."""
        return tuple(each for each in self.requests if each.after == after)

    def to_json(self) -> str:
        """Returns the plan as a JSON document, for `from_json`."""
        document = asdict(self) | {"page": self.page.as_document()}
        for name in ("decoy", "connection_window_bytes"):
            if document[name] is None:
                del document[name]
        for name, usual in (("packets_at_once", False), ("tls", True)):
            if document[name] is usual:
                del document[name]
        return json.dumps(document, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Reads a plan. Raises ValueError if the document has another format."""
        document = json.loads(text)
        if document.get("format") != PLAN_FORMAT:
            raise ValueError(f"not a plan of format {PLAN_FORMAT}")
        document["protocol"] = Protocol(document["protocol"])
        document["page"] = Page.from_document(document["page"])
        document["requests"] = tuple(map(_request, document["requests"]))
        document["groups"] = tuple(Group(**_placed(group)) for group in document["groups"])
        document["changes"] = tuple(Change(**_placed(change)) for change in document["changes"])
        document["steps"] = None if document["steps"] is None else Steps(**document["steps"])
        if decoy := document.get("decoy"):
            requests = tuple(map(_request, decoy["requests"]))
            document["decoy"] = Decoy(disturbance=Disturbance(decoy["disturbance"]), requests=requests)
        return cls(**document)


def _request(document: Mapping[str, Any]) -> Request:
    return Request(**{**document, "signals": Signals(**_placed(document["signals"]))})


def _placed(document: Mapping[str, Any]) -> dict[str, Any]:
    position = document["position"]
    return {**document, "position": None if position is None else Position(**position)}


def read_plan(path: Path) -> Plan:
    """Reads the plan in a file."""
    return Plan.from_json(path.read_text())
