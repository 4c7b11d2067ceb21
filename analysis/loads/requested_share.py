"""Reads the order of two responses in a client's signals: the signals in words, and the share for which they ask. Pure.

Rules:
1. Weights ask for a share of everything sent while both streams are open (RFC 7540, 5.3). A stream gets what its parent
   does not use; the groups of a tree send nothing.
2. Urgencies ask for everything (RFC 9218, 10), and so do SPDY's levels. Two incremental responses of one urgency ask
   for equal parts.
3. Later changes of priority replace those of the requests.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from priolab.common.formats.plan import Change, Group, Plan, Position, Signals
from priolab.common.priority_signals import Tree, incremental, urgency


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The request of one kind of signals. words: the signals of the two resources, the important one first.

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
    share = _first(*map(urgency, fields))
    if share is None and all(map(incremental, fields)):
        share = 0.5
    return Asked(words=f"the fields {words}", share=share)


def _first(one: int, two: int) -> float | None:
    """Returns 1 if the first of two urgencies is the more urgent, the smaller one; 0 if the second is; else None."""
    return None if one == two else float(one < two)


def _by_tree(places: Sequence[tuple[str, Position]], pair: tuple[str, str]) -> Asked:
    """Returns what a tree asks for. places: the positions in the order in which the client sends them."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in places), 1)}
    tree, last = Tree(), dict(places)
    for name, place in places:
        parent = numbers.get(place.depends_on or "", 0)
        tree.place(numbers[name], parent, place.weight, exclusive=place.exclusive)
    words = f"weights {':'.join(str(last[name].weight) for name in pair)}"
    if any(tree.parent_of(numbers[name]) for name in pair):
        words += " in a tree"
    return Asked(words=words, share=tree.share_of(*(numbers[name] for name in pair)))
