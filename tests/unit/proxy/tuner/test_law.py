"""Tests of the law of LOWAT=auto: its rules, its invariants, and law.h against the same law in Python."""

import ctypes
import struct

import pytest
from hypothesis import given, settings

from priolab.common.formats.decisions import Why
from tests.support.tuner.law import (
    CEILING_BYTES,
    PACKET_BUFFER_BYTES,
    Acked,
    Aim,
    Choice,
    Seen,
    decide,
    differs,
    rate_of,
    wait_us,
)
from tests.support.tuner.numbers import aims, compiled, seen, u32, u64
from tests.support.tuner.replay import WHYS

AIM = Aim()
MBIT_BYTES_S = 125_000
MOST_BYTES_S = 10**12


def _seen(mbit_s: float = 0, cwnd: int = 10_000, rtt_ms: float = 50) -> Seen:
    return Seen(
        delivery_rate_bytes_s=round(mbit_s * MBIT_BYTES_S),
        acked_rate_bytes_s=0,
        highest_rate_bytes_s=MOST_BYTES_S,
        cwnd_segments=cwnd,
        mss_bytes=1448,
        rtt_us=int(rtt_ms * 1000),
    )


@pytest.mark.parametrize(
    ("given", "lowat_bytes", "why"),
    [
        (_seen(100), 625_000 - 65_536, Why.RATE),
        (_seen(20), 125_000 - 65_536, Why.RATE),
        (_seen(10), 2 * (1_250 + 6 * 1448), Why.FLOOR),
        (_seen(0.128), 2 * (16 + 6 * 1448), Why.FLOOR),
        (_seen(1_000_000, rtt_ms=0.05), CEILING_BYTES, Why.CEILING),
        # Only the round trip is known, or not even the round trip.
        (_seen(0, cwnd=10), 2 * 6 * 1448, Why.UNKNOWN),
        (_seen(0, cwnd=10, rtt_ms=0), 2 * 6 * 1448, Why.UNKNOWN),
        # After idle time the congestion window limits the rate, except for a window of four segments (BBR's PROBE_RTT).
        (_seen(100, cwnd=10), 2 * (289 + 6 * 1448), Why.FLOOR),
        (_seen(100, cwnd=4), 625_000 - 65_536, Why.RATE),
    ],
)
def test_the_rules(given: Seen, lowat_bytes: int, why: Why) -> None:
    """LOWAT is rate times target less the packet buffer; on slow links it is the floor."""
    choice = decide(given, AIM)
    assert (choice.lowat_bytes, choice.why) == (lowat_bytes, why)


def test_what_was_acknowledged_counts_if_it_is_more() -> None:
    """The higher of delivery rate and acknowledged rate is used, because a rise shows first in the latter.
    The window limits both rates.
    """
    fast, slow = _seen(100), _seen(10)
    assert decide(slow._replace(acked_rate_bytes_s=fast.delivery_rate_bytes_s), AIM) == decide(fast, AIM)
    assert decide(fast._replace(acked_rate_bytes_s=slow.delivery_rate_bytes_s), AIM) == decide(fast, AIM)
    small = _seen(10, cwnd=10)
    assert decide(small._replace(acked_rate_bytes_s=fast.delivery_rate_bytes_s), AIM) == decide(small, AIM)


@pytest.mark.parametrize("rtt_ms", [0.05, 1, 1.5, 5, 20, 300])
def test_the_window_of_a_connection_that_has_sent_nothing_is_no_rate(rtt_ms: float) -> None:
    """A new connection gets the floor, however short its round trip and large its window."""
    for cwnd in (10, 1000):
        choice = decide(_seen(0, cwnd=cwnd, rtt_ms=rtt_ms), AIM)
        assert (choice.rate_bytes_s, choice.lowat_bytes, choice.why) == (0, 2 * 6 * 1448, Why.UNKNOWN)


def test_small_responses_are_not_full_packets() -> None:
    """The kernel's delivery rate counts packets as full ones. It does not count beyond the bytes that were seen."""
    exaggerated = _seen(77, cwnd=10, rtt_ms=1.5)
    assert decide(exaggerated, AIM).lowat_bytes > 400_000
    true = exaggerated._replace(acked_rate_bytes_s=200_000, highest_rate_bytes_s=250_000)
    assert decide(true, AIM) == decide(_seen(2), AIM)
    assert decide(exaggerated._replace(highest_rate_bytes_s=0), AIM).why == Why.UNKNOWN


def test_the_target_is_kept() -> None:
    """The unsent bytes that LOWAT allows, including the packet buffer, take the target's time to send."""
    for target_us in (20_000, 50_000, 200_000):
        choice = decide(_seen(100), Aim(target_us=target_us))
        assert (choice.lowat_bytes + PACKET_BUFFER_BYTES) * 10**6 // choice.rate_bytes_s == target_us


@given(seen, aims)
def test_bounded_whatever_the_kernel_says(given: Seen, aim: Aim) -> None:
    """LOWAT is between floor and ceiling for all numbers of the kernel, and never 0, which would unset it."""
    assert 0 < aim.floor_bytes <= decide(given, aim).lowat_bytes <= aim.ceiling_bytes < 2**31


@given(seen, aims, u64)
def test_monotone_in_the_rate(given: Seen, aim: Aim, other: int) -> None:
    """A faster link never gets a smaller value."""
    slower, faster = sorted([max(1, given.delivery_rate_bytes_s), max(1, other)])
    choices = [decide(_with_rate(given, rate), aim).lowat_bytes for rate in (slower, faster)]
    assert choices == sorted(choices)


def _with_rate(given: Seen, rate: int) -> Seen:
    return given._replace(delivery_rate_bytes_s=rate)


def test_a_rate_that_drops_is_followed_in_one_look() -> None:
    """Each sample is decided without an average. A change must exceed an eighth."""
    trace = [_seen(rate) for rate in (100, 99, 105, 10, 10, 100)]
    lowats, set_bytes = [], 0
    for look in trace:
        wanted = decide(look, AIM).lowat_bytes
        if not set_bytes or differs(set_bytes, wanted):
            set_bytes = wanted
        lowats.append(set_bytes)
    fast, slow = 559_464, 19_876
    assert lowats == [fast, fast, fast, slow, slow, fast]


def _acked(*steps: tuple[int, float]) -> Acked:
    """Return the measurement after round trips. Each step: its bytes, and its time in ms."""
    acked, now_ns, all_bytes = Acked(), 1, 0
    acked.begin(0, now_ns)
    for size_bytes, time_ms in steps:
        now_ns, all_bytes = now_ns + round(time_ms * 10**6), all_bytes + size_bytes
        acked.note(all_bytes % 2**32, now_ns)
    return acked


def test_a_burst_is_no_rate() -> None:
    """Four packets that a shaper lets pass at once after a loss count over 100 ms."""
    steady = [(300_000, 120.0)] * 10
    burst = _acked(*steady, *[(4 * 1448, 0.1)] * 3)
    assert 2_500_000 <= burst.highest_rate_bytes_s <= 1.06 * 2_500_000


def test_the_gap_before_a_clump_counts() -> None:
    """Acknowledgments that were held back for three seconds give at most four times the rate."""
    steady, gap, clump = [(62_500, 25.0)] * 40, (1448, 3000.0), (7_500_000 - 1448, 100.0)
    for round_trips in ([gap, clump], [gap, clump, *steady[:9]]):
        assert 2_500_000 <= _acked(*steady, *round_trips).highest_rate_bytes_s <= 4 * 2_500_000
    assert _acked(*steady, gap, clump).rate_bytes_s > 20 * 2_500_000


def test_slow_start_with_short_round_trips() -> None:
    """Until 100 ms have passed, LOWAT and a packet buffer are half of all acknowledged bytes."""
    acked = _acked(*((14_480 << at, 10.0) for at in range(7)))
    all_bytes = 14_480 * 127
    assert acked.rate_bytes_s == acked.highest_rate_bytes_s == all_bytes * 10
    found = decide(Seen(0, acked.rate_bytes_s, acked.highest_rate_bytes_s, 2000, 1448, 10_000), AIM)
    assert found.lowat_bytes == all_bytes // 2 - PACKET_BUFFER_BYTES


def test_long_round_trips_count_alone() -> None:
    """The rate of a round trip of 100 ms or more is its own, and the highest rate follows a faster link at once."""
    slow, fast = [(125_000, 100.0)] * 30, (1_250_000, 100.0)
    faster = _acked(*slow, fast)
    assert faster.rate_bytes_s == faster.highest_rate_bytes_s == 12_500_000


def test_the_highest_rate_is_forgotten() -> None:
    """A link's earlier rate counts for two seconds at most, and no time without round trips makes it forgotten."""
    fast, slow = [(1_250_000, 100.0)] * 20, [(125_000, 100.0)]
    assert _acked(*fast, *slow * 9).highest_rate_bytes_s == 12_500_000
    assert _acked(*fast, (14_480, 60_000.0)).highest_rate_bytes_s == 12_500_000
    assert _acked(*fast, *slow * 22).highest_rate_bytes_s == 1_250_000


def test_what_the_kernel_forgets_counts_once() -> None:
    """After a timeout the kernel may forget selective acknowledgments; the same bytes later are not new."""
    acked = Acked()
    acked.begin(2**32 - 1000, 1)
    for all_bytes in (2**32 - 500, 2**32 - 900, 2**32 - 500):
        acked.note(all_bytes, 10**8)
    assert acked.rate_bytes_s == 500 * 10
    acked.note(500, 10**8)
    assert acked.rate_bytes_s == 1500 * 10


_IN_C = """
#include "law.h"
struct numbers { struct seen seen; struct aim aim; struct choice choice; __u64 wait_us; };
struct noted { __u32 more_bytes, later_ns; struct acked acked; __u64 highest_bytes_s; };
static struct acked acked;
static __u64 now_ns;
static __u64 state = 88172645463325252ULL;
static __u64 any(int bits) /* with each number of bits equally often */
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    int shift = 64 - bits + state % (bits + 1);
    return shift == 64 ? 0 : state >> shift;
}
static __u32 size(void) { return 1 + any(31) % 0x7fffffff; }
void many(struct numbers *all, int count)
{
    for (struct numbers *n = all; n != all + count; n++) {
        __u32 a = size(), b = size(), target = any(32);
        n->seen = (struct seen){any(64), any(64), any(64), any(32), any(32), any(32)};
        n->aim = (struct aim){target ? target : 1, a < b ? a : b, a < b ? b : a};
        decide(&n->seen, &n->aim, &n->choice);
        n->wait_us = wait_us(n->choice.lowat_bytes, n->choice.rate_bytes_s);
    }
}
void spans(struct noted *all, int count) /* round trips of one connection, with long ones, and steps back */
{
    if (now_ns == 0)
        begin_acked(&acked, 7, now_ns = 1);
    for (struct noted *n = all; n != all + count; n++) {
        n->more_bytes = any(2) ? any(32) : any(24);
        n->later_ns = any(31);
        now_ns += n->later_ns;
        note_acked(&acked, acked.all_bytes + n->more_bytes, now_ns);
        n->acked = acked;
        n->highest_bytes_s = highest_rate_bytes_s(&acked);
    }
}
int c_differs(__u32 a, __u32 b) { return differs(a, b); }
__u64 c_rate(__u32 s, __u32 i, __u32 m) { return delivery_rate_bytes_s(s, i, m); }
__u64 c_rate_of(__u64 b, __u64 t) { return rate_of(b, t); }
"""
_NUMBERS = struct.Struct("=3Q3I4x3I4xQ2IQ")
_NOTED = struct.Struct("=2I7Q4IQ")
_MANY, _AT_ONCE = 10**6, 10**5


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory, gcc: None) -> ctypes.CDLL:  # noqa: ARG001
    """Compile law.h for this machine, and return the library."""
    loaded = compiled(_IN_C, tmp_path_factory.mktemp("law"))
    loaded.c_rate.restype = loaded.c_rate_of.restype = ctypes.c_uint64
    return loaded


@pytest.mark.release
def test_a_million_decisions(in_c: ctypes.CDLL) -> None:
    """law.h gives the same as the law in Python for a million inputs, small, large and the largest."""
    numbers = ctypes.create_string_buffer(_AT_ONCE * _NUMBERS.size)
    reasons = set()
    for _ in range(_MANY // _AT_ONCE):
        in_c.many(numbers, _AT_ONCE)
        for of in _NUMBERS.iter_unpack(numbers.raw):
            rate_bytes_s, lowat_bytes, why, wait = of[9:]
            choice = decide(Seen(*of[:6]), Aim(*of[6:9]))
            assert choice == Choice(rate_bytes_s, lowat_bytes, WHYS[why]), of
            assert wait == wait_us(lowat_bytes, rate_bytes_s), of
            reasons.add(why)
    assert len(reasons) == WHYS.index(Why.SYSCTL)


@pytest.mark.release
def test_a_million_round_trips(in_c: ctypes.CDLL) -> None:
    """law.h measures the same rates of bytes as the law in Python."""
    noted = ctypes.create_string_buffer(_AT_ONCE * _NOTED.size)
    acked, now_ns = Acked(), 1
    acked.begin(7, now_ns)
    for _ in range(_MANY // _AT_ONCE):
        in_c.spans(noted, _AT_ONCE)
        for more_bytes, later_ns, *state in _NOTED.iter_unpack(noted.raw):
            now_ns += later_ns
            acked.note((acked.all_bytes + more_bytes) % 2**32, now_ns)
            rates = acked.rate_bytes_s, acked.highest_bytes_s, acked.before_bytes_s
            sizes = *acked.span_bytes, acked.all_bytes
            assert (*acked.span_ns, acked.since_ns, *rates, *sizes, acked.highest_rate_bytes_s) == tuple(state)


def test_the_kernel_reckons_the_same_rate(in_c: ctypes.CDLL) -> None:
    """C and Python give the same rate. A result that is too large is the largest number, and no time gives 0."""

    @settings(max_examples=1000, deadline=None)
    @given(u64, u64)
    def same(size_bytes: int, time_us: int) -> None:
        assert in_c.c_rate_of(ctypes.c_uint64(size_bytes), ctypes.c_uint64(time_us)) == rate_of(size_bytes, time_us)

    same()
    assert (rate_of(125_000, 100_000), rate_of(1, 0), rate_of(2**63, 1)) == (1_250_000, 0, 2**64 - 1)


def test_the_kernel_changes_for_the_same(in_c: ctypes.CDLL) -> None:
    """C and Python agree on which changes are made. C computes the delivery rate as TCP_INFO does."""

    @settings(max_examples=1000, deadline=None)
    @given(u32, u32, u32)
    def same(a: int, b: int, c: int) -> None:
        assert bool(in_c.c_differs(ctypes.c_uint32(a), ctypes.c_uint32(b))) == differs(a, b)
        bytes_us = a * c * 10**6
        expected = 0 if not a or not b else min(bytes_us // b, 2**64 - 1) if bytes_us < 2**64 else 2**64 - 1
        assert in_c.c_rate(ctypes.c_uint32(a), ctypes.c_uint32(b), ctypes.c_uint32(c)) == expected

    same()
