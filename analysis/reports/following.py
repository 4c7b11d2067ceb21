"""Whether LOWAT goes along with a link whose rate changes: within two round trips, or never. Pure, but for `follow`.

1. A round trip is the connection's own. It begins at an instant and ends when all that had been sent by then has been
   acknowledged, whatever had been lost of it included; the next one begins there. So it has the queue in it that stands
   in the bottleneck at that time, and after a drop is many times longer than before.
2. What LOWAT lets stand unsent is LOWAT and one packet buffer of 64 KiB, which the kernel fills without asking. As a
   time it is that over the payload that the link's rate carries now.
3. A LOWAT is right while that time is within a quarter of the target: an eighth is what a tuner lets pass before it
   sets another value, and rates are measured.
4. A step is followed when LOWAT is right from then until the next step, or until the front has handed over all it had.
   In time is within two round trips. A LOWAT that is right for one rate does not follow the step to another.
5. What stands unsent has followed when no later look shows more than a quarter above the target, and no stretch of
   twice the target shows less than a half of it at every look. After a drop that takes as long as the link needs for
   what stood there already. This is what can be seen of 4, and comes with it.

Times are known to one look at the socket (SAMPLE).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.loads.metrics import measured_load
from analysis.records.rate import Rate
from analysis.records.runs import Run
from analysis.records.samples import latest
from common.formats.decisions import Decision
from common.formats.reading import FolderError, read_journal
from common.formats.samples import SocketSample
from common.formats.scenario import AUTO
from common.packets import PACKET_BUFFER_BYTES, unframed

ROUND_TRIPS = 2
BAND = 0.25
_LEAST = 0.5
_STRETCH = 2
_NS = 10**9


@dataclass(frozen=True, kw_only=True)
class Setting:
    """From then on the connection had this LOWAT; None: no limit."""

    t_ns: int
    lowat_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was seen of one connection, in order of time. until_ns: by then the front had handed over all it had.

    rate: of the link; its first piece is no step. target_ns: for how long at most something should stand unsent.
    """

    looks: Sequence[SocketSample]
    settings: Sequence[Setting]
    rate: Rate
    until_ns: int
    target_ns: int

    def lets_stand_ns(self, t_ns: int) -> float | None:
        """What LOWAT lets stand unsent at an instant, as time; None without limit, or before there was a LOWAT."""
        setting = latest(self.settings, t_ns)
        if setting is None or setting.lowat_bytes is None:
            return None
        return self._time_ns(setting.lowat_bytes + PACKET_BUFFER_BYTES, t_ns)

    def unsent_ns(self, look: SocketSample) -> float:
        """What stood unsent, as time."""
        return self._time_ns(look.notsent_bytes, look.t_ns)

    def _time_ns(self, size_bytes: int, t_ns: int) -> float:
        return size_bytes * 8 * _NS / unframed(self.rate.at_bit_s(t_ns))


@dataclass(frozen=True, kw_only=True)
class Step:
    """One change of the rate, and what became of it.

    round_trips_ns: how long after it each of two round trips was over, fewer if the load had ended by then.
    lowat_ns, unsent_ns: how long after it LOWAT, and what stood unsent, had followed; None for never.
    """

    at_ns: int
    rate_bit_s: int
    round_trips_ns: tuple[int, ...]
    lowat_ns: int | None
    unsent_ns: int | None

    @property
    def is_followed(self) -> bool:
        """In time."""
        return (
            self.lowat_ns is not None
            and len(self.round_trips_ns) == ROUND_TRIPS
            and self.lowat_ns <= self.round_trips_ns[-1]
        )


def round_trips(looks: Sequence[SocketSample], from_ns: int, number: int) -> Iterator[int]:
    """When each of so many round trips was over, the first of which begins then; fewer if the looks end before."""
    at_ns = from_ns
    for _ in range(number):
        last = latest(looks, at_ns)
        sent_bytes = last.sent_bytes if last else 0
        ended = next((look.t_ns for look in looks if look.t_ns > at_ns and look.bytes_acked >= sent_bytes), None)
        if ended is None:
            return
        yield ended
        at_ns = ended


def steps(seen: Seen) -> list[Step]:
    """What became of every change of the rate that came before all was handed over."""
    pieces = [piece for piece in seen.rate.pieces[1:] if piece[0] < seen.until_ns]
    found = []
    for (at_ns, rate_bit_s), (end_ns, _) in pairwise([*pieces, (seen.until_ns, 0)]):
        lowat_ns, unsent_ns = _lowat_right_ns(seen, at_ns, end_ns), _unsent_right_ns(seen, at_ns, end_ns)
        found.append(
            Step(
                at_ns=at_ns,
                rate_bit_s=rate_bit_s,
                round_trips_ns=tuple(end - at_ns for end in round_trips(seen.looks, at_ns, ROUND_TRIPS)),
                lowat_ns=None if lowat_ns is None else lowat_ns - at_ns,
                unsent_ns=None if unsent_ns is None else unsent_ns - at_ns,
            )
        )
    return found


def _lowat_right_ns(seen: Seen, from_ns: int, until_ns: int) -> int | None:
    """Since when LOWAT was right at the end, no earlier than from_ns."""
    changes = [from_ns, *(each.t_ns for each in seen.settings if from_ns < each.t_ns < until_ns)]
    since_ns = None
    for t_ns in reversed(changes):
        lets_stand_ns = seen.lets_stand_ns(t_ns)
        if lets_stand_ns is None or abs(lets_stand_ns - seen.target_ns) > BAND * seen.target_ns:
            break
        since_ns = t_ns
    return since_ns


def _unsent_right_ns(seen: Seen, from_ns: int, until_ns: int) -> int | None:
    """Since when what stood unsent was right at the end, no earlier than from_ns; None also if that is too short."""
    looks = [look for look in seen.looks if from_ns <= look.t_ns < until_ns]
    since_ns, enough_ns = None, until_ns
    for look in reversed(looks):
        unsent_ns = seen.unsent_ns(look)
        if unsent_ns >= _LEAST * seen.target_ns:
            enough_ns = look.t_ns
        if unsent_ns > (1 + BAND) * seen.target_ns or enough_ns - look.t_ns > _STRETCH * seen.target_ns:
            break
        since_ns = look.t_ns
    is_told = since_ns is not None and until_ns - since_ns > _STRETCH * seen.target_ns
    return since_ns if is_told else None


def follow(run: Run, target_ns: int) -> Seen:
    """What was seen of a run's measured load. Raises FolderError if there is not enough in its folder."""
    layers, load = run.layers(), measured_load(run.evidence())
    rate = Rate.of(run.scenario, load.started_ns)
    if rate is None or not layers.sockets:
        raise FolderError(f"{run.path}: no looks at the socket, or no rate")
    most_bytes = max(look.handed_bytes for look in layers.sockets)
    return Seen(
        looks=layers.sockets,
        settings=_settings(run),
        rate=rate,
        until_ns=next(look.t_ns for look in layers.sockets if look.handed_bytes == most_bytes),
        target_ns=target_ns,
    )


def _settings(run: Run) -> list[Setting]:
    lowat = run.scenario.lowat
    if lowat != AUTO:
        return [Setting(t_ns=0, lowat_bytes=lowat)]
    decisions = read_journal(run.path / "front" / "lowat.jsonl", Decision)
    return [Setting(t_ns=each.t_ns, lowat_bytes=each.new_bytes) for each in decisions if each.outcome == "set"]
