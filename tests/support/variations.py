"""Arms that several modules read, each with its knobs by name. The arms of a mapping share a guest.

A name that ends in `control` is an arm with LOWAT unset.
"""

from collections.abc import Mapping

from tests.support.lab import Done
from tests.support.shared_runs import Runs

_ONE_LOAD = ("RELOADS=0",)
"""Enough if the send buffer is large from the beginning."""
_CONTROL = "LOWAT=none"
SMALL = ("SIZE=102400", *_ONE_LOAD)
"""The knobs of a small page, which is loaded once."""
_H2O = ("SERVER=h2o", "RELOADS=1")
_MODEM = ("RATE=128kbit", *_ONE_LOAD)
_FAST = ("RATE=unlimited", "DELAY=0ms")
_SWAPPED = ("PRIORITY=swap", *_ONE_LOAD)
_BBR = ("CC=bbr", *_ONE_LOAD)
_STOCK = ("SNDBUF=stock",)
_NEWS = ("PAGE=news", "LOWAT=16384", *_ONE_LOAD)
_TOKENS = ("PAGE=tokens", "LOWAT=16384", *_ONE_LOAD)

_LATE = ("PAGE=late", "LOWAT=16384", "SERVER=nghttpx", "DIALECT=header+no7540", *_ONE_LOAD)

_OF_H2O: Mapping[str, tuple[str, ...]] = {
    "h2o-control": (*_H2O, _CONTROL),
    "h2o-131072": _H2O,
    "h2o-16384": (*_H2O, "LOWAT=16384"),
    "h2o-native-control": ("SERVER=h2o", "NATIVE=on", "RELOADS=3", _CONTROL),
}

_OF_NGHTTPX: Mapping[str, tuple[str, ...]] = {"late-control": (*_LATE, _CONTROL), "late": _LATE}

_VARIATIONS: Mapping[str, tuple[str, ...]] = {
    "gso-2": ("LOWAT=16384", "GSO=2"),
    "modem-control": (*_MODEM, _CONTROL),
    "modem": _MODEM,
    "swapped-control": (*_SWAPPED, _CONTROL),
    "swapped": _SWAPPED,
    "bbr-control": (*_BBR, _CONTROL),
    "bbr": _BBR,
    "unasked": ("PRIORITY=none", *_ONE_LOAD),
    "stock-control": (*_STOCK, _CONTROL),
    "stock": _STOCK,
    "reloaded-control": ("SCENARIO=first-load", "RELOADS=4", _CONTROL),
    "small": (*SMALL, "QUEUE=200"),
    "news-control": (*_NEWS, _CONTROL),
    "news": _NEWS,
    "tokens-control": (*_TOKENS, _CONTROL),
    "tokens": _TOKENS,
}

STEPS_TARGET = "500ms"
# The rate is a tenth for 3.5 s. LOWAT=53248 is right for the slower rate.
STEPS = (
    "RATE=20mbit",
    "RATE_STEPS=2mbit@1s+20mbit@4500ms",
    "DELAY=50ms",
    "QUEUE=1000",
    "SIZE=3M",
    "RELOADS=0",
    f"TARGET_DELAY={STEPS_TARGET}",
)

_FINELY_SAMPLED: Mapping[str, tuple[str, ...]] = {
    "lossless": ("QUEUE=1000", "CC=cubic", "RELOADS=4"),
    "fast-control": (*_FAST, _CONTROL),
    "fast": _FAST,
    "target": ("LOWAT=auto", "TARGET_DELAY=200ms", "RATE=10mbit", "DELAY=50ms", "RELOADS=0"),
    "steps-fixed": (*STEPS, "LOWAT=53248"),
    "steps-auto": (*STEPS, "LOWAT=auto"),
}


def variations(run: Runs) -> Done:
    """Returns an experiment with nginx, and samples every 50 ms."""
    return run.together(_VARIATIONS, "SAMPLE=50ms")


def variations_of_h2o(run: Runs) -> Done:
    """Returns an experiment with h2o, and samples every 50 ms."""
    return run.together(_OF_H2O, "SAMPLE=50ms")


def variations_of_nghttpx(run: Runs) -> Done:
    """Returns an experiment with nghttpx, and samples every 50 ms."""
    return run.together(_OF_NGHTTPX, "SAMPLE=50ms")


def finely_sampled(run: Runs) -> Done:
    """Returns an experiment with SAMPLE=auto."""
    return run.together(_FINELY_SAMPLED)
