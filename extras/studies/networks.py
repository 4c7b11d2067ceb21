"""Draws networks for the study of the predictor. The same seed always gives the same networks. Pure.

Each network has a server of the catalogue that has a table [writes] and speaks HTTP/2, a congestion control, RATE from
500 kbit/s to 100 Mbit/s and DELAY from 2 to 300 ms (their logarithms are uniform), DELAY_UP as DELAY or 0, and a LOWAT.
Each other knob of which a prediction depends has its default in half of the networks, and else a value from _OTHERS.
"""

import math
from collections.abc import Callable, Mapping
from random import Random

from priolab.experiments.scenario.knobs import KNOBS
from priolab.proxy.server import catalogue

_RATE_KBIT = (500, 100_000)
_DELAY_MS = (2, 300)
_LOWATS = ("none", "4096", "16384", "65536", "131072", "262144", "524288")
_OTHERS: Mapping[str, Callable[[Random], str]] = {
    "QUEUE": lambda drawn: drawn.choice(("50", "100", "300", "1000")),
    "SNDBUF": lambda _: "stock",
    "GSO": lambda _: "2",
    "RELOADS": lambda drawn: drawn.choice(("0", "1", "3")),
    "SIZE": lambda drawn: str(_between(drawn, 100_000, 4_000_000)),
    "JS_DELAY": lambda drawn: f"{_between(drawn, 20, 2000)}ms",
}


def draw(seed: int, count: int) -> list[dict[str, str]]:
    """Returns the knobs of `count` networks. The first networks of a seed do not depend on the count."""
    drawn = Random(seed)
    servers = [name for name, server in catalogue().items() if server.record_bytes and server.protocol == "h2"]
    return [_network(drawn, servers) for _ in range(count)]


def _network(drawn: Random, servers: list[str]) -> dict[str, str]:
    delay = f"{_between(drawn, *_DELAY_MS)}ms"
    knobs = {
        "SERVER": drawn.choice(servers),
        "CC": drawn.choice(("cubic", "reno", "bbr")),
        "RATE": f"{_between(drawn, *_RATE_KBIT)}kbit",
        "DELAY": delay,
        "DELAY_UP": drawn.choice(("0ms", delay)),
        "LOWAT": drawn.choice(_LOWATS),
    }
    others = {name: of(drawn) if drawn.random() < 1 / 2 else KNOBS[name].default for name, of in _OTHERS.items()}
    return knobs | others


def _between(drawn: Random, least: int, most: int) -> int:
    return round(math.exp(drawn.uniform(math.log(least), math.log(most))))
