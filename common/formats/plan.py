"""The record of what a client was told to ask for: client/plan.json."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from common.formats.page import Page

PLAN_FORMAT: Literal[3] = 3


class Protocol(StrEnum):
    """The protocol above TLS, by its ALPN name."""

    HTTP2 = "h2"
    SPDY = "spdy/3.1"
    HTTP3 = "h3"


NAMES: Mapping[Protocol, str] = MappingProxyType(
    {Protocol.HTTP2: "HTTP/2", Protocol.SPDY: "SPDY/3.1", Protocol.HTTP3: "HTTP/3"}
)
"""The protocols as people call them."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """A place in the tree of RFC 7540, 5.3.

    weight: 1 to 256. depends_on: the name of a resource of the same load or of a group; None is the root.
    """

    weight: int
    depends_on: str | None = None
    exclusive: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """A stream that is never opened; it only has a place in the tree, for others to depend on (RFC 7540, 5.3.4)."""

    name: str
    stream_id: int
    position: Position


@dataclass(frozen=True, kw_only=True)
class Signals:
    """The priority signals sent with a request.

    position: in its HEADERS. field: value of the header field `priority` (RFC 9218, 5). level: of SPDY/3.1's
    SYN_STREAM, 0 is the most urgent of 0 to 7; where it is None, all requests have the same.
    """

    position: Position | None = None
    field: str | None = None
    level: int | None = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """What is said later, of a stream that is open: when the load's first byte that is no document's has come.

    position: in a PRIORITY frame (RFC 7540, 6.3). field: in a PRIORITY_UPDATE frame (RFC 9218, 7).
    """

    resource: str
    position: Position | None = None
    field: str | None = None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """How a probe opens its window: by so many bytes at a time, each time when nothing has come for so long.

    The pause is for the front to get what it has not yet got from the origin; how long it takes is not looked at.
    leave: whether to go once all has been seen, instead of taking the rest of the load.
    """

    size_bytes: int
    quiet_ns: int
    leave: bool = False


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request: the resource's name and path, its priority signals, and the resource that it waits for."""

    name: str
    path: str
    signals: Signals
    after: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Page loads on one connection: the warm-up reloads first, the measured one last.

    A load makes the requests that wait for nothing, in order. When a resource is complete, the load makes the requests
    that wait for it, in order.
    page: what is loaded. authority: host and port as requests name them.
    favoured: names of the resources that are to come first, by whatever signals say so; empty if no order is asked.
    no_rfc7540_priorities: the value of SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218, 2.1).
    groups: sent when the connection is made. changes: sent in each load, see Change.
    window_bytes: flow-control window offered per stream and for the connection.
    steps: of a probe, which keeps both closed until all streams have begun; None for page loads as browsers make them.
    load_deadline_ns: a load that takes longer has failed.
    source_port: the client's own, None for whichever the kernel chooses.
    begins_ns: the instant at which the client connects, CLOCK_MONOTONIC; None for at once.
    """

    protocol: Protocol
    address: str
    port: int
    server_name: str
    authority: str
    page: Page
    requests: tuple[Request, ...]
    favoured: tuple[str, ...]
    no_rfc7540_priorities: bool
    groups: tuple[Group, ...]
    changes: tuple[Change, ...]
    loads: int
    window_bytes: int
    steps: Steps | None
    load_deadline_ns: int
    source_port: int | None = None
    begins_ns: int | None = None
    format: Literal[3] = PLAN_FORMAT

    def request(self, name: str | None) -> Request | None:
        """Returns the request of that resource, None if there is none."""
        return next((each for each in self.requests if each.name == name), None)

    def due(self, after: str | None) -> tuple[Request, ...]:
        """Returns the requests to make when that resource is complete; None: when the load begins."""
        return tuple(each for each in self.requests if each.after == after)

    def to_json(self) -> str:
        """Returns one JSON document; `from_json` reads it back."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Raises ValueError if the document is of another format."""
        document = json.loads(text)
        if document.get("format") != PLAN_FORMAT:
            raise ValueError(f"not a plan of format {PLAN_FORMAT}")
        document["protocol"] = Protocol(document["protocol"])
        document["page"] = Page.from_document(document["page"])
        document["requests"] = tuple(map(_request, document["requests"]))
        document["favoured"] = tuple(document["favoured"])
        document["groups"] = tuple(Group(**_placed(group)) for group in document["groups"])
        document["changes"] = tuple(Change(**_placed(change)) for change in document["changes"])
        document["steps"] = None if document["steps"] is None else Steps(**document["steps"])
        return cls(**document)


def _request(document: Mapping[str, Any]) -> Request:
    return Request(**{**document, "signals": Signals(**_placed(document["signals"]))})


def _placed(document: Mapping[str, Any]) -> dict[str, Any]:
    position = document["position"]
    return {**document, "position": None if position is None else Position(**position)}


def read_plan(path: Path) -> Plan:
    """Returns the plan in a file."""
    return Plan.from_json(path.read_text())
