"""Judges if LOWAT follows a link's changing rate within two round trips. Pure, except `follow`, which reads files.

1. A round trip of the connection begins at an instant, and ends when all bytes sent before that instant are
   acknowledged, lost bytes included. Then the next round trip begins. So a round trip includes the wait in the
   bottleneck queue, and is much longer after a drop of the rate.
2. LOWAT allows LOWAT bytes and one packet buffer of 64 KiB to be unsent, because the kernel checks LOWAT only before it
   begins a packet buffer. Divided by the link's present rate of payload, these bytes are a time. The target is the
   longest time for which a byte should be unsent.
3. LOWAT is right while this time differs from the target by at most a quarter. An exact match cannot be expected,
   because a tuner ignores changes of an eighth, and uses measured rates.
4. LOWAT has followed a step at the instant from which on it is right until the next step, or until the front has handed
   over all its bytes. LOWAT follows in time if this instant comes at most two round trips after the step. A fixed
   LOWAT, which is right for one rate, does not follow.
5. Each sample of the unsent bytes is converted to a time in the same way. The unsent bytes have followed a step at the
   sample from which on two conditions hold: no sample is more than a quarter above the target, and no period of twice
   the target has only samples below half of the target. After a drop of the rate this takes until the link has sent the
   older unsent bytes. Rule 5 shows the effect of rule 4 on the connection.

Times have the resolution of the socket's samples (SAMPLE).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Run
from priolab.analysis.records.samples import latest
from priolab.common.formats.decisions import JOURNAL, Decision
from priolab.common.formats.reading import FolderError, read_journal
from priolab.common.formats.samples import SocketSample
from priolab.common.formats.scenario import AUTO
from priolab.common.packets import PACKET_BUFFER_BYTES, unframed

ROUND_TRIPS = 2
BAND = 0.25
_LEAST = 0.5
_STRETCH = 2
_NS = 10**9


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A value of LOWAT that applies from t_ns on. lowat_bytes: None for no limit."""

    t_ns: int
    lowat_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The observations of a connection.

    looks: the samples of the front's socket, in order of time. settings: the values of LOWAT, in order of time. rate:
    the link's rate; each piece except the first is a step. until_ns: the time at which the front had handed over all
    its bytes. target_ns: the longest time for which a byte should be unsent.
    """

    looks: Sequence[SocketSample]
    settings: Sequence[Setting]
    rate: Rate
    until_ns: int
    target_ns: int

    def lets_stand_ns(self, t_ns: int) -> float | None:
        """Returns how long the link needs for the most bytes that LOWAT allows to be unsent at t_ns.

        None if LOWAT is unset at t_ns.
        """
        setting = latest(self.settings, t_ns)
        if setting is None or setting.lowat_bytes is None:
            return None
        return self._time_ns(setting.lowat_bytes + PACKET_BUFFER_BYTES, t_ns)

    def unsent_ns(self, look: SocketSample) -> float:
        """Returns how long the link needs, at its rate at that time, for the unsent bytes of a sample."""
        return self._time_ns(look.notsent_bytes, look.t_ns)

    def _time_ns(self, size_bytes: int, t_ns: int) -> float:
        return size_bytes * 8 * _NS / unframed(self.rate.at_bit_s(t_ns))


@dataclass(frozen=True, kw_only=True)
class Step:
    """A change of the link's rate, and how LOWAT followed it.

    rate_bit_s: the new rate. round_trips_ns: the times from the step to the ends of the next two round trips; fewer if
    the samples end before. lowat_ns: the time from the step until LOWAT had followed the step; None for never.
    unsent_ns: the time until the unsent bytes had followed the step; None for never.
    """

    at_ns: int
    rate_bit_s: int
    round_trips_ns: tuple[int, ...]
    lowat_ns: int | None
    unsent_ns: int | None

    @property
    def is_followed(self) -> bool:
        """True if LOWAT followed the step within two round trips."""
        return (
            self.lowat_ns is not None
            and len(self.round_trips_ns) == ROUND_TRIPS
            and self.lowat_ns <= self.round_trips_ns[-1]
        )


def round_trips(looks: Sequence[SocketSample], from_ns: int, number: int) -> Iterator[int]:
    """Yields the times at which successive round trips end; the first of them begins at from_ns.

    looks: the samples of the front's socket. number: the number of round trips; there are fewer if the samples end
    before.
    """
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
    """Judges how LOWAT followed each change of the link's rate, until the front had handed over all its bytes."""
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
    """Returns the instant, at the earliest from_ns, from which on LOWAT was right until until_ns.

    LOWAT is right if the link needs the target time, give or take a quarter, for the unsent bytes that LOWAT allows.
    None if LOWAT was not right just before until_ns.
    """
    changes = [from_ns, *(each.t_ns for each in seen.settings if from_ns < each.t_ns < until_ns)]
    since_ns = None
    for t_ns in reversed(changes):
        lets_stand_ns = seen.lets_stand_ns(t_ns)
        if lets_stand_ns is None or abs(lets_stand_ns - seen.target_ns) > BAND * seen.target_ns:
            break
        since_ns = t_ns
    return since_ns


def _unsent_right_ns(seen: Seen, from_ns: int, until_ns: int) -> int | None:
    """Returns the instant from which on the unsent bytes were right until until_ns; None if there is none.

    They are right while no sample is more than a quarter above the target time, and no period of twice the target time
    has only samples below half of it. None also if this instant is too close to until_ns to judge: at most twice the
    target time earlier.
    """
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
    """Reads a run's samples and values of LOWAT. target_ns: the longest time for which a byte should be unsent.

    Raises FolderError if the front's socket was not sampled, or if the link's rate is unlimited.
    """
    layers, load = run.layers(), measured_load(run.evidence())
    rate = Rate.of(run.scenario, load.started_ns)
    if rate is None or not layers.sockets:
        raise FolderError(f"{run.path}: the front's socket was not sampled, or the link's rate is unlimited")
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
    decisions = read_journal(run.path / "front" / JOURNAL, Decision)
    return [Setting(t_ns=each.t_ns, lowat_bytes=each.new_bytes) for each in decisions if each.outcome == "set"]
