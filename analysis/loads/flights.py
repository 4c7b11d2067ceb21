"""Computes how a front's kernel sends a page load, flight by flight. Pure.

A *flight* is what is sent in a round trip: as many segments as the congestion window has. Rules:

1. The first flight is sent at once, unless the congestion control paces. Of such a burst the bottleneck drops what does
   not fit into its queue. Later flights are clocked by acknowledgements. In slow start two segments follow each
   acknowledgement, so half of a flight must fit into the queue. In the end, link and queue together must hold a flight.
2. In slow start the window grows by a segment for each one that arrives. Afterwards it grows by a segment in a round
   trip; with cubic by the clock if that is more (RFC 9438, 4.2), before the first loss by a twentieth at least, and by
   half at most (tcp_cubic.c).
3. Of a burst, the end is dropped. This shows only when the next flight arrives, in which a segment follows each that
   has arrived; so the dropped segments are sent again in the flight after the next. Of other flights segments are
   dropped from the one on with which the window is too large, and are sent again in the next flight. Then the window is
   reduced, slow start has ended, and the dropped segments go before new ones.
4. A segment cannot be read sooner than those before it in the stream.
5. A flight begins when the first segment of the flight before has been acknowledged.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, pairwise
from math import inf

_CUBIC = 0.4  # segments/s^3: C in RFC 9438
_NOTHING = 1e-6  # segments
_Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Path:
    """A link in segments of full size.

    pipe: the segments that fill the link without a queue. queue: the segments that fit into the queue. segment_s: a
    segment's transmission time. round_trip_s: the link's two delays.
    """

    pipe: float
    queue: int
    segment_s: float
    round_trip_s: float

    @property
    def most(self) -> float:
        """The segments that link and queue hold together."""
        return self.pipe + self.queue

    @property
    def longest_s(self) -> float:
        """The time of a round trip with a full queue."""
        return self.round_trip_s + (self.queue + 1) * self.segment_s


@dataclass(frozen=True, kw_only=True)
class Sender:
    """The congestion control at the beginning of a flight.

    window: in segments. slow_start_until: the window at which slow start ends, also without a loss. after_loss: the
    part of the window that a loss leaves. is_paced: True if no flight is sent at once, and a loss leaves all of the
    window. is_cubic: True if the window grows by the clock. since_s: the time since the window last began to grow so;
    before: the window before the last loss.
    """

    window: float
    slow_start_until: float = inf
    after_loss: float = 1.0
    is_paced: bool = False
    is_cubic: bool = False
    since_s: float = 0.0
    before: float = 0.0

    @property
    def doubles(self) -> bool:
        """True in slow start."""
        return self.window < self.slow_start_until

    def grown(self, arrived: float, took_s: float) -> "Sender":
        """Returns the congestion control after a flight of which so many segments arrived, in so many seconds."""
        if self.doubles:
            return replace(self, window=min(self.window + arrived, max(self.slow_start_until, self.window)))
        if self.is_paced:
            return self
        rise = 1.0
        if self.is_cubic:
            until_s = self.since_s + took_s
            flat_s = (max(0.0, self.before - self.before * self.after_loss) / _CUBIC) ** (1 / 3)
            rise = max(rise, _CUBIC * ((until_s - flat_s) ** 3 - (self.since_s - flat_s) ** 3))
            rise = min(self.window / 2, rise if self.before else max(rise, self.window / 20))
        return replace(self, window=self.window + rise, since_s=self.since_s + took_s)

    def reduced(self) -> "Sender":
        """Returns the congestion control after a loss."""
        if self.is_paced:
            return self
        window = max(2.0, self.window * self.after_loss)
        return replace(self, window=window, slow_start_until=window, since_s=0.0, before=self.window)


@dataclass(frozen=True, kw_only=True)
class Flight:
    """A flight. Times are in seconds after the beginning of the load's responses.

    start_s: the time at which the front begins to send it. crosses_s: the time at which it begins to cross the
    bottleneck. lasts_s: the time in which the front sends it. first, end: its new segments have the numbers from
    `first` up to `end`. arrive: the segments that arrive, by the ranges of their numbers, in the order in which they
    are sent. dropped: the number of new segments that are dropped. is_hidden: True if drops have not shown yet.
    """

    start_s: float
    crosses_s: float
    lasts_s: float
    first: float
    end: float
    arrive: tuple[_Range, ...]
    dropped: float
    is_hidden: bool
    sender: Sender

    def sent_segments(self, at_s: float) -> float:
        """Returns the number of new segments that have been sent by a time, those of earlier flights included."""
        done = 1.0 if at_s >= self.start_s + self.lasts_s else (at_s - self.start_s) / self.lasts_s
        return self.first + max(0.0, done) * (self.end - self.first)


def flights(sender: Sender, path: Path) -> Iterator[Flight]:
    """Yields the flights of a load that never ends."""
    start_s, crosses_s, first, arrived, before = 0.0, 0.0, 0.0, 0.0, sender.window
    lost: list[_Range] = []
    shows_in: dict[int, _Range] = {}
    for number in count():
        if number in shows_in:
            lost.append(shows_in.pop(number))
            sender = sender.reduced()
        size = min(sender.window, arrived) if shows_in else sender.window
        again, lost = _taken(lost, size)
        fresh = size - _length(again)
        at_once = number == 0 and not sender.is_paced
        fits, holds = _fitting(sender, path, before, at_once=at_once)
        dropped = max(0.0, min(fresh, size - holds))
        drop_at = first + min(fits, fresh - dropped)
        end = first + fresh
        flight = Flight(
            start_s=start_s,
            crosses_s=max(start_s, crosses_s),
            lasts_s=(size if sender.is_paced else arrived) * path.segment_s,
            first=first,
            end=end,
            arrive=(*again, (first, drop_at), (drop_at + dropped, end)),
            dropped=dropped,
            is_hidden=bool(dropped or shows_in),
            sender=sender,
        )
        yield flight
        if dropped:
            shows_in[number + (2 if at_once else 1)] = (drop_at, drop_at + dropped)
        first, arrived, before = end, size - dropped, sender.window
        next_s = flight.crosses_s + path.round_trip_s + path.segment_s
        crosses_s = flight.crosses_s + arrived * path.segment_s
        if not (lost or again):
            sender = sender.grown(arrived, next_s - start_s)
        start_s = next_s


def _fitting(sender: Sender, path: Path, before: float, *, at_once: bool) -> tuple[float, float]:
    """Returns how many segments of a flight arrive before the first that is dropped, and how many may arrive at all.

    before: the window at the beginning of the flight.
    """
    if at_once:
        return path.queue + 1.0, path.queue + 1.0
    room = max(0.0, path.most - before)
    if sender.doubles:
        return min(2.0 * path.queue, 2.0 * room), min(2.0 * path.queue, path.most)
    rise = sender.window - before
    return (room / rise * sender.window if rise > room else sender.window), path.most


def _length(ranges: Iterable[_Range]) -> float:
    return sum(end - begin for begin, end in ranges)


def _taken(lost: list[_Range], room: float) -> tuple[list[_Range], list[_Range]]:
    """Divides lost ranges into ranges that fit into a window, and the rest."""
    taken: list[_Range] = []
    rest: list[_Range] = []
    for begin, end in lost:
        middle = begin + min(room, end - begin)
        room -= middle - begin
        taken += [(begin, middle)] if middle > begin else []
        rest += [(middle, end)] if end > middle else []
    return taken, rest


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a load, in segments. sent: the new segments that have been sent. acked: the acknowledged ones.

    largest: the largest window so far.
    """

    sent: float
    acked: float
    largest: float


@lru_cache(maxsize=16)  # the same for all that a server may do
def progress(sender: Sender, path: Path, at_s: float, segments: float = inf) -> Progress:
    """Returns how far a load of so many segments is at a time after the beginning of its responses."""
    largest = 0.0
    for before, flight in pairwise(flights(sender, path)):
        largest = max(largest, before.sender.window)
        if flight.start_s > at_s or flight.first > segments:
            break
    sent = before.sent_segments(at_s)
    return Progress(sent=sent, acked=max(0.0, sent - before.sender.window), largest=largest)


def read_s(sender: Sender, path: Path, segments: float) -> float:
    """Returns the time at which so many segments, one after the other, have crossed the bottleneck."""
    latest_s, left = 0.0, segments
    for flight in flights(sender, path):
        at_s = flight.crosses_s
        for begin, end in flight.arrive:
            needed = min(end, segments) - begin
            if needed > 0:
                latest_s = max(latest_s, at_s + needed * path.segment_s)
                left -= needed
            at_s += (end - begin) * path.segment_s
        if left < _NOTHING:
            return latest_s
    raise AssertionError("flights never end")


def after_load(sender: Sender, path: Path, segments: float) -> tuple[Sender, float, bool]:
    """Returns the congestion control after a load of so many segments, the largest window of its flights, and whether
    segments were dropped.
    """
    largest, dropped = 0.0, False
    for flight in flights(sender, path):
        now = flight.sender
        largest, dropped = max(largest, now.window, now.before), dropped or flight.is_hidden
        if flight.end >= segments:
            after = now.grown(min(now.window, max(0.0, segments - flight.first)), path.round_trip_s)
            largest = max(largest, after.window)
            return (after.reduced() if flight.is_hidden else after), largest, dropped
    raise AssertionError("flights never end")
