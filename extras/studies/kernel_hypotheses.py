"""Hypotheses that are tested on guest kernels of the study's own: kTLS, and the stalls of earlier versions of Linux."""

import re
from collections.abc import Mapping
from itertools import pairwise

from priolab import InvalidRun, Run
from priolab.common.amounts import kibibytes, milliseconds
from priolab.extras.studies.hypothesis import (
    ALIKE,
    FIRST_BYTE,
    GOODPUT,
    LABS,
    MUCH,
    UNSENT,
    WAKEUPS,
    Case,
    Found,
    Hypothesis,
    Panel,
    Quantity,
    Verdict,
    Word,
    lost,
    times,
)
from priolab.extras.studies.own_kernels import BEFORE_5_18, WITH_KTLS
from priolab.extras.studies.transfer_hypotheses import LOWATS

_SENDFILE = "extras/studies/fronts/nginx-sendfile.conf"
_SENT = re.compile(rb"SSL_sendfile: (\d+)$", re.MULTILINE)


def _gap_ms(run: Run) -> float:
    load = run.loads[-1]
    came_ns = sorted(piece.t_ns for each in load.page.contents for piece in load.resources[each.name].pieces)
    return max(later - earlier for earlier, later in pairwise(came_ns)) / 10**6


def _sendfile_bytes(run: Run) -> float:
    """Returns the bytes that nginx handed to kTLS by sendfile(2), in all loads, as its messages for debugging say."""
    return float(sum(map(int, _SENT.findall((run.path / "front" / "error.log").read_bytes()))))


GAP = Quantity(name="longest gap", of=_gap_ms, said=milliseconds)
SENDFILE = Quantity(name="by sendfile(2) and kTLS", of=_sendfile_bytes, said=kibibytes)

_LATER = {"DELAY": "200ms", "RELOADS": "1", "JS_DELAY": "0ms"}
"""A long round trip, and a second page load: the congestion window is large, and no bytes are on their way."""
_FAST = {**_LATER, "RATE": "100mbit", "QUEUE": "4000", "SIZE": "4M", "LOWAT": "131072"}
_LOSSY = {**_LATER, "RATE": "10mbit", "QUEUE": "400", "SIZE": "1M", "LOWAT": "16384", "GSO": "2"}
_PATHS: Mapping[str, Mapping[str, str]] = {
    "paced": {**_FAST, "CC": "bbr"},
    "paced, 20 ms": {**_FAST, "CC": "bbr", "DELAY": "20ms"},
    "paced, loss": {**_LOSSY, "CC": "bbr", "LOSS": "3%"},
    "not paced": _FAST,
    "not paced, loss": {**_LOSSY, "LOSS": "1%"},
}


_LINUX = {"now": LABS, "before 5.18": BEFORE_5_18}


def _stall(found: Found) -> Verdict:
    now = max(lost(found, f"{path}, now", f"{path}, unset") for path in _PATHS)
    before = {path: lost(found, f"{path}, before 5.18", f"{path}, now") for path in _PATHS}
    said = ", ".join(f"{max(part, 0):.0%} ({path})" for path, part in before.items())
    return Verdict(
        word=Word.TRUE if now >= ALIKE else Word.PARTLY if max(before.values()) >= ALIKE else Word.FALSE,
        because=f"Linux now loses at most {max(now, 0):.0%} of the goodput by LOWAT. Of what is left, Linux before 5.18"
        f" loses {said}.",
    )


STALL = Hypothesis(
    name="stall",
    cases=[
        case
        for path, knobs in _PATHS.items()
        for case in (
            Case(name=f"{path}, unset", knobs={**knobs, "LOWAT": "none"}),
            *(Case(name=f"{path}, {linux}", knobs=knobs, kernel=kernel) for linux, kernel in _LINUX.items()),
        )
    ],
    quantities=[FIRST_BYTE, GOODPUT, GAP, WAKEUPS],
    panels=[
        Panel(quantity=GOODPUT, cases=[f"{path}, {case}" for case in ("unset", *_LINUX)])
        for path in ("paced", "paced, loss")
    ],
    judge=_stall,
    expected=Word.PARTLY,
    repeat=5,
)


def _ktls(found: Found) -> Verdict:
    sent = min(figures[SENDFILE] for name, figures in found.items() if name.startswith("kTLS"))
    if not sent:
        raise InvalidRun("kTLS", "bytes that nginx sends by sendfile(2)", "none")
    gain = times(found, "kTLS, unset", "kTLS, 16K", FIRST_BYTE)
    return Verdict(
        word=Word.FALSE if gain >= MUCH else Word.TRUE,
        because=f"With kTLS and sendfile(2) the script comes after {milliseconds(found['kTLS, unset'][FIRST_BYTE])},"
        f" and with LOWAT=16384 after {milliseconds(found['kTLS, 16K'][FIRST_BYTE])}.",
    )


_TLS = {"TLS in nginx": LABS, "kTLS": WITH_KTLS}
_TLS_CASES = [
    Case(name=f"{tls}, {name}", knobs={"CONFIG": _SENDFILE, "LOWAT": value}, kernel=kernel)
    for tls, kernel in _TLS.items()
    for name, value in LOWATS.items()
]

KTLS = Hypothesis(
    name="ktls",
    cases=_TLS_CASES,
    quantities=[FIRST_BYTE, GOODPUT, UNSENT, WAKEUPS, SENDFILE],
    panels=[Panel(quantity=FIRST_BYTE, cases=[case.name for case in _TLS_CASES])],
    judge=_ktls,
    expected=Word.FALSE,
)

HYPOTHESES = (KTLS, STALL)
