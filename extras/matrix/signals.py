"""Says in words which priorities a client sends for a page: settings, requests, and later changes. Pure."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from priolab.common.formats.plan import Change, Plan, Position, Signals

PRIORITY, PRIORITY_UPDATE = "PRIORITY", "PRIORITY_UPDATE"


def signal_words(plan: Plan, names: Mapping[str, str] = MappingProxyType({})) -> tuple[str, ...]:
    """Returns a text for each frame that carries a priority, in the order in which the client sends the frames.

    names: other names for resources of the plan.
    """
    return tuple(_said(plan, names))


def _said(plan: Plan, names: Mapping[str, str]) -> Iterator[str]:
    if plan.no_rfc7540_priorities:
        yield "SETTINGS: SETTINGS_NO_RFC7540_PRIORITIES=1"
    for group in plan.groups:
        yield f"{PRIORITY}, stream {group.stream_id}, group {group.name}: {_position(group.position, names)}"
    for request in plan.requests:
        yield f"HEADERS, {names.get(request.name, request.name)}: {_signals(request.signals, names)}"
    for change in plan.changes:
        yield from _change(change, names)


def _signals(signals: Signals, names: Mapping[str, str]) -> str:
    told = [_position(signals.position, names)] if signals.position else []
    told += [f"priority: {signals.field}"] if signals.field is not None else []
    return "; ".join(told) or "no priority"


def _change(change: Change, names: Mapping[str, str]) -> Iterator[str]:
    name = names.get(change.resource, change.resource)
    if change.position:
        yield f"{PRIORITY}, {name}: {_position(change.position, names)}"
    if change.field is not None:
        yield f"{PRIORITY_UPDATE}, {name}: {change.field}"


def _position(position: Position, names: Mapping[str, str]) -> str:
    parent = names.get(position.depends_on or "", position.depends_on)
    on = f"depends on {parent}" if parent else "depends on the root"
    return f"weight {position.weight}, {on}{', exclusive' if position.exclusive else ''}"
