"""What a client's signals ask for two responses: the signals in words, and the share that they ask for. Pure.

Rules:
1. Weights ask for a share of everything sent while both streams are open (RFC 7540, 5.3). A stream gets what its parent
   does not use; the groups of a tree send nothing.
2. Urgencies ask for everything (RFC 9218, 10), and so do SPDY's levels. Two incremental responses of one urgency ask
   for equal parts.
3. Later changes of priority replace those of the requests.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from common.formats.plan import Change, Group, Plan, Position, Signals

_URGENCY = re.compile(r"\bu=(\d)")
_USUAL_URGENCY = 3  # RFC 9218, 4.1


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What one kind of signals asks for. words: the signals of the two resources, the important one first.

    share: the important resource's part of all bytes sent while both streams are open, 0 to 1; None if the signals
    leave it to the server.
    """

    words: str
    share: float | None

    def __str__(self) -> str:
        share = "no order" if self.share is None else f"{self.share:.0%}"
        return f"{self.words} ask for {share}"


def asked(
    requests: Mapping[str, Signals],
    important: str,
    *,
    groups: Sequence[Group] = (),
    changes: Sequence[Change] = (),
) -> tuple[Asked, ...]:
    """Returns what a client's signals ask for, each kind of signals by itself; empty without signals.

    requests: the signals of the two resources' requests, by name, in the order of the requests. important: the name of
    one of them. groups: the groups of the tree. changes: the later changes of priority.
    """
    (other,) = (name for name in requests if name != important)
    pair = (important, other)
    final = dict(requests)
    for change in changes:
        if change.field is not None:
            final[change.resource] = replace(final[change.resource], field=change.field)
    found = []
    if places := [*_places(requests, groups), *((each.resource, each.position) for each in changes if each.position)]:
        found.append(_by_tree(places, pair))
    fields = [final[name].field for name in pair]
    if any(field is not None for field in fields):
        found.append(_by_field([field or "" for field in fields]))
    levels = [final[name].level for name in pair]
    if levels[0] is not None and levels[1] is not None:
        found.append(Asked(words=f"levels {levels[0]} and {levels[1]}", share=_first(levels[0], levels[1])))
    return tuple(found)


def asked_in(plan: Plan) -> tuple[Asked, ...]:
    """Returns what a probe's plan asks for; the important resource is that of the plan's page."""
    contents = {each.name for each in plan.page.contents}
    requests = {each.name: each.signals for each in plan.requests if each.name in contents}
    return asked(requests, plan.page.important[0].name, groups=plan.groups, changes=plan.changes)


def _places(requests: Mapping[str, Signals], groups: Sequence[Group]) -> Iterator[tuple[str, Position]]:
    yield from ((group.name, group.position) for group in groups)
    yield from ((name, signals.position) for name, signals in requests.items() if signals.position)


def _by_field(fields: Sequence[str]) -> Asked:
    words = " and ".join(field or "(none)" for field in fields)
    one, two = (int(found[1]) if (found := _URGENCY.search(field)) else _USUAL_URGENCY for field in fields)
    share = _first(one, two)
    if share is None and all(re.search(r"\bi\b", field) for field in fields):
        share = 0.5
    return Asked(words=f"the fields {words}", share=share)


def _first(one: int, two: int) -> float | None:
    """Returns 1 if the first of two urgencies is the more urgent, the smaller one; 0 if the second is; else None."""
    return None if one == two else float(one < two)


def _by_tree(places: Sequence[tuple[str, Position]], pair: tuple[str, str]) -> Asked:
    """Returns what a tree asks for. places: the positions in the order in which the client sends them."""
    parents: dict[str, str | None] = {}
    weights: dict[str, int] = {}
    for name, place in places:
        if place.exclusive:
            parents |= {each: name for each, parent in parents.items() if parent == place.depends_on}
        parents[name], weights[name] = place.depends_on, place.weight
    words = f"weights {weights.get(pair[0], 0)}:{weights.get(pair[1], 0)}"
    if any(parents.get(name) for name in pair):
        words += " in a tree"
    return Asked(words=words, share=_share(parents, weights, pair))


def _share(parents: Mapping[str, str | None], weights: Mapping[str, int], pair: tuple[str, str]) -> float:
    paths = [_path(name, parents) for name in pair]
    if pair[0] in paths[1]:
        return 1.0
    if pair[1] in paths[0]:
        return 0.0
    # Both paths, from the root on, part at two siblings. All that their streams get is shared by these two's weights.
    one, two = next((a, b) for a, b in zip(*map(reversed, paths), strict=False) if a != b)
    return weights[one] / (weights[one] + weights[two])


def _path(name: str, parents: Mapping[str, str | None]) -> list[str]:
    """Returns a stream and all it depends on, up to a stream that depends on the root."""
    path = [name]
    while (parent := parents.get(path[-1])) in parents and parent is not None and parent not in path:
        path.append(parent)
    return path
