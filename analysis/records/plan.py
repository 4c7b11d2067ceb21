"""What the client was told to ask for: client/plan.json, of it what the analysis uses. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.records.journals import FolderError

HTTP2, SPDY, HTTP3 = "h2", "spdy/3.1", "h3"
PROTOCOLS = {HTTP2: "HTTP/2", SPDY: "SPDY/3.1", HTTP3: "HTTP/3"}
"""What is spoken, by its ALPN name, and how people call it."""

_FORMATS = (1, 2)


@dataclass(frozen=True, kw_only=True)
class PlannedRequest:
    """One resource.

    weight: RFC 7540's, 1 to 256, None if none was to be sent; depends_on: the name of a resource or of a group, None
    for the root; field: RFC 9218's header field `priority`; level: SPDY's, 0 to 7.
    """

    name: str
    path: str
    weight: int | None
    depends_on: str | None = None
    exclusive: bool = False
    field: str | None = None
    level: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One page load: the page, and then its resources, all at once.

    protocol: by its ALPN name. favoured: the resource asked to come first, None if no order was asked. groups: by name
    the streams that are never opened, and hold a place in the tree.
    """

    protocol: str
    address: str
    port: int
    server_name: str
    page: PlannedRequest
    resources: tuple[PlannedRequest, ...]
    favoured: str | None
    groups: Mapping[str, int]

    def request(self, name: str | None) -> PlannedRequest | None:
        """The request of that resource, None if there is none."""
        return next((each for each in (self.page, *self.resources) if each.name == name), None)


def plan_from(document: Any, file: Path) -> Plan:
    """The plan in a JSON document. Raises FolderError, naming the file it came from."""
    try:
        address, port, server_name = document["address"], document["port"], document["server_name"]
        if (type(address), type(port), type(server_name)) != (str, int, str):
            raise TypeError(f"a plan for {address!r}, {port!r}, {server_name!r}")
        if (number := document["format"]) not in _FORMATS:
            raise TypeError(f"a plan of format {number!r}")
        if (protocol := document.get("protocol", HTTP2)) not in PROTOCOLS:
            raise TypeError(f"a plan for {protocol!r}")
        read = _with_weight if number == 1 else _with_signals
        resources = tuple(read(resource) for resource in document["resources"])
        return Plan(
            protocol=protocol,
            address=address,
            port=port,
            server_name=server_name,
            page=read(document["page"]),
            resources=resources,
            favoured=_heaviest(resources) if number == 1 else document["favoured"],
            groups={group["name"]: group["stream_id"] for group in document.get("groups", [])},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise FolderError(f"{file}: not a plan: {error!r}") from error


def _with_weight(document: Any) -> PlannedRequest:
    return _checked(name=document["name"], path=document["path"], weight=document["weight"])


def _with_signals(document: Any) -> PlannedRequest:
    signals = document["signals"]
    position = signals["position"] or {"weight": None}
    words = {name: signals[name] for name in ("field", "level")}
    return _checked(name=document["name"], path=document["path"], **words, **position)


def _checked(**fields: Any) -> PlannedRequest:
    request = PlannedRequest(**fields)
    numbers = {type(number) for number in (request.weight, request.level)}
    if (type(request.name), type(request.path)) != (str, str) or not numbers <= {int, type(None)}:
        raise TypeError(f"a request of {request.name!r}, {request.path!r}, {request.weight!r}, {request.level!r}")
    return request


def _heaviest(resources: Sequence[PlannedRequest]) -> str | None:
    weights = {request.name: request.weight for request in resources if request.weight is not None}
    heaviest = [name for name, weight in weights.items() if weight == max(weights.values())]
    return heaviest[0] if len(heaviest) == 1 and len(weights) > 1 else None
