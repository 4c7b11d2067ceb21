"""Says in words which priorities a client sends for a page: settings, requests, and later changes. Pure."""

from collections.abc import Iterator

from common.formats.plan import Change, Plan, Position, Signals

PRIORITY, PRIORITY_UPDATE = "PRIORITY", "PRIORITY_UPDATE"


def signal_words(plan: Plan) -> tuple[str, ...]:
    """Returns a text for each frame that carries a priority, in the order in which the client sends the frames."""
    return tuple(_said(plan))


def _said(plan: Plan) -> Iterator[str]:
    if plan.no_rfc7540_priorities:
        yield "SETTINGS: SETTINGS_NO_RFC7540_PRIORITIES=1"
    for group in plan.groups:
        yield f"{PRIORITY}, stream {group.stream_id}, group {group.name}: {_position(group.position)}"
    for request in plan.requests:
        yield f"HEADERS, {request.name}: {_signals(request.signals)}"
    for change in plan.changes:
        yield from _change(change)


def _signals(signals: Signals) -> str:
    told = [_position(signals.position)] if signals.position else []
    told += [f"priority: {signals.field}"] if signals.field is not None else []
    return "; ".join(told) or "no priority"


def _change(change: Change) -> Iterator[str]:
    if change.position:
        yield f"{PRIORITY}, {change.resource}: {_position(change.position)}"
    if change.field is not None:
        yield f"{PRIORITY_UPDATE}, {change.resource}: {change.field}"


def _position(position: Position) -> str:
    parent = f"depends on {position.depends_on}" if position.depends_on else "depends on the root"
    return f"weight {position.weight}, {parent}{', exclusive' if position.exclusive else ''}"
