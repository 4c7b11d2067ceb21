"""Hypotheses about what a LOWAT costs a transfer, whom it reaches, and what it replaces."""

from priolab.common.amounts import kibibytes, milliseconds, rate
from priolab.extras.studies.hypothesis import (
    FIRST_BYTE,
    GOODPUT,
    LOST,
    MEMORY,
    MUCH,
    ON_THE_WAY,
    PAGES,
    UNSENT,
    WAKEUPS,
    Case,
    Found,
    Hypothesis,
    Panel,
    Verdict,
    Word,
    alike,
    counted,
    lost,
    times,
)
from priolab.proxy.server import CATALOGUE

LOWATS = {"unset": "none", "128K": "131072", "16K": "16384"}
_FILE = {"PAGE": f"{PAGES}/file.toml"}
_FAR = {"RATE": "100mbit", "DELAY": "100ms", "DELAY_UP": "100ms", "QUEUE": "4000", "WINDOW": "256M"}
_NEAR = {"RATE": "10mbit", "DELAY": "25ms", "DELAY_UP": "25ms", "QUEUE": "41", "WINDOW": "256M"}
_ROUND_TRIP_S = 0.2
_CAP_BIT_S = 131_072 * 8 / _ROUND_TRIP_S


def _round_trip(found: Found) -> Verdict:
    most = max(lost(found, f"{connection}, 128K", f"{connection}, unset") for connection in ("grown", "fresh"))
    seen_bit_s = found["grown, 128K"][GOODPUT]
    return Verdict(
        word=Word.FALSE if most < LOST else Word.TRUE if seen_bit_s < MUCH * _CAP_BIT_S else Word.PARTLY,
        because=f"LOWAT=131072 loses at most {max(most, 0):.1%} of the goodput, which is {seen_bit_s / _CAP_BIT_S:.0f}"
        f" times 128 KiB per round trip ({rate(_CAP_BIT_S)}).",
    )


ROUND_TRIP = Hypothesis(
    name="round-trip",
    cases=[
        Case(
            name=f"{connection}, {name}",
            knobs={**_FILE, "SIZE": "32M", **_FAR, "SNDBUF": "64M", "RELOADS": reloads, "LOWAT": lowat},
        )
        for connection, reloads in (("grown", "1"), ("fresh", "0"))
        for name, lowat in LOWATS.items()
    ],
    quantities=[GOODPUT, UNSENT, ON_THE_WAY, WAKEUPS],
    panels=[
        Panel(
            quantity=GOODPUT,
            cases=[f"grown, {name}" for name in LOWATS],
            claimed=("128 KiB per round trip", _CAP_BIT_S),
        )
    ],
    judge=_round_trip,
    expected=Word.FALSE,
)


def _system_wide(found: Found) -> Verdict:
    gain = times(found, "one server, unset", "one server, set", FIRST_BYTE)
    misses = alike(found, "two, neither set", "two, the other set", FIRST_BYTE)
    own = alike(found, "own option (h2o), unset", "own option (h2o), set", FIRST_BYTE)
    price = times(found, "one file, set", "one file, unset", WAKEUPS)
    parts = [f"The sysctl makes the script {gain:.1f} times as early at a server in its own namespace."]
    if misses:
        parts.append("It does not reach a server in another one.")
    if own:
        parts.append("It gains nothing at a server that sets the option itself.")
    if price >= MUCH:
        unset, used = (counted(found[f"one file, {name}"][WAKEUPS]) for name in ("unset", "set"))
        parts.append(f"A file alone pays: {used} wake-ups per MB, not {unset}.")
    falls_short = misses or own or price >= MUCH
    return Verdict(
        word=Word.FALSE if gain < MUCH else Word.PARTLY if falls_short else Word.TRUE, because=" ".join(parts)
    )


SYSTEM_WIDE = Hypothesis(
    name="system-wide",
    cases=[
        *(
            Case(name=f"{case}, {name}", knobs={**knobs, "LOWAT": lowat})
            for case, knobs in (
                ("one server", {"SERVER": "nginx"}),
                ("own option (h2o)", {"SERVER": "h2o", "NATIVE": "on"}),
                ("one file", {**_FILE, "SIZE": "8M", **_NEAR, "RELOADS": "1"}),
            )
            for name, lowat in (("unset", "none"), ("set", "131072"))
        ),
        *(
            Case(name=f"two, {name}", knobs={"VIA": "nginx", "VIA_LOWAT": via_lowat, "LOWAT": lowat})
            for name, lowat, via_lowat in (
                ("neither set", "none", "none"),
                ("the other set", "none", "131072"),
                ("both set", "131072", "131072"),
            )
        ),
    ],
    quantities=[FIRST_BYTE, GOODPUT, WAKEUPS],
    panels=[
        Panel(
            quantity=FIRST_BYTE,
            cases=[
                *(f"{case}, {name}" for case in ("one server", "own option (h2o)") for name in ("unset", "set")),
                *(f"two, {name}" for name in ("neither set", "the other set", "both set")),
            ],
        ),
        Panel(quantity=WAKEUPS, cases=["one file, unset", "one file, set"]),
    ],
    judge=_system_wide,
    expected=Word.PARTLY,
)

_SMALLER = {"unset": "none", "512K": "524288", "128K": "131072", "16K": "16384", "4K": "4096", "1K": "1024"}
_SLOW_SERVER = {
    "RATE": "100mbit",
    "DELAY": "1ms",
    "QUEUE": "20",
    "SIZE": "8M",
    "JS_DELAY": "0ms",
    "RELOADS": "1",
    "SERVICE": "10ms+1us/KB",
}
_BBR = {"CC": "bbr", "RATE": "10mbit", "DELAY": "300ms", "QUEUE": "500", "SIZE": "8M", "RELOADS": "1"}


def _smaller(found: Found) -> Verdict:
    price = times(found, "1K", "4K", WAKEUPS)
    wasted = price >= MUCH and alike(found, "1K", "4K", FIRST_BYTE)
    slower = lost(found, "slow server, 4K", "slow server, 256K")
    later = times(found, "bbr, 1K", "bbr, 16K", FIRST_BYTE)
    first_bytes = " and ".join(f"{milliseconds(found[name][FIRST_BYTE])} ({name})" for name in ("4K", "1K"))
    parts = [f"The script comes after {first_bytes}."]
    if wasted:
        parts.append(f"1K gains nothing, and costs {price:.1f} times as many wake-ups.")
    if slower >= LOST:
        goodputs = (rate(found[f"slow server, {name}"][GOODPUT]) for name in ("4K", "256K"))
        parts.append("A server that needs 10 ms after each wake-up has {} with 4K and {} with 256K.".format(*goodputs))
    if later >= 1 and not alike(found, "bbr, 1K", "bbr, 16K", FIRST_BYTE):
        first, other = (milliseconds(found[f"bbr, {name}"][FIRST_BYTE]) for name in ("1K", "16K"))
        parts.append(
            f"With BBR and a long round trip the script comes even later: after {first} with 1K, {other} with 16K."
        )
    return Verdict(word=Word.FALSE if len(parts) > 1 else Word.TRUE, because=" ".join(parts))


SMALLER = Hypothesis(
    name="smaller",
    cases=[
        *(
            Case(name=name, knobs={**_NEAR, "SIZE": "4500K", "RELOADS": "1", "GSO": "2", "LOWAT": lowat})
            for name, lowat in _SMALLER.items()
        ),
        *(
            Case(name=f"slow server, {name}", knobs={**_SLOW_SERVER, "LOWAT": lowat})
            for name, lowat in (("unset", "none"), ("256K", "262144"), ("128K", "131072"), ("4K", "4096"))
        ),
        *(
            Case(name=f"bbr, {name}", knobs={**_BBR, "LOWAT": lowat})
            for name, lowat in (("unset", "none"), ("16K", "16384"), ("1K", "1024"))
        ),
    ],
    quantities=[FIRST_BYTE, GOODPUT, WAKEUPS],
    panels=[
        Panel(quantity=FIRST_BYTE, cases=list(_SMALLER)),
        Panel(quantity=WAKEUPS, cases=list(_SMALLER)),
        Panel(quantity=GOODPUT, cases=[f"slow server, {name}" for name in ("unset", "256K", "128K", "4K")]),
    ],
    judge=_smaller,
    expected=Word.FALSE,
)

_PLAIN, _WITH_BUFFER = "@{listens};", "@{listens} sndbuf=256k;"
_OWN = "my.conf"
_BUFFERS = {"autotuned": {}, "fixed": {"CONFIG": _OWN, "SNDBUF": "512K"}}
"""The lab checks the buffer of a socket: the kernel makes it twice as large as a program asks."""


def _own_config() -> str:
    """Returns the lab's configuration of nginx with SO_SNDBUF on the listening socket."""
    return (CATALOGUE / "nginx" / "nginx.conf").read_text().replace(_PLAIN, _WITH_BUFFER)


def _sndbuf(found: Found) -> Verdict:
    set_near, fixed_near = found["near, autotuned, 128K"], found["near, fixed, unset"]
    set_far, fixed_far = found["far, autotuned, 128K"], found["far, fixed, unset"]
    both_far = found["far, fixed, 128K"]
    sooner = set_near[FIRST_BYTE] <= fixed_near[FIRST_BYTE]
    full = lost(found, "far, autotuned, 128K", "far, autotuned, unset") < LOST
    stuck = lost(found, "far, fixed, 128K", "far, autotuned, 128K") >= LOST
    larger = times(found, "far, autotuned, 128K", "far, fixed, unset", MEMORY) >= MUCH
    parts = [
        f"For a short queue it does: the script comes after {milliseconds(set_near[FIRST_BYTE])}, with SO_SNDBUF after"
        f" {milliseconds(fixed_near[FIRST_BYTE])}, and on the long path the file has {rate(set_far[GOODPUT])}, with"
        f" SO_SNDBUF {rate(fixed_far[GOODPUT])}."
        if sooner and full
        else "It does not: the script comes later, or the file is slower."
    ]
    if stuck:
        parts.append(f"It does not undo a buffer that is too small: with both the file has {rate(both_far[GOODPUT])}.")
    if larger:
        parts.append(
            f"Nor does it limit the memory for bytes on their way: the send buffer has {kibibytes(set_far[MEMORY])},"
            f" with SO_SNDBUF {kibibytes(fixed_far[MEMORY])}."
        )
    return Verdict(
        word=Word.FALSE if not (sooner and full) else Word.PARTLY if stuck or larger else Word.TRUE,
        because=" ".join(parts),
    )


SNDBUF = Hypothesis(
    name="sndbuf",
    cases=[
        Case(name=f"{path}, {buffer}, {name}", knobs={**knobs, **own, "RELOADS": "1", "LOWAT": LOWATS[name]})
        for path, knobs in (("near", {**_NEAR, "SIZE": "4500K"}), ("far", {**_FILE, "SIZE": "8M", **_FAR}))
        for buffer, own in _BUFFERS.items()
        for name in ("unset", "128K")
    ],
    quantities=[FIRST_BYTE, GOODPUT, UNSENT, ON_THE_WAY, MEMORY],
    panels=[
        Panel(
            quantity=quantity, cases=[f"{path}, {buffer}, {name}" for buffer in _BUFFERS for name in ("unset", "128K")]
        )
        for quantity, path in ((FIRST_BYTE, "near"), (GOODPUT, "far"), (MEMORY, "far"))
    ],
    judge=_sndbuf,
    expected=Word.PARTLY,
    files={_OWN: _own_config},
    before=[f"sed 's/{_PLAIN}/{_WITH_BUFFER}/' proxy/servers/nginx/nginx.conf > {_OWN}"],
)

HYPOTHESES = (ROUND_TRIP, SYSTEM_WIDE, SMALLER, SNDBUF)
