"""Observations of a LOWAT that follows a rate."""

from collections.abc import Callable, Sequence

from priolab.analysis.records.rate import Rate
from priolab.analysis.reports.following import Seen, Setting
from priolab.common.formats.samples import SocketSample
from priolab.common.packets import PACKET_BUFFER_BYTES, unframed
from tests.support.builders import MS, socket_sample

FAST_BIT_S, SLOW_BIT_S = 100_000_000, 10_000_000


TARGET_MS = 100


UNTIL_MS = 4000


RATE = Rate(pieces=((0, FAST_BIT_S), (1000 * MS, SLOW_BIT_S), (3000 * MS, FAST_BIT_S)))


FLIGHT_BYTES = 250_000


def right_bytes(rate_bit_s: int, part: float = 1.0) -> int:
    """Returns the LOWAT with which `part` of the target's bytes stay unsent; the target is 100 ms at the link's rate.

    The kernel holds a packet buffer beyond LOWAT, so LOWAT is smaller than the unsent bytes by a packet buffer.
    """
    return round(part * unframed(rate_bit_s) / 8 * TARGET_MS / 1000) - PACKET_BUFFER_BYTES


def look(t_ms: int, *, sent: int, acked: int, unsent: int = 0) -> SocketSample:
    return socket_sample(
        t_ns=t_ms * MS,
        notsent_bytes=unsent,
        cwnd_segments=10,
        rtt_us=50_000,
        bytes_sent=sent,
        bytes_acked=acked,
        sndbuf_bytes=4 * 2**20,
    )


def looks(unsent: Callable[[int], int] = lambda _: 0) -> list[SocketSample]:
    """Returns samples every 10 ms with 250 kB in flight: a round trip is 20 ms at 100 Mbit/s and 200 ms at 10 Mbit/s.

    unsent: returns the unsent bytes for a time in milliseconds.
    """
    found = []
    acked = 0
    for t_ms in range(0, UNTIL_MS + 200, 10):
        acked += (SLOW_BIT_S if 1000 <= t_ms < 3000 else FAST_BIT_S) // 8 // 100
        found.append(look(t_ms, sent=acked + FLIGHT_BYTES, acked=acked, unsent=unsent(t_ms)))
    return found


def seen(settings: Sequence[tuple[int, int | None]], unsent: Callable[[int], int] = lambda _: 0) -> Seen:
    """Returns the observations of a connection. settings: (milliseconds, LOWAT) of each change."""
    return Seen(
        looks=looks(unsent),
        settings=[Setting(t_ns=t_ms * MS, lowat_bytes=lowat) for t_ms, lowat in settings],
        rate=RATE,
        until_ns=UNTIL_MS * MS,
        target_ns=TARGET_MS * MS,
    )
