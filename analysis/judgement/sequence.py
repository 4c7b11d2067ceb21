"""Judges the order of several streams in a probe, and finds out how a server reads their priorities. Pure.

Rules:
1. Two streams compete while the client lets both of them send. Of the bytes that they got then, one got all, or both
   had a part. So a stream may come late, or be blocked by its window for a while.
2. The smaller urgency comes first. Incremental streams of one urgency share. Others of one urgency come in the order of
   their requests, which a server SHOULD keep (RFC 9218, 10). `ties` is what a judgement demands of these. Of an
   incremental stream and another of the same urgency nothing is said.
3. A mistake in a stream's priority is named only if the order is exactly that of this mistake, and of no smaller number
   of mistakes, and of no others of this number and of as few names.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations

from priolab.analysis.judgement.thresholds import EVENLY, IN_ORDER, LEAST_COMPETING_BYTES, STALLED_STEPS
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import Cue, Page

_USUAL_URGENCY = 3  # RFC 9218, 4.1
_VALUE = r'(?:-?\d{1,15}(?:\.\d{1,3})?|"[ !#-~]*"|[A-Za-z*][!#$%&\'*+.^_`|~0-9A-Za-z:/-]*|\?[01]|\([ !-~]*\))'
_KEY = r"[a-z*][a-z0-9_.*-]*"
_PARAMETERS = rf"(?:; *{_KEY}(?:={_VALUE})?)*"
_MEMBER = re.compile(rf"({_KEY})(?:=({_VALUE}))?{_PARAMETERS}")
_SPACE = re.compile(r"[ \t]*(?:,[ \t]*|$)")


@dataclass(frozen=True)
class Priority:
    """A priority of RFC 9218."""

    urgency: int = _USUAL_URGENCY
    incremental: bool = False

    @classmethod
    def of(cls, text: str, usual: "Priority | None" = None) -> "Priority":
        """Returns the priority that a field value states (RFC 9218, 4; RFC 8941, 3.2).

        Unknown parameters, and values of another type or out of range are ignored, and so is a field that is malformed.
        usual: the priority that has the values of what is not stated; None for the defaults.
        """
        usual = usual or cls()
        found, at = dict[str, str | None](), 0
        text = text.strip(" ")
        while at < len(text):
            member = _MEMBER.match(text, at)
            space = _SPACE.match(text, member.end()) if member else None
            if member is None or space is None or (space.end() == len(text) and "," in space[0]):
                return usual
            found[member[1]] = member[2] if member[2] is not None else "?1"
            at = space.end()
        urgency, incremental = found.get("u") or "", found.get("i")
        return cls(
            int(urgency) if re.fullmatch("[0-7]", urgency) else usual.urgency,
            incremental == "?1" if incremental in ("?0", "?1") else usual.incremental,
        )

    @classmethod
    def after(cls, cue: Cue) -> "Priority":
        """Returns the priority after all changes: each replaces the whole priority (RFC 9218, 7).

        What the origin's response states counts for an intermediary, as in the example of RFC 9218, 8.
        """
        asked = cls.of(cue.text)
        return asked if cue.answer is None else cls.of(cue.answer, asked)


class Relation(StrEnum):
    """The order of two streams, of which the first was requested before the second."""

    FIRST = "first"
    SECOND = "second"
    IN_TURN = "in turn"
    """Either of the two comes before the other."""
    SHARED = "shared"
    ANY = "any"

    def fits(self, share: float, tolerance: float | None = None) -> bool:
        """True if the first stream's share of the bytes of both is one of this relation.

        tolerance: the distance from a half that sharing may have; None for the usual.
        """
        match self:
            case Relation.FIRST:
                return share >= IN_ORDER
            case Relation.SECOND:
                return share <= 1 - IN_ORDER
            case Relation.IN_TURN:
                return not 1 - IN_ORDER < share < IN_ORDER
            case Relation.SHARED:
                return abs(share - 0.5) <= (EVENLY - 0.5 if tolerance is None else tolerance)
        return True


_SECOND_OF = {Relation.FIRST: 1, Relation.SECOND: 0}
"""The position in a pair of the stream that must wait."""

Pair = tuple[str, str]
"""The names of two streams, the one requested first before the other."""


def expected(pair: Pair, priorities: Mapping[str, Priority], ties: Relation) -> Relation:
    """Returns what two streams' priorities ask for. ties: what is demanded of streams of one urgency."""
    one, other = (priorities[each] for each in pair)
    if one.urgency != other.urgency:
        return Relation.FIRST if one.urgency < other.urgency else Relation.SECOND
    if one.incremental and other.incremental:
        return Relation.SHARED
    return Relation.ANY if one.incremental or other.incremental else ties


@dataclass(frozen=True, kw_only=True)
class Competition:
    """The competition of a probe's streams.

    shares: of each two streams that competed, the part of their bytes that the first got. sizes: the bytes of both.
    stalled: a stream that could be sent while nothing was sent; None if there is none. waited: for each stream the
    bytes of others before its first one, with an open window. openings: the streams in the order in which their windows
    were opened.
    """

    shares: Mapping[Pair, float]
    stalled: str | None = None
    sizes: Mapping[Pair, tuple[int, int]] = field(default_factory=dict)
    waited: Mapping[str, int] = field(default_factory=dict)
    openings: tuple[str, ...] = ()

    @classmethod
    def of(cls, events: Sequence[Event], page: Page) -> "Competition":
        """Returns the competition in a probe's events."""
        names = [each.name for each in page.contents][1:]
        room, stepping, idle, stalled = dict.fromkeys(names, 0), False, 0, None
        got: dict[Pair, list[int]] = {pair: [0, 0] for pair in combinations(names, 2)}
        waited, served = Counter[str](), set[str]()
        openings = [event.resource for event in events if event.kind is Kind.WINDOW_OPENED and event.resource in room]
        for event in events:
            name, size = event.resource or "", event.size_bytes or 0
            if event.kind is Kind.WINDOW_OPENED and event.stream_id is None:
                waiting = [each for each in names if room[each] > 0]
                idle = idle + 1 if stepping and not size and waiting else 0
                if idle >= STALLED_STEPS and stalled is None:
                    stalled = waiting[0]
                stepping = True
            elif name not in room:
                continue
            elif event.kind is Kind.WINDOW_OPENED:
                room[name] += size
            elif event.kind is Kind.DATA and stepping:
                for pair, both in got.items():
                    if name in pair and all(room[each] > 0 for each in pair):
                        both[pair.index(name)] += size
                room[name] -= size
                served.add(name)
                waited.update({other: size for other in names if room[other] > 0 and other not in served})
            elif event.kind is Kind.ENDED:
                room[name] = 0
        shares = {pair: both[0] / sum(both) for pair, both in got.items() if sum(both) >= LEAST_COMPETING_BYTES}
        return cls(
            shares=shares,
            stalled=stalled,
            sizes={pair: (both[0], both[1]) for pair, both in got.items()},
            waited=waited,
            openings=tuple(dict.fromkeys(str(name) for name in openings)),
        )

    def share(self, pair: Pair) -> float:
        """Returns the first stream's part of the bytes of both, however few these are."""
        one, other = self.sizes[pair]
        return one / max(1, one + other)

    def early(self, priorities: Mapping[str, Priority], most_bytes: int) -> list[Pair]:
        """Returns the pairs of streams of which the less urgent one got more than most_bytes while the other waited."""
        return [
            pair
            for pair, sizes in self.sizes.items()
            if (right := expected(pair, priorities, Relation.ANY)) in _SECOND_OF
            and sizes[_SECOND_OF[right]] > most_bytes
        ]

    def as_opened(self, priorities: Mapping[str, Priority]) -> bool:
        """True if streams of one urgency without incremental came in the order in which their windows were opened."""
        ties = [pair for pair in self.shares if expected(pair, priorities, Relation.FIRST) is Relation.FIRST]
        at = {name: place for place, name in enumerate(self.openings)}
        turned = {pair: Relation.FIRST if at[pair[0]] < at[pair[1]] else Relation.SECOND for pair in ties}
        return all(right.fits(self.shares[pair]) for pair, right in turned.items())

    def wrong(self, priorities: Mapping[str, Priority], ties: Relation, tolerance: float | None = None) -> list[Pair]:
        """Returns the pairs of streams that did not get what these priorities ask for."""
        return [
            pair for pair, share in self.shares.items() if not expected(pair, priorities, ties).fits(share, tolerance)
        ]


def bytes_before_end(events: Sequence[Event], name: str) -> int:
    """Returns the bytes of other streams between the last byte of a resource and the end of its stream.

    events: those of one load.
    """
    others = 0
    for event in events:
        if event.kind is Kind.DATA:
            others = 0 if event.resource == name else others + (event.size_bytes or 0)
        elif event.kind is Kind.ENDED and event.resource == name:
            return others
    return 0


Mistakes = Mapping[str, Mapping[Priority, str]]
"""For a stream's name, the priorities for which a server may take its own, and the name of each.

An urgency below 0 or above 7 stands for a stream that comes before or after all others.
"""


def priorities_of(page: Page) -> dict[str, Priority]:
    """Returns the priority of each stream after all changes, without the resource that uses up the window."""
    return {each.name: Priority.after(each.cue or Cue()) for each in page.contents[1:]}


def mistakes_in(seen: Competition, asked: Mapping[str, Priority], mistakes: Mistakes, ties: Relation) -> set[str]:
    """Returns the names of the mistakes that explain the order; none if nothing or more than one thing explains it."""
    fitting: dict[int, list[set[str]]] = {}
    for taken in _readings(seen, asked, mistakes, ties):
        names = [name for name, _ in taken.values() if name is not None]
        if names:
            fitting.setdefault(len(names), []).append(set(names))
    if not fitting:
        return set()
    few = fitting[min(fitting)]
    kinds = [names for names in few if len(names) == min(map(len, few))]
    return kinds[0] if all(each == kinds[0] for each in kinds) else set()


_Reading = Mapping[str, tuple[str | None, Priority]]
"""For each stream the priority for which a server takes its own, and the name of the mistake; None for no mistake."""


def _readings(
    seen: Competition, asked: Mapping[str, Priority], mistakes: Mistakes, ties: Relation
) -> Sequence[_Reading]:
    """Returns the readings of all streams' priorities that fit the order. One stream after the other is added."""
    readings: list[dict[str, tuple[str | None, Priority]]] = [{}]
    for stream, right in asked.items():
        choices = [(None, right), *((name, taken) for taken, name in mistakes.get(stream, {}).items())]
        pairs = [pair for pair in seen.shares if pair[1] == stream]
        extended = ({**each, stream: choice} for each in readings for choice in choices)
        readings = [each for each in extended if all(_fits(seen, pair, each, ties) for pair in pairs)]
    return readings


def _fits(seen: Competition, pair: Pair, reading: _Reading, ties: Relation) -> bool:
    return expected(pair, {name: reading[name][1] for name in pair}, ties).fits(seen.shares[pair])


class Whole(StrEnum):
    """A mistake in reading priorities that is one for all streams."""

    FIRST = "first"
    """Only the first requests have their priorities, the others the default."""
    LAST = "last"
    """Only the last requests have their priorities."""
    BITS = "bits"
    """Only the lowest bits of the urgency count."""
    COARSE = "coarse"
    """Each two neighbouring urgencies are one."""
    TEXT = "text"
    """The texts of the fields are compared."""
    NO_FIELD = "no field"
    """Streams without the field are incremental."""
    DEFAULT = "default"
    """Streams without the field have another urgency."""


def whole_mistake(
    seen: Competition, asked: Mapping[str, Priority], texts: Mapping[str, str], *, in_turn: bool
) -> Whole | None:
    """Returns the mistake for all streams that explains the order exactly; None for none, and for more than one.

    texts: the field of each stream. in_turn: as for `mistakes_in`, True for Relation.FIRST.
    """
    ties = Relation.FIRST if in_turn else Relation.ANY
    if not seen.wrong(asked, ties) or ignores_urgency(seen, asked):
        return None
    found = {
        whole
        for whole, taken in _wholes(asked, texts)
        if (in_turn or whole in (Whole.BITS, Whole.COARSE, Whole.TEXT)) and not seen.wrong(taken, ties)
    }
    return found.pop() if len(found) == 1 else None


def ignores_urgency(seen: Competition, asked: Mapping[str, Priority]) -> bool:
    """True if the order is that of streams of one urgency, in the order of their requests."""
    usual = {name: replace(each, urgency=_USUAL_URGENCY) for name, each in asked.items()}
    return not seen.wrong(usual, Relation.FIRST)


def _wholes(asked: Mapping[str, Priority], texts: Mapping[str, str]) -> Iterator[tuple[Whole, Mapping[str, Priority]]]:
    names = list(asked)
    for count in range(1, len(names)):
        usual = Priority()
        yield Whole.FIRST, {name: asked[name] if name in names[:count] else usual for name in names}
        yield Whole.LAST, {name: asked[name] if name in names[-count:] else usual for name in names}
    for mask in (1, 3):
        yield Whole.BITS, {name: replace(each, urgency=each.urgency & mask) for name, each in asked.items()}
    for first in (0, 1):
        yield (
            Whole.COARSE,
            {name: replace(each, urgency=(each.urgency + first) // 2) for name, each in asked.items()},
        )
    given = [texts[name] for name in names]
    if given.count("") > 1:
        absences = [(Whole.DEFAULT, Priority(each)) for each in range(8) if each != _USUAL_URGENCY]
        for whole, taken in (*absences, (Whole.NO_FIELD, Priority(incremental=True))):
            yield whole, {name: asked[name] if texts[name] else taken for name in names}
    if len({*given} - {""}) == 1:
        return
    for absent in ("", "u=3"):
        keys = [text or absent for text in given]
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        yield (
            Whole.TEXT,
            {name: replace(asked[name], urgency=ranks[key]) for name, key in zip(names, keys, strict=True)},
        )
