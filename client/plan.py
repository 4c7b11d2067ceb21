"""The plan: what the client asks for, when, and with which weights."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from client.priorities import IMAGE, PAGE, SCRIPT, Priorities, weight_of

PLAN_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Request:
    """One resource: its name in the results, its path, its RFC 7540 weight or None."""

    name: str
    path: str
    weight: int | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Page loads on one connection: the warm-up reloads first, the measured one last.

    A load asks for `page`; when that is complete it asks for all of `resources`, in order, at once.
    window_bytes: flow-control window offered per stream and for the connection.
    load_deadline_ns: a load that takes longer has failed.
    """

    address: str
    port: int
    server_name: str
    page: Request
    resources: tuple[Request, ...]
    loads: int
    window_bytes: int
    load_deadline_ns: int

    def to_json(self) -> str:
        """One JSON document; `from_json` reads it back."""
        return json.dumps({"format": PLAN_FORMAT, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Raises ValueError if the document is of another format."""
        document = json.loads(text)
        if document.pop("format", None) != PLAN_FORMAT:
            raise ValueError(f"not a plan of format {PLAN_FORMAT}")
        document["page"] = Request(**document["page"])
        document["resources"] = tuple(Request(**resource) for resource in document["resources"])
        return cls(**document)


def maps_plan(
    *,
    address: str,
    port: int,
    server_name: str,
    priorities: Priorities,
    reloads: int,
    window_bytes: int,
    load_deadline_ns: int,
) -> Plan:
    """The Google Maps case: a page that names its image before its script; `reloads` loads before the measured one."""

    def request(name: str, path: str) -> Request:
        return Request(name=name, path=path, weight=weight_of(name, priorities))

    return Plan(
        address=address,
        port=port,
        server_name=server_name,
        page=request(PAGE, "/"),
        resources=(request(IMAGE, "/image.jpg"), request(SCRIPT, "/script.js")),
        loads=reloads + 1,
        window_bytes=window_bytes,
        load_deadline_ns=load_deadline_ns,
    )


def read_plan(path: Path) -> Plan:
    """The plan in a file."""
    return Plan.from_json(path.read_text())
