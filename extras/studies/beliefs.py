"""Beliefs about throughput, congestion control and queueing disciplines."""

from priolab.common.amounts import milliseconds, rate
from priolab.extras.studies.belief import (
    FILE,
    FIRST_BYTE,
    GOODPUT,
    LOST,
    MUCH,
    ON_THE_WAY,
    UNSENT,
    WAKEUPS,
    Belief,
    Case,
    Found,
    Panel,
    Verdict,
    Word,
    lost,
    times,
)

_LONG = {"RATE": "100mbit", "DELAY": "100ms", "DELAY_UP": "100ms", "QUEUE": "4000", "SNDBUF": "64M", "WINDOW": "256M"}
"""A long path, on which neither windows nor buffers are the limit."""
_ONE_FILE = {"PAGE": FILE, "SIZE": "32M", **_LONG}
_ROUND_TRIP_S = 0.2
_CAP_BIT_S = 131_072 * 8 / _ROUND_TRIP_S
_LOWATS = {"unset": "none", "128K": "131072", "16K": "16384"}


def _round_trip(found: Found) -> Verdict:
    part = max(lost(found, f"{name}, 128K", f"{name}, unset") for name in ("grown", "fresh"))
    seen_bit_s = found["grown, 128K"][GOODPUT]
    word = Word.FALSE if part < LOST else Word.TRUE if seen_bit_s < MUCH * _CAP_BIT_S else Word.PARTLY
    return Verdict(
        word=word,
        because=f"With LOWAT=131072 the file comes with {rate(seen_bit_s)}, {seen_bit_s / _CAP_BIT_S:.0f} times"
        f" 128 KiB per round trip ({rate(_CAP_BIT_S)}); with LOWAT unset with {rate(found['grown, unset'][GOODPUT])}."
        f" The largest loss, on fresh connections or grown ones, is {max(part, 0):.1%}.",
    )


def _bbr(found: Found) -> Verdict:
    remains = times(found, "bbr, unset", "cubic, unset", FIRST_BYTE)
    gain = times(found, "bbr, unset", "bbr, 16K", FIRST_BYTE)
    word = Word.FALSE if gain >= MUCH else Word.TRUE
    return Verdict(
        word=word,
        because=f"With BBR and LOWAT unset the script comes after {milliseconds(found['bbr, unset'][FIRST_BYTE])},"
        f" {remains:.0%} of the time with cubic. LOWAT=16384 makes it {milliseconds(found['bbr, 16K'][FIRST_BYTE])},"
        f" and without BBR {milliseconds(found['cubic, 16K'][FIRST_BYTE])}.",
    )


BELIEFS = (
    Belief(
        name="round-trip",
        cases=[
            Case(name=f"{connection}, {name}", knobs={**_ONE_FILE, "RELOADS": reloads, "LOWAT": value})
            for connection, reloads in (("grown", "1"), ("fresh", "0"))
            for name, value in _LOWATS.items()
        ],
        quantities=[GOODPUT, UNSENT, ON_THE_WAY, WAKEUPS],
        panels=[
            Panel(
                quantity=GOODPUT,
                cases=[f"grown, {name}" for name in _LOWATS],
                claimed=("128 KiB per round trip", _CAP_BIT_S),
            )
        ],
        judge=_round_trip,
        expected=Word.FALSE,
    ),
    Belief(
        name="bbr",
        cases=[
            Case(name=f"{control}, {name}", knobs={"CC": control, "LOWAT": value})
            for control in ("cubic", "bbr")
            for name, value in _LOWATS.items()
        ],
        quantities=[FIRST_BYTE, GOODPUT, UNSENT, WAKEUPS],
        panels=[
            Panel(quantity=FIRST_BYTE, cases=[f"{control}, {name}" for control in ("cubic", "bbr") for name in _LOWATS])
        ],
        judge=_bbr,
        expected=Word.FALSE,
    ),
)
