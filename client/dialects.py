"""Dialects: the ways in which a client asks the server to send one response before another. Pure.

A dialect consists of parts, joined by "+": `plain`, `chrome+header`. At most one part is a tree of RFC 7540. Two parts,
`reprioritize` and `update`, change the priority of open streams. With these parts the requests first ask for the
opposite order. Otherwise the order of the responses could not show that the server obeys the change. If no order is
asked for, no dialect sends any signals.

A dialect takes a resource for a document by its type alone: text/html and application/xhtml+xml (`Resource.is_html`).
The key `after` of a page says when a resource is requested, so it decides which streams are open at that time. It does
not decide what the resource is.

Sources of the browsers' signals:
- chrome, the tree: net/spdy/http2_priority_dependencies.cc of Chromium (commit 11517d5d); its weights:
  Spdy3PriorityToHttp2Weight. The header field, from Chrome 124 on: spdy_http_utils.cc; its values: Blink's
  TypeToPriority.
- firefox, the groups, from Firefox 37 to 127: SendHello in netwerk/protocol/http/Http2Session.cpp (commit f90686c5).
  The group and weight of a request: rmarx/quicker on GitHub (commit 199e95c5, http3.firefoxscheme.ts), made from
  captures of 2018; those of the page's request: captures of later versions. The header field, from Firefox 128 on:
  nsHttpChannel::SetPriorityHeader.
- safari, the weights: rmarx/quicker (commit 1f262e08, weightedroundrobin). According to P. Meenan
  (calendar.perfplanet.com, 2018), too, a script has three times the weight of an image. The table in Apple's CFNetwork
  is not public.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from priolab.client.priorities import Rank, Role, http2_weight
from priolab.common.formats.page import Resource
from priolab.common.formats.plan import Change, Group, Position, Signals


class Part(StrEnum):
    """The parts of which dialects consist.

    The name of a dialect lists its parts in this order, as in `chrome+header`.
    """

    PLAIN = "plain"
    """A tree with the page's own weights and dependencies. Over SPDY: SPDY's levels. Over HTTP/3: the same as
    HEADER."""
    CHROME = "chrome"
    """A tree that is a single chain of exclusive dependencies, as Chrome sends it."""
    FIREFOX = "firefox"
    """A tree in which requests depend on groups, as Firefox sent it until version 127. A group is a stream that is
    never opened. Today's Firefox sends weights alone; CLIENT=firefox is today's Firefox."""
    SAFARI = "safari"
    """A tree in which all requests depend on the root, with Safari's weights."""
    REPRIORITIZE = "reprioritize"
    """PRIORITY frames for open streams. They are sent once per load, when the first payload byte of a resource whose
    priority changes arrives. The frame for a resource that is requested later follows its request."""
    HEADER = "header"
    """The header field `priority` of RFC 9218."""
    UPDATE = "update"
    """PRIORITY_UPDATE frames of RFC 9218 for open streams.

    They are sent when PRIORITY frames of REPRIORITIZE would be sent.
    """
    NO7540 = "no7540"
    """The setting SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218, 2.1)."""


TREES = (Part.PLAIN, Part.CHROME, Part.FIREFOX, Part.SAFARI)

TRIED = (
    "plain",
    "chrome",
    "firefox",
    "safari",
    "plain+reprioritize",
    "header",
    "header+no7540",
    "update",
    "update+no7540",
    "chrome+header",
)
"""The dialects in which a server is tested by default: trees, later changes, RFC 9218 with and without a tree."""

TRIED_OVER_HTTP3 = ("header", "update")
"""The dialects in which a server of HTTP/3 is tested by default. HTTP/3 has no trees."""

_FIREFOX_GROUPS = (
    Group(name="leader", stream_id=3, position=Position(weight=201)),
    Group(name="other", stream_id=5, position=Position(weight=101)),
    Group(name="background", stream_id=7, position=Position(weight=1)),
    Group(name="speculative", stream_id=9, position=Position(weight=1, depends_on="background")),
    Group(name="follower", stream_id=11, position=Position(weight=1, depends_on="leader")),
    Group(name="urgent-start", stream_id=13, position=Position(weight=241)),
)


_FIREFOX_TREE: Mapping[Role, Position] = {
    Role.DOCUMENT: Position(weight=42, depends_on="urgent-start"),
    Role.FIRST: Position(weight=32, depends_on="leader"),
    Role.SECOND: Position(weight=22, depends_on="follower"),
}
_SAFARI_TREE: Mapping[Role, Position] = {
    Role.DOCUMENT: Position(weight=256),
    Role.FIRST: Position(weight=24),
    Role.SECOND: Position(weight=8),
}
_USUAL_URGENCY = 3  # RFC 9218, 4.1


@dataclass(frozen=True)
class Dialect:
    """A dialect. parts: the dialect's parts, in the order in which the enumeration Part lists them."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "+".join(self.parts)

    @property
    def tree(self) -> Part | None:
        """The part that is a tree of RFC 7540, if any."""
        return next((part for part in self.parts if part in TREES), None)


PLAIN = Dialect((Part.PLAIN,))
HEADER = Dialect((Part.HEADER,))
UPDATE = Dialect((Part.UPDATE,))
OVER_HTTP3 = (PLAIN, HEADER, UPDATE, Dialect((Part.HEADER, Part.UPDATE)))
"""The dialects that HTTP/3 has signals for."""


def parse(text: str) -> Dialect:
    """Parses the name of a dialect, such as `chrome+header`. Raises ValueError."""
    words = text.split("+")
    parts = tuple(part for part in Part if part in words)
    if sorted(words) != sorted(parts):
        raise ValueError("a part is unknown or repeated")
    if sum(part in TREES for part in parts) > 1:
        raise ValueError("only one part may be a tree")
    if parts == (Part.NO7540,):
        raise ValueError("no7540 alone asks for no order")
    return Dialect(parts)


@dataclass(frozen=True, kw_only=True)
class Saying:
    """The priority signals of a client on a connection: those fields of Plan that depend on the dialect."""

    requests: Mapping[str, Signals]
    groups: tuple[Group, ...] = ()
    changes: tuple[Change, ...] = ()
    no_rfc7540_priorities: bool = False


Ranks = Mapping[str, Rank]
"""The rank of each resource."""


def saying(dialect: Dialect, ranks: Ranks, opposite: Ranks, resources: Sequence[Resource]) -> Saying:
    """Returns the signals with which a client of this dialect asks for the ranks over HTTP/2.

    ranks: the rank of each resource; if empty, there are no signals. opposite: the opposite ranks, for which the
    requests ask if REPRIORITIZE or UPDATE changes the priorities later. resources: all resources of the page, in the
    order of the plan's requests.
    """
    names = [each.name for each in resources]
    if not ranks:
        return Saying(requests={name: Signals() for name in names})
    ranks, opposite = ({name: each[name] for name in names} for each in (ranks, opposite))
    tree, parts = dialect.tree, dialect.parts
    moves, updates = Part.REPRIORITIZE in parts, Part.UPDATE in parts
    placed = _positions(tree, opposite if moves else ranks, resources, _in_time(resources)) if tree else {}
    said_by_header: Mapping[str, str] = {}
    if Part.HEADER in parts:
        said_by_header = _fields(tree, opposite if updates else ranks)
    later = [name for name in names if _changes(ranks[name], opposite[name])]
    later.sort(key=lambda name: ranks[name].role is not Role.FIRST)
    changes: list[Change] = []
    if moves:
        unchanged = [name for name in names if name not in later]
        moved = _positions(tree or Part.PLAIN, ranks, resources, [*unchanged, *later])
        changes += [Change(resource=name, position=moved[name]) for name in later]
    if updates:
        updated = _fields(tree, ranks)
        changes += [Change(resource=name, field=updated[name]) for name in later]
    return Saying(
        requests={name: Signals(position=placed.get(name), field=said_by_header.get(name)) for name in names},
        groups=_FIREFOX_GROUPS if tree is Part.FIREFOX else (),
        changes=tuple(changes),
        no_rfc7540_priorities=Part.NO7540 in parts,
    )


def levels(dialect: Dialect, ranks: Ranks, _: Ranks, resources: Sequence[Resource]) -> Saying:
    """Returns the signals over SPDY/3.1: a level in each request. Raises ValueError for a dialect other than PLAIN.

    ranks: the rank of each resource; if empty, there are no signals. resources: all resources of the page.
    """
    if dialect != PLAIN:
        raise ValueError(f"the dialect {dialect} has no signals over SPDY")
    names = [each.name for each in resources]
    return Saying(requests={name: Signals(level=ranks[name].level if ranks else None) for name in names})


def fields(dialect: Dialect, ranks: Ranks, opposite: Ranks, resources: Sequence[Resource]) -> Saying:
    """Returns the signals over HTTP/3, those of RFC 9218. Raises ValueError for dialects that are not in OVER_HTTP3.

    ranks: the rank of each resource; if empty, there are no signals. opposite: the opposite ranks. resources: all
    resources of the page, in the order of the plan's requests.
    """
    if dialect not in OVER_HTTP3:
        raise ValueError(f"the dialect {dialect} has no signals over HTTP/3")
    return saying(HEADER if dialect == PLAIN else dialect, ranks, opposite, resources)


def chain_parent(weight: int, streams: Iterable[tuple[str, int]]) -> str | None:
    """Returns the name of the parent of a new stream of this weight in Chrome's tree; None for the root.

    The parent is the last open stream of the new stream's own level. If that level has no open stream, the parent is
    the last open stream of the nearest more urgent level that has one. streams: name and weight of each open stream, in
    the order in which they were opened.
    """
    parent, nearest = None, None
    for name, other in streams:
        if other >= weight and (nearest is None or other <= nearest):
            parent, nearest = name, other
    return parent


def _changes(rank: Rank, opposite: Rank) -> bool:
    """Returns True if a resource has a later signal: if PRIORITY=swap asks for another rank."""
    return replace(rank, depends_on=None) != replace(opposite, depends_on=None)


def _in_time(resources: Sequence[Resource]) -> list[str]:
    """Returns the names in the order in which the client sends the requests, as far as the page decides it.

    The order is that of the earliest possible times: those of transfers that take no time. Of requests at the same
    time, one that waits for a longer chain comes later: each resource of a chain takes some time.
    """
    times: dict[str, tuple[int, int]] = {}
    ends_ns: dict[str, int] = {}
    for each in resources:
        depth = times[each.after][1] + 1 if each.after else 0
        times[each.name] = (ends_ns[each.after] if each.after else 0) + each.wait_ns, depth
        ends_ns[each.name] = times[each.name][0] + each.last_ns
    return sorted(times, key=lambda name: times[name])


def _positions(tree: Part, ranks: Ranks, resources: Sequence[Resource], order: Sequence[str]) -> dict[str, Position]:
    """Returns the position of each resource. order: the names in the order in which the positions are sent."""
    match tree:
        case Part.CHROME:
            return _chain(ranks, resources, order)
        case Part.FIREFOX:
            return {name: _FIREFOX_TREE[rank.role] for name, rank in ranks.items()}
        case Part.SAFARI:
            return {name: _SAFARI_TREE[rank.role] for name, rank in ranks.items()}
    return {name: Position(weight=rank.weight, depends_on=rank.depends_on) for name, rank in ranks.items()}


def _chain(ranks: Ranks, resources: Sequence[Resource], order: Sequence[str]) -> dict[str, Position]:
    """Returns Chrome's tree (`chain_parent`), as far as the page decides which streams are open.

    A resource is complete, so it is no parent, when the client requests what waits for it, directly or through others.
    Other streams may also have ended by then; the client knows when it sends the request, and uses the same rule.
    """
    complete: dict[str, frozenset[str]] = {}
    for each in resources:
        complete[each.name] = complete[each.after] | {each.after} if each.after else frozenset()
    found: dict[str, Position] = {}
    for name in order:
        weight = http2_weight(ranks[name].level)
        streams = ((other, place.weight) for other, place in found.items() if other not in complete[name])
        found[name] = Position(weight=weight, depends_on=chain_parent(weight, streams), exclusive=True)
    return found


def _fields(tree: Part | None, ranks: Ranks) -> dict[str, str]:
    """Returns the value of each resource's header field `priority`.

    With Chrome's tree the urgency is the SPDY level that is nearest to the weight, and the default urgency is left out.
    """
    if tree is not Part.CHROME:
        return {name: rank.field for name, rank in ranks.items()}
    made = {}
    for name, rank in ranks.items():
        words = [] if rank.level == _USUAL_URGENCY else [f"u={rank.level}"]
        made[name] = ", ".join([*words, *(["i"] if rank.incremental else [])])
    return made
