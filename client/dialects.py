"""Dialects: the ways in which a client says which response comes first. Pure.

A dialect consists of parts, joined by "+": `plain`, `chrome+header`. At most one part is a tree of RFC 7540. Parts that
send signals for open streams contradict the signals of the requests; otherwise nobody could see that a server obeys
them. If no order is asked for, no dialect sends any signals.

The signals of browsers, and their sources:
- chrome: net/spdy/http2_priority_dependencies.cc of Chromium (commit 11517d5d), Spdy3PriorityToHttp2Weight for the
  weights; the header field, from Chrome 124 on: spdy_http_utils.cc, and Blink's TypeToPriority for its values.
- firefox: SendHello in netwerk/protocol/http/Http2Session.cpp (commit f90686c5) for the groups, from Firefox 37 on;
  which request is in which and its weight: rmarx/quicker on GitHub (commit 199e95c5, http3.firefoxscheme.ts), after
  captures of 2018, and for the page, captures of later versions; the header field, from Firefox 128 on:
  nsHttpChannel::SetPriorityHeader.
- safari: rmarx/quicker (commit 1f262e08, weightedroundrobin); that scripts get three times what images get is in
  P. Meenan's article, too (calendar.perfplanet.com, 2018). CFNetwork's table itself is not public.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from client.priorities import Rank, Role, http2_weight
from common.formats.plan import Change, Group, Position, Signals


class Part(StrEnum):
    """The parts of dialects, in the order in which they are written."""

    PLAIN = "plain"
    """Weights at the root of the tree, Chrome's for SPDY's levels; over SPDY itself, the levels, and over HTTP/3
    the header field."""
    CHROME = "chrome"
    """One chain of exclusive dependencies."""
    FIREFOX = "firefox"
    """Groups: streams that are never opened."""
    SAFARI = "safari"
    """Weights at the root of the tree, Safari's."""
    REPRIORITIZE = "reprioritize"
    """PRIORITY frames, once the first byte is there."""
    HEADER = "header"
    """RFC 9218's header field `priority`."""
    UPDATE = "update"
    """RFC 9218's PRIORITY_UPDATE frames, once the first byte is there."""
    NO7540 = "no7540"
    """SETTINGS_NO_RFC7540_PRIORITIES."""


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
"""What a server is asked in, to see what it understands: trees, changes of mind, RFC 9218 with and without a tree."""

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
    """A dialect: parts in their order. `parse` makes one."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "+".join(self.parts)

    @property
    def tree(self) -> Part | None:
        """The part that is a tree of RFC 7540, if any."""
        return next((part for part in self.parts if part in TREES), None)


PLAIN = Dialect((Part.PLAIN,))
HEADER = Dialect((Part.HEADER,))


def parse(text: str) -> Dialect:
    """Parses the name of a dialect. Raises ValueError."""
    words = text.split("+")
    parts = tuple(part for part in Part if part in words)
    if sorted(words) != sorted(parts):
        raise ValueError("unknown, or twice")
    if sum(part in TREES for part in parts) > 1:
        raise ValueError("one tree only")
    if parts == (Part.NO7540,):
        raise ValueError("it says nothing of an order")
    return Dialect(parts)


@dataclass(frozen=True, kw_only=True)
class Saying:
    """The priority signals of a client on a connection; see Plan."""

    requests: Mapping[str, Signals]
    groups: tuple[Group, ...] = ()
    changes: tuple[Change, ...] = ()
    no_rfc7540_priorities: bool = False


Ranks = Mapping[str, Rank]
"""The rank of each resource, in the order of the requests."""


def saying(dialect: Dialect, ranks: Ranks, opposite: Ranks, names: Sequence[str]) -> Saying:
    """Returns what the client sends so that these ranks are asked for. names: all resources, as they are requested.

    opposite: the contrary, which requests ask for where a later part takes it back. Without ranks no order is asked.
    """
    if not ranks:
        return Saying(requests={name: Signals() for name in names})
    ranks, opposite = ({name: each[name] for name in names} for each in (ranks, opposite))
    tree, parts = dialect.tree, dialect.parts
    moves, updates = Part.REPRIORITIZE in parts, Part.UPDATE in parts
    placed = _positions(tree, opposite if moves else ranks) if tree else {}
    said_by_header: Mapping[str, str] = {}
    if Part.HEADER in parts:
        said_by_header = _fields(tree, opposite if updates else ranks)
    later = [name for name in names if ranks[name].role is not Role.DOCUMENT]
    later.sort(key=lambda name: ranks[name].role is not Role.FIRST)
    changes: list[Change] = []
    if moves:
        documents = {name: rank for name, rank in ranks.items() if rank.role is Role.DOCUMENT}
        moved = _positions(tree or Part.PLAIN, documents | {name: ranks[name] for name in later})
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


def levels(dialect: Dialect, ranks: Ranks, _: Ranks, names: Sequence[str]) -> Saying:
    """The same over SPDY/3.1, which has a level in each request and nothing else. Raises ValueError if not PLAIN."""
    if dialect != PLAIN:
        raise ValueError(f"{dialect} over SPDY")
    return Saying(requests={name: Signals(level=ranks[name].level if ranks else None) for name in names})


def fields(dialect: Dialect, ranks: Ranks, opposite: Ranks, names: Sequence[str]) -> Saying:
    """The same over HTTP/3, which has RFC 9218 and nothing else. Raises ValueError if not PLAIN or HEADER."""
    if dialect not in (PLAIN, HEADER):
        raise ValueError(f"{dialect} over HTTP/3")
    return saying(HEADER, ranks, opposite, names)


def _positions(tree: Part, ranks: Ranks) -> dict[str, Position]:
    match tree:
        case Part.CHROME:
            return _chain(ranks)
        case Part.FIREFOX:
            return {name: _FIREFOX_TREE[rank.role] for name, rank in ranks.items()}
        case Part.SAFARI:
            return {name: _SAFARI_TREE[rank.role] for name, rank in ranks.items()}
    return {name: Position(weight=rank.weight, depends_on=rank.depends_on) for name, rank in ranks.items()}


def _chain(ranks: Ranks) -> dict[str, Position]:
    """Chrome's tree: each stream depends on the last open one of its level or, without one, of the next higher level.

    Levels count down; a document is complete before anything that waits for it is requested.
    """
    found: dict[str, Position] = {}
    levels = {name: rank.level for name, rank in ranks.items()}
    for name, level in levels.items():
        higher = [other for other in found if ranks[other].role is not Role.DOCUMENT and levels[other] <= level]
        parent = max(reversed(higher), key=lambda other: levels[other], default=None)
        found[name] = Position(weight=http2_weight(level), depends_on=parent, exclusive=True)
    return found


def _fields(tree: Part | None, ranks: Ranks) -> dict[str, str]:
    """Returns header fields. Beside Chrome's tree the urgency is its weight's level, and the default is left out."""
    if tree is not Part.CHROME:
        return {name: rank.field for name, rank in ranks.items()}
    made = {}
    for name, rank in ranks.items():
        words = [] if rank.level == _USUAL_URGENCY else [f"u={rank.level}"]
        made[name] = ", ".join([*words, *(["i"] if rank.incremental else [])])
    return made
