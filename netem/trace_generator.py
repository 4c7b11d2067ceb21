"""Synthetic traces of packet opportunities. A random process makes them from a seed; they are no measurements. Pure.

- lte: the logarithm of the rate wanders around its mean (an Ornstein-Uhlenbeck process, 2 s, a factor of two). Every 20
  s on average nothing can be sent for 0.1 to 0.6 s, as in a handover.
- wifi: the access point sends bursts of up to 32 packets, each when it wins the channel, 2 ms later on average; every 5
  s on average the channel is busy for 50 to 200 ms.
- starlink-like: every 15 s the rate changes to another one between a quarter and seven quarters of the mean, after a
  gap of 30 to 120 ms.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from math import exp, sqrt
from random import Random

from priolab.common.trace import PER_MS, Trace


def _lte(random: Random, rate_bit_s: int) -> Iterator[float]:
    depth, back, outage_ms = 0.7, 2000.0, 0
    level = random.gauss(0, depth)
    while True:
        level += -level / back + depth * sqrt(2 / back) * random.gauss(0, 1)
        if not outage_ms and random.random() < 1 / 20_000:
            outage_ms = random.randint(100, 600)
        if outage_ms:
            outage_ms -= 1
            yield 0.0
        else:
            yield rate_bit_s * exp(level - depth * depth / 2)


def _wifi(random: Random, rate_bit_s: int) -> Iterator[float]:
    wait_ms, pause = random.expovariate(1 / 2), 2.0
    while True:
        wait_ms -= 1
        if wait_ms > 0:
            yield 0.0
            continue
        pause = random.expovariate(1 / 2)
        wait_ms += pause
        if random.random() < pause / 5000:
            wait_ms += random.uniform(50, 200)
        yield min(32 * PER_MS, rate_bit_s * 2 * random.uniform(0.5, 1.5))


def _starlink(random: Random, rate_bit_s: int) -> Iterator[float]:
    while True:
        for _ in range(random.randint(30, 120)):
            yield 0.0
        level = random.uniform(0.25, 1.75)
        for _ in range(15_000):
            yield rate_bit_s * level * random.uniform(0.8, 1.2)


KINDS: dict[str, tuple[int, Callable[[Random, int], Iterator[float]]]] = {
    "lte": (12_000_000, _lte),
    "wifi": (40_000_000, _wifi),
    "starlink-like": (80_000_000, _starlink),
}
"""For each kind of trace: its mean rate in bits per second, and the function that yields its rate, ms by ms."""


def synthetic(kind: str, *, seed: int, duration_ms: int, rate_bit_s: int | None = None) -> Trace:
    """Returns a trace. The same arguments give the same trace.

    kind: a key of KINDS. rate_bit_s: the mean rate around which the trace varies; None for the kind's. Raises
    ValueError if the trace would have no opportunities, or too many.
    """
    usual_bit_s, rates = KINDS[kind]
    random = Random(f"{kind} {seed}")
    varying = islice(rates(random, rate_bit_s or usual_bit_s), duration_ms)
    return Trace.at_rates(f"{kind}-synthetic-{seed}", varying)
