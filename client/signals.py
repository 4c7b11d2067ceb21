"""Priority signals: what a client can say to a front about who comes first, as values that a plan holds."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Position:
    """A place in the tree of RFC 7540, 5.3.

    weight: 1 to 256. depends_on: the name of a resource of the same load or of a group; None is the root.
    """

    weight: int
    depends_on: str | None = None
    exclusive: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """A stream that is never opened; it only has a place in the tree, for others to depend on (RFC 7540, 5.3.4)."""

    name: str
    stream_id: int
    position: Position


@dataclass(frozen=True, kw_only=True)
class Signals:
    """What is said together with a request.

    position: in its HEADERS. field: value of the header field `priority` (RFC 9218, 5). level: of SPDY/3.1's
    SYN_STREAM, 0 is the most urgent of 0 to 7; where it is None, all requests have the same.
    """

    position: Position | None = None
    field: str | None = None
    level: int | None = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """What is said later, of a stream that is open: when the load's first byte of image or script has come.

    position: in a PRIORITY frame (RFC 7540, 6.3). field: in a PRIORITY_UPDATE frame (RFC 9218, 7).
    """

    resource: str
    position: Position | None = None
    field: str | None = None
