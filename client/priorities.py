"""The priorities that a client requests for the resources of a page, in terms of RFC 9218, RFC 7540 and SPDY/3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from priolab.common.formats.page import Page, Resource

NO_ORDER_LEVEL = 3
"""SPDY's level of all requests if no order is asked for: a request over SPDY always has a level."""

_LEVELS = range(8)


class Priorities(StrEnum):
    """The values of the knob PRIORITIES: which resources the client asks to come first.

    `spdy` asks for the page's important resources first. `swap` asks for the page's other resources first; this
    counter-test shows that a server reads priorities at all. `none` sends no priority signals, so the server has no
    order to keep.
    """

    SPDY = "spdy"
    SWAP = "swap"
    NONE = "none"

    @property
    def opposite(self) -> "Priorities":
        """The priorities that ask for the opposite order."""
        return {Priorities.SPDY: Priorities.SWAP, Priorities.SWAP: Priorities.SPDY}.get(self, self)

    def favoured(self, page: Page) -> tuple[str, ...]:
        """Returns the names of the resources that are asked to come first; none if no order is asked for."""
        groups = {Priorities.SPDY: page.important, Priorities.SWAP: page.others, Priorities.NONE: ()}
        return tuple(resource.name for resource in groups[self]) if page.is_judged else ()

    def ranks(self, page: Page) -> Mapping[str, "Rank"]:
        """Returns the rank of each resource, in the page's order; no ranks if no order is asked for.

        The role follows from the type and from `important` alone. With SWAP the most urgent resources get the rank of
        the least urgent resources, the second most urgent resources get the rank of the second least urgent ones, and
        so on. HTML that other resources wait for keeps its rank: it comes before both groups.
        """
        if self is Priorities.NONE:
            return {}
        owners = {resource.name: resource for resource in page.resources}
        if self is Priorities.SWAP:
            leading = [each for each in page.documents if each.is_html]
            owners |= _swapped([each for each in page.resources if each not in leading])
        return {
            resource.name: Rank.of(
                owners[resource.name],
                self._role(resource),
                depends_on=resource.depends_on if self is Priorities.SPDY else None,
            )
            for resource in page.resources
        }

    def _role(self, resource: Resource) -> "Role":
        if resource.is_html:
            return Role.DOCUMENT
        return Role.FIRST if resource.important is (self is Priorities.SPDY) else Role.SECOND


def _swapped(contents: Sequence[Resource]) -> dict[str, Resource]:
    """Maps each resource's name to a resource that has, without SWAP, the rank that the former gets with SWAP."""
    owners: dict[tuple[int, int], Resource] = {}
    for resource in contents:
        owners.setdefault(_order(resource), resource)
    ranks = sorted(owners)
    opposites = dict(zip(ranks, reversed(ranks), strict=True))
    return {resource.name: owners[opposites[_order(resource)]] for resource in contents}


def _order(resource: Resource) -> tuple[int, int]:
    """Returns a sort key: the more urgent the resource, the smaller the key."""
    return -resource.weight, resource.urgency


class Role(Enum):
    """The role of a resource in the order that is asked for."""

    DOCUMENT = auto()
    """The resource is HTML, whether it is important or not, and whether other resources wait for it or not."""
    FIRST = auto()
    """The resource is asked to come first."""
    SECOND = auto()
    """The resource is asked to come after those with the role FIRST."""


@dataclass(frozen=True, kw_only=True)
class Rank:
    """The priority that a client requests for a resource.

    role: the resource's position in the requested order. urgency: RFC 9218's urgency, from 0 (the most urgent) to 7.
    incremental: RFC 9218's parameter `i`. weight: RFC 7540's weight, 1 to 256. depends_on: RFC 7540's parent, as the
    name of a resource; None for the root. literal: the value of RFC 9218's header field, as it is; None to make it of
    the parameters.
    """

    role: Role
    urgency: int
    incremental: bool
    weight: int
    depends_on: str | None = None
    literal: str | None = None

    @classmethod
    def of(cls, resource: Resource, role: Role, *, depends_on: str | None) -> "Rank":
        """Returns the rank with the priority that the page gives to a resource."""
        return cls(
            role=role,
            urgency=resource.urgency,
            incremental=resource.incremental,
            weight=resource.weight,
            depends_on=depends_on,
            literal=resource.cue.field if resource.cue else None,
        )

    @property
    def level(self) -> int:
        """The SPDY/3 level whose RFC 7540 weight is nearest to the rank's weight: from 0 (the most urgent) to 7."""
        return min(_LEVELS, key=lambda level: abs(http2_weight(level) - self.weight))

    @property
    def field(self) -> str:
        """The value of RFC 9218's header field `priority`."""
        if self.literal is not None:
            return self.literal
        return f"u={self.urgency}, i" if self.incremental else f"u={self.urgency}"


def http2_weight(spdy_level: int) -> int:
    """Returns the RFC 7540 weight (1 to 256) that Chrome sent for a SPDY/3 priority (0 to 7).

    Chrome spread the levels evenly: 256, 220, 183, 147, 110, 74, 37, 1
    (net/third_party/spdy, Spdy3PriorityToHttp2Weight). Raises ValueError outside 0 to 7.
    """
    if not 0 <= spdy_level <= 7:
        raise ValueError(f"SPDY priority {spdy_level}; allowed: 0 to 7")
    return int(255.9 / 7 * (7 - spdy_level)) + 1
