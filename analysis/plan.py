"""What the client was told to ask for: client/plan.json, of it what the analysis uses. Pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.journals import FolderError


@dataclass(frozen=True, kw_only=True)
class PlannedRequest:
    """One resource. weight: RFC 7540's, 1 to 256; None if no priority was to be sent."""

    name: str
    path: str
    weight: int | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One page load: the page, and then its resources, all at once."""

    address: str
    port: int
    server_name: str
    page: PlannedRequest
    resources: tuple[PlannedRequest, ...]

    def request(self, name: str | None) -> PlannedRequest | None:
        """The request of that resource, None if there is none."""
        return next((each for each in (self.page, *self.resources) if each.name == name), None)

    @property
    def favoured(self) -> str | None:
        """The resource asked to come first, None if no order was asked."""
        weights = {request.name: request.weight for request in self.resources if request.weight is not None}
        heaviest = [name for name, weight in weights.items() if weight == max(weights.values())]
        return heaviest[0] if len(heaviest) == 1 and len(weights) > 1 else None


def plan_from(document: Any, file: Path) -> Plan:
    """The plan in a JSON document. Raises FolderError, naming the file it came from."""
    try:
        address, port, server_name = document["address"], document["port"], document["server_name"]
        if (type(address), type(port), type(server_name)) != (str, int, str):
            raise TypeError(f"a plan for {address!r}, {port!r}, {server_name!r}")
        return Plan(
            address=address,
            port=port,
            server_name=server_name,
            page=_request(document["page"]),
            resources=tuple(_request(resource) for resource in document["resources"]),
        )
    except (KeyError, TypeError) as error:
        raise FolderError(f"{file}: not a plan: {error!r}") from error


def _request(document: Any) -> PlannedRequest:
    name, path, weight = document["name"], document["path"], document["weight"]
    if type(name) is not str or type(path) is not str or type(weight) not in (int, type(None)):
        raise TypeError(f"a request of {name!r}, {path!r}, {weight!r}")
    return PlannedRequest(name=name, path=path, weight=weight)
