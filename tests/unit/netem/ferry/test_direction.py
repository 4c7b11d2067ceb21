"""Tests of the ferry's queue model, which computes each packet's departure to the nanosecond."""

from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common.formats.samples import QueueContents
from priolab.netem.ferry import direction
from priolab.netem.ferry.direction import Counters, Direction
from priolab.netem.link import Link

MS = 10**6
FOREVER = 10**18
FULL = bytes(1514)
FULL_NS = 12_112_000
"""The transmission time of 1514 bytes at 1 Mbit/s."""


def departures(model: Direction, now_ns: int = FOREVER) -> list[int]:
    return [departure_ns for departure_ns, _ in model.due(now_ns)]


def arrive(model: Direction, *arrivals: tuple[int, bytes]) -> None:
    for now_ns, packet in arrivals:
        model.arrive(now_ns, packet)


def test_delay() -> None:
    """A packet leaves exactly the delay after its arrival. Many packets can be in the delay line at once."""
    model = Direction(delay_ns=300 * MS)
    arrive(model, (0, FULL), (1, FULL))
    assert model.next_ns == 300 * MS
    assert model.queue(300 * MS - 1) == QueueContents(packets=0, bytes=0, delay_line_packets=2, delay_line_bytes=3028)
    assert departures(model, 300 * MS - 1) == []
    assert departures(model, 300 * MS) == [300 * MS]
    assert departures(model, 300 * MS + 1) == [300 * MS + 1]


def test_rate() -> None:
    """While the bottleneck is busy, packets leave one transmission time apart, which depends on their sizes."""
    model = Direction(rate_bit_s=1_000_000)
    arrive(model, (100, FULL), (100, bytes(60)), (200, FULL))
    assert departures(model) == [100 + FULL_NS, 100 + FULL_NS + 480_000, 100 + 2 * FULL_NS + 480_000]


@pytest.mark.parametrize("delay_ns", [0, 300 * MS])
def test_drop_tail_counts_the_packet_being_sent(delay_ns: int) -> None:
    """The bottleneck keeps as many packets of a burst as its limit, however many are in the delay line."""
    model = Direction(rate_bit_s=1_000_000, delay_ns=delay_ns, limit_packets=3)
    arrive(model, *((0, FULL) for _ in range(10)))
    assert departures(model) == [delay_ns + FULL_NS * number for number in (1, 2, 3)]
    assert (model.counters.dropped, model.counters.longest_queue_packets) == (7, 3)


def test_byte_limit() -> None:
    """A packet that would exceed the byte limit is dropped, but a smaller one after it still fits."""
    model = Direction(rate_bit_s=8_000_000_000, limit_bytes=2000)
    arrive(model, (0, FULL), (0, FULL), (0, bytes(486)), (0, b"x"))
    assert departures(model) == [1514, 2000]
    assert model.counters.dropped == 2
    assert model.counters.longest_queue_bytes == 2000


def test_limits_do_not_matter_without_a_rate() -> None:
    """No packet waits in a bottleneck without a rate."""
    model = Direction(delay_ns=5, limit_packets=1, limit_bytes=1)
    arrive(model, (0, FULL), (0, FULL))
    assert departures(model) == [5, 5]
    assert model.counters.longest_queue_packets == 0


def test_jitter_keeps_order_and_bounds() -> None:
    """Delays vary within delay ± jitter; a packet that would overtake leaves together with the one before."""
    model = Direction(delay_ns=100, jitter_ns=60, seed=1)
    arrive(model, *((now_ns, now_ns.to_bytes(2, "big")) for now_ns in range(0, 5000, 10)))
    left = list(model.due(FOREVER))
    assert [int.from_bytes(packet, "big") for _, packet in left] == list(range(0, 5000, 10))
    assert [departure_ns for departure_ns, _ in left] == sorted(departure_ns for departure_ns, _ in left)
    delays = {departure_ns - int.from_bytes(packet, "big") for departure_ns, packet in left}
    assert min(delays) >= 40
    assert max(delays) <= 160
    assert len(delays) > 20


def test_loss_is_as_frequent_as_asked() -> None:
    """About the asked fraction of many packets is lost; lost and delivered packets add up to all."""
    model = Direction(loss=0.1, seed=1)
    arrive(model, *((0, b"x") for _ in range(10_000)))
    passed = len(departures(model))
    assert model.counters.lost + passed == 10_000
    assert 900 < model.counters.lost < 1100


def test_the_seed_decides_chance() -> None:
    """The same seed and packets give the same result; another seed or the other direction gives another."""
    link = Link(rate_bit_s=None, delay_ns=100, delay_up_ns=100, loss=0.3, jitter_ns=50)

    def fates(model: Direction) -> list[tuple[int, bytes]]:
        arrive(model, *((now_ns, str(now_ns).encode()) for now_ns in range(200)))
        return list(model.due(FOREVER))

    assert fates(Direction.down(link, 1)) == fates(Direction.down(link, 1))
    assert fates(Direction.down(link, 1)) != fates(Direction.down(link, 2))
    chances = {"delay_ns": 100, "loss": 0.3, "jitter_ns": 50}
    assert fates(Direction(**chances, seed="down 1")) != fates(Direction(**chances, seed="up 1"))  # type: ignore[arg-type]


def test_directions_of_a_link() -> None:
    """The direction down has every property of the Link except delay_up. The direction up has delay_up alone."""
    link = Link(rate_bit_s=1_000_000, delay_ns=50 * MS, delay_up_ns=20 * MS, queue_packets=2, loss=0.5, jitter_ns=MS)
    up, down = Direction.up(link, 1), Direction.down(link, 1)
    arrive(up, *((0, FULL) for _ in range(9)))
    assert departures(up) == [20 * MS] * 9
    arrive(down, *((0, FULL) for _ in range(100)))
    assert len(departures(down)) == 2
    assert down.counters.lost + down.counters.dropped == 98


def test_counters() -> None:
    """The counters account for every packet that came in."""
    model = Direction(rate_bit_s=1_000_000, limit_packets=2)
    arrive(model, (0, FULL), (0, bytes(60)), (0, FULL))
    assert departures(model, FULL_NS) == [FULL_NS]
    assert model.counters == Counters(
        packets_in=3,
        bytes_in=3088,
        packets_out=1,
        bytes_out=1514,
        dropped=1,
        longest_queue_packets=2,
        longest_queue_bytes=1574,
    )
    assert model.queue(FULL_NS) == QueueContents(packets=1, bytes=60, dropped=1)


def test_a_packet_handed_in_late_leaves_by_its_own_time() -> None:
    """A packet's departure follows from its arrival time, even if `due` was called with a later time before."""
    model = Direction(rate_bit_s=1_000_000)
    arrive(model, (0, FULL))
    assert departures(model, FULL_NS + 5) == [FULL_NS]
    arrive(model, (FULL_NS + 3, FULL))
    assert departures(model, FULL_NS + 5) == []
    assert departures(model) == [2 * FULL_NS + 3]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets beyond MOST_PACKETS are refused and counted."""
    monkeypatch.setattr(direction, "MOST_PACKETS", 3)
    model = Direction(delay_ns=10)
    arrive(model, *((0, b"x") for _ in range(5)))
    assert departures(model) == [10, 10, 10]
    assert model.counters.refused == 2


def test_a_packet_on_its_way_has_the_rate_it_will_find() -> None:
    """The next departure takes a future change of the rate into account."""
    model = Direction(rate_bit_s=1_000_000, delay_ns=10)
    model.change(10, 10_000_000)
    arrive(model, (0, FULL))
    assert model.next_ns == 10 + FULL_NS // 10
    assert departures(model) == [10 + FULL_NS // 10]


def test_a_change_told_too_late_holds_from_the_next_packet() -> None:
    """A change announced late affects neither departed packets nor the one being sent."""
    model = Direction(rate_bit_s=1_000_000)
    arrive(model, (0, FULL), (0, FULL), (0, FULL))
    assert departures(model, FULL_NS) == [FULL_NS]
    model.change(5, 10_000_000)
    assert departures(model) == [2 * FULL_NS, 2 * FULL_NS + FULL_NS // 10]


@given(
    sizes=st.lists(st.integers(64, 1514), min_size=60, max_size=60),
    rates=st.lists(st.integers(10**6, 10**7), min_size=4, max_size=4),
    gaps_ns=st.lists(st.integers(1, 60 * MS), min_size=3, max_size=3),
    between_ns=st.tuples(st.integers(0, 100 * MS), st.integers(0, 100 * MS)).map(sorted),
)
def test_what_it_carries_is_the_integral_of_its_rate(
    sizes: list[int], rates: list[int], gaps_ns: list[int], between_ns: list[int]
) -> None:
    """While packets wait, the bytes carried between two instants are the integral of the rate.

    There are two exceptions: the packet being sent at either instant counts as a whole, and the packet being sent at a
    change of the rate is finished at the old rate.
    """
    changes = [(sum(gaps_ns[: index + 1]), rate) for index, rate in enumerate(rates[1:])]
    model = Direction(rate_bit_s=rates[0])
    for at_ns, rate in changes:
        model.change(at_ns, rate)
    arrive(model, *((0, bytes(size)) for size in sizes))
    left = [(departure_ns, len(packet)) for departure_ns, packet in model.due(FOREVER)]
    from_ns, until_ns = (min(at_ns, left[-1][0]) for at_ns in between_ns)
    edges = [(0, rates[0]), *changes, (FOREVER, 0)]
    integral = sum(
        rate * max(0, min(until_ns, end_ns) - max(from_ns, start_ns)) / (8 * 10**9)
        for (start_ns, rate), (end_ns, _) in pairwise(edges)
    )
    carried = sum(size for departure_ns, size in left if from_ns < departure_ns <= until_ns)
    # In the rest of a packet's time, the new rate would have carried at most this many bytes more or fewer.
    finished = sum(1514 * max(1.0, new / old) for (_, old), (_, new) in pairwise(edges[:-1]))
    assert abs(carried - integral) <= 1514 + finished


@dataclass(frozen=True)
class Fate:
    """The fate of a packet in the reference model; departure_ns is None if it was dropped."""

    size: int
    entry_ns: int
    departure_ns: int | None

    def waits_at(self, now_ns: int) -> bool:
        return self.departure_ns is not None and self.entry_ns <= now_ns < self.departure_ns


def by_the_book(
    arrivals: list[tuple[int, int]],
    *,
    rate_bit_s: int,
    delay_ns: int,
    jitter_ns: int,
    limit_packets: int | None,
    limit_bytes: int | None,
    seed: int,
    changes: list[tuple[int, int]],
) -> list[Fate]:
    """Compute each packet's fate by the rules of the reference model, from all packets before it."""
    chance = Random(seed)
    fates: list[Fate] = []
    for now_ns, size in arrivals:
        jittered_ns = now_ns + delay_ns + (chance.randint(-jitter_ns, jitter_ns) if jitter_ns else 0)
        entry_ns = max([jittered_ns, *(fate.entry_ns for fate in fates)])
        waiting = [fate.size for fate in fates if fate.waits_at(entry_ns)]
        full = (limit_packets is not None and len(waiting) >= limit_packets) or (
            limit_bytes is not None and sum(waiting) + size > limit_bytes
        )
        begins_ns = max([entry_ns, *(fate.departure_ns for fate in fates if fate.departure_ns is not None)])
        rate_then = [rate_bit_s, *(changed for at_ns, changed in changes if at_ns <= begins_ns)][-1]
        fates.append(Fate(size, entry_ns, None if full else begins_ns + size * 8 * 10**9 // rate_then))
    return fates


ARRIVALS = st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 1514)), max_size=40).map(
    lambda steps: [(sum(gap for gap, _ in steps[: index + 1]), size) for index, (_, size) in enumerate(steps)]
)
LIMITS = st.one_of(st.none(), st.integers(1, 6))
CHANGES = st.lists(st.tuples(st.integers(0, 100_000), st.integers(10**9, 10**11)), max_size=4).map(sorted)
LOOKS = st.lists(st.integers(0, 200_000), max_size=10)


@given(
    arrivals=ARRIVALS,
    looks=LOOKS,
    rate_bit_s=st.integers(10**9, 10**11),
    delay_ns=st.integers(0, 5000),
    jitter=st.floats(0, 1),
    limit_packets=LIMITS,
    limit_kilobytes=LIMITS,
    seed=st.integers(0, 3),
    changes=CHANGES,
)
def test_agrees_with_the_book(
    *,
    arrivals: list[tuple[int, int]],
    looks: list[int],
    rate_bit_s: int,
    delay_ns: int,
    jitter: float,
    limit_packets: int | None,
    limit_kilobytes: int | None,
    seed: int,
    changes: list[tuple[int, int]],
) -> None:
    """Departures, drops, queue lengths and next_ns are those of the reference model.

    Calls in between change nothing.
    """
    limit_bytes = None if limit_kilobytes is None else limit_kilobytes * 1514
    model = Direction(
        rate_bit_s=rate_bit_s,
        delay_ns=delay_ns,
        jitter_ns=int(delay_ns * jitter),
        limit_packets=limit_packets,
        limit_bytes=limit_bytes,
        seed=seed,
    )
    fates = by_the_book(
        arrivals,
        rate_bit_s=rate_bit_s,
        delay_ns=delay_ns,
        jitter_ns=int(delay_ns * jitter),
        limit_packets=limit_packets,
        limit_bytes=limit_bytes,
        seed=seed,
        changes=changes,
    )
    for at_ns, changed in changes:
        model.change(at_ns, changed)
    left: list[tuple[int, int]] = []
    steps = [(now_ns, False, size) for now_ns, size in arrivals] + [(now_ns, True, 0) for now_ns in looks]
    for now_ns, look, size in sorted(steps, key=itemgetter(0, 1)):
        if not look:
            model.arrive(now_ns, bytes(size))
            continue
        known = fates[: model.counters.packets_in]
        waiting = [fate.size for fate in known if fate.waits_at(now_ns)]
        assert model.queue(now_ns) == QueueContents(
            packets=len(waiting),
            bytes=sum(waiting),
            delay_line_packets=sum(fate.entry_ns > now_ns for fate in known),
            delay_line_bytes=sum(fate.size for fate in known if fate.entry_ns > now_ns),
            dropped=model.counters.dropped,
        )
        left += [(departure_ns, len(packet)) for departure_ns, packet in model.due(now_ns)]
        upcoming = [fate.departure_ns for fate in known if fate.departure_ns is not None and fate.departure_ns > now_ns]
        assert model.next_ns == min(upcoming, default=None)
    left += [(departure_ns, len(packet)) for departure_ns, packet in model.due(FOREVER)]
    assert left == [(fate.departure_ns, fate.size) for fate in fates if fate.departure_ns is not None]
    assert model.counters.dropped == sum(fate.departure_ns is None for fate in fates)


def test_packets_that_skip_the_delay_overtake_the_others() -> None:
    """A packet that skips the delay leaves at once and before those in the delay line; the others keep their order."""
    model = Direction(delay_ns=300 * MS, reorder=0.25, seed=1)
    arrive(model, *((number * MS, bytes([number])) for number in range(200)))
    left = list(model.due(FOREVER))
    skipped = [packet[0] for departure_ns, packet in left if departure_ns == packet[0] * MS]
    delayed = [packet[0] for departure_ns, packet in left if departure_ns == packet[0] * MS + 300 * MS]
    assert sorted(skipped + delayed) == list(range(200))
    assert delayed == sorted(delayed)
    assert 25 < len(skipped) < 75
    assert [departure_ns for departure_ns, _ in left] == sorted(departure_ns for departure_ns, _ in left)


@pytest.mark.parametrize(("loss", "packets"), [(0.05, 1.0), (0.05, 8.0), (0.3, 3.0)])
def test_losses_come_in_bursts(loss: float, packets: float) -> None:
    """The fraction of lost packets and the mean length of a burst are those asked for."""
    link = Link(rate_bit_s=None, delay_ns=0, loss=loss, loss_burst_packets=packets)
    model = Direction.down(link, seed=1)
    sent = 200_000
    arrive(model, *((number, number.to_bytes(4, "big")) for number in range(sent)))
    came = [int.from_bytes(packet, "big") for _, packet in model.due(FOREVER)]
    bursts = sum(later - earlier > 1 for earlier, later in pairwise([-1, *came, sent]))
    assert model.counters.lost / sent == pytest.approx(loss, rel=0.1)
    assert model.counters.lost / bursts == pytest.approx(packets, rel=0.1)


@pytest.mark.parametrize(("size_bytes", "held"), [(100, 102), (60, 170), (1514, 6), (1000, 10)])
def test_a_queue_in_bytes_counts_bytes_alone(size_bytes: int, held: int) -> None:
    """In both directions 10,240 bytes hold packets of any size, the packet being sent included."""
    link = Link(
        rate_bit_s=10**6, delay_ns=0, rate_up_bit_s=10**6, queue_packets=6, queue_bytes=10_240, queue_up_bytes=10_240
    )
    for model in (Direction.down(link, 1), Direction.up(link, 1)):
        for _ in range(300):
            model.arrive(0, bytes(size_bytes))
        assert len(list(model.due(10**12))) == held


def test_copies_and_wrong_bits() -> None:
    """A packet that is doubled arrives twice; one that is corrupted differs in one bit."""
    model = Direction(delay_ns=MS, duplicate=1.0)
    arrive(model, (0, FULL))
    assert [*model.due(FOREVER)] == [(MS, FULL), (MS, FULL)]
    model = Direction(corrupt=1.0)
    arrive(model, (0, FULL))
    ((_, packet),) = model.due(FOREVER)
    assert (int.from_bytes(packet) ^ int.from_bytes(FULL)).bit_count() == 1
    assert len(packet) == len(FULL)


def test_a_later_link() -> None:
    """Packets keep their order and the delay of their arrival; the packet being sent is finished at its rate."""
    first = Link(rate_bit_s=1_000_000, delay_ns=10 * MS)
    model = Direction.down(first, 1)
    arrive(model, (0, FULL), (0, FULL))
    model.become(Link(rate_bit_s=2_000_000, delay_ns=0), 1)
    arrive(model, (1, FULL))
    assert departures(model) == [10 * MS + each for each in (FULL_NS // 2, FULL_NS, 3 * FULL_NS // 2)]
    arrive(model, (FOREVER, FULL), (FOREVER, FULL))
    model.become(Link(rate_bit_s=None, delay_ns=0), FOREVER + 1)
    arrive(model, (FOREVER + 2, FULL))
    assert departures(model, 2 * FOREVER) == [FOREVER + FULL_NS // 2] * 3
    model.become(Link(rate_bit_s=1_000_000, delay_ns=0, queue_packets=1), 2 * FOREVER)
    arrive(model, (2 * FOREVER, FULL), (2 * FOREVER, FULL))
    assert departures(model, 3 * FOREVER) == [2 * FOREVER + FULL_NS]
    model.become(Link(rate_bit_s=None, delay_ns=0, loss=1.0), 3 * FOREVER)
    arrive(model, (3 * FOREVER, FULL))
    assert departures(model, 4 * FOREVER) == []


@given(
    st.lists(
        st.one_of(
            st.integers(0, 20),
            st.builds(
                Link,
                rate_bit_s=st.sampled_from([None, 10**6, 10**7]),
                delay_ns=st.sampled_from([0, MS, 20 * MS]),
                queue_packets=st.sampled_from([1, 3, 100]),
            ),
        )
    )
)
def test_no_packet_overtakes_another_whatever_the_links(happens: list[int | Link]) -> None:
    """Packets leave in order, none before its own delay is over, and each leaves or is dropped."""
    model, now_ns, number = Direction.down(Link(rate_bit_s=None, delay_ns=0), 1), 0, 0
    delay_ns, earliest = 0, list[int]()
    seen: list[tuple[int, bytes]] = []
    for each in happens:
        seen += model.due(now_ns)
        if isinstance(each, Link):
            model.become(each, now_ns)
            delay_ns = each.delay_ns
            continue
        now_ns += each * MS
        model.arrive(now_ns, number.to_bytes(100))
        earliest.append(now_ns + delay_ns)
        number += 1
    seen += model.due(FOREVER)
    numbers = [int.from_bytes(packet) for _, packet in seen]
    assert numbers == sorted({*numbers})
    assert len(numbers) + model.counters.dropped == number
    assert all(at_ns >= earliest[which] for (at_ns, _), which in zip(seen, numbers, strict=True))
    assert [at_ns for at_ns, _ in seen] == sorted(at_ns for at_ns, _ in seen)
