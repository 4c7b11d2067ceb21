"""The order that the client asked for in a load, by its priority signals on the wire. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Group
from priolab.common.priority_signals import Asked, Saying, Wishes, from_text

_SPEAKS = (Kind.REQUEST_SENT, Kind.PRIORITY_SENT)


class AskedOrder:
    """The order in which the client's signals put two resources of a load."""

    def __init__(self, streams: Mapping[str, int], sayings: Sequence[Saying]) -> None:
        """streams: the number of each requested resource's stream. sayings: the signals, in the order of sending."""
        self._streams = streams
        self._wishes = Wishes(sayings)
        said: set[int] = set()
        self._changed_ns: dict[int, int] = {}
        for saying in sayings:
            if saying.stream_id in said:
                self._changed_ns[saying.stream_id] = saying.t_ns
            said.add(saying.stream_id)
        first = {saying.stream_id: saying for saying in reversed(sayings)}
        self._at_first = Wishes([saying for saying in sayings if first[saying.stream_id] is saying])

    @classmethod
    def of(cls, events: Iterable[Event], load: int, groups: Sequence[Group] = ()) -> "AskedOrder":
        """Returns the order in a load. events: those of the client. groups: streams that are only in the tree."""
        streams = {group.name: group.stream_id for group in groups}
        sayings = [
            Saying(
                t_ns=0,
                stream_id=group.stream_id,
                weight=group.position.weight,
                depends_on=streams.get(group.position.depends_on or "", 0),
                exclusive=group.position.exclusive,
            )
            for group in groups
        ]
        found: dict[str, int] = {}
        for event in events:
            if event.load != load or event.kind not in _SPEAKS or event.resource is None or event.stream_id is None:
                continue
            sayings.append(from_text(event.detail, event.stream_id, event.t_ns, streams | found))
            found.setdefault(event.resource, event.stream_id)
        return cls(found, sayings)

    def between(self, one: str, other: str) -> Asked | None:
        """Returns the order between two resources; None if the load did not request both."""
        if not {one, other} <= self._streams.keys():
            return None
        return self._wishes.between(self._streams[one], self._streams[other])

    def favoured(self, important: str, others: Iterable[str]) -> tuple[str, ...]:
        """Returns the important resource if it was asked to precede one of the others, else those to precede it."""
        others = tuple(others)
        if any(self.puts_first(important, other) for other in others):
            return (important,)
        return tuple(other for other in others if self.puts_first(other, important))

    def sooner(self, important: str, others: Iterable[str]) -> tuple[str, ...]:
        """Returns the others that the client asked for before the important resource, all of each."""
        return tuple(other for other in others if self.precedes(other, important))

    def number(self, name: str) -> int:
        """Returns the number of a resource's stream. Later requests have larger numbers. Raises KeyError."""
        return self._streams[name]

    @property
    def spoken(self) -> bool:
        """True if the client sent signals at all."""
        return any(map(self._wishes.said, self._streams.values()))

    def puts_first(self, one: str, other: str) -> bool:
        """True if the client asked for the resource `one` before the resource `other`."""
        found = self.between(one, other)
        return found is not None and found.first == self._streams[one]

    def share(self, some: Collection[str], others: Collection[str]) -> float | None:
        """Returns the part of all bytes that the client asked for `some` resources to get beside others, 0 to 1.

        The part is that of the time in which all of them have bytes to send, and no other resource counts. None if the
        client asked for no part. Raises KeyError for a resource that the load did not request.
        """
        streams = ([self._streams[name] for name in names] for names in (some, others))
        return self._wishes.share(*streams)

    def settled_ns(self, some: Collection[str], others: Collection[str]) -> int | None:
        """Returns when the client sent its last signal for these resources; None if that changed no share."""
        streams = [[self._streams[name] for name in names] for names in (some, others)]
        if self._at_first.share(*streams) == self._wishes.share(*streams):
            return None
        return max((self._changed_ns.get(stream, 0) for both in streams for stream in both), default=None)

    def precedes(self, one: str, other: str) -> bool:
        """True if the client asked for all of the resource `one` before `other`, and not only for a larger part."""
        return self.puts_first(one, other) and self.share((other,), (one,)) == 0
