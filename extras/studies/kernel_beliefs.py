"""Beliefs that are tested on guest kernels of the study's own: stalls of earlier versions of Linux, and kTLS."""

import re
from itertools import pairwise

from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import Run
from priolab.common.amounts import kibibytes, milliseconds
from priolab.experiments.errors import InvalidRun
from priolab.extras.studies.belief import (
    FIRST_BYTE,
    GOODPUT,
    LABS,
    LOST,
    MUCH,
    UNSENT,
    WAKEUPS,
    Belief,
    Case,
    Found,
    Panel,
    Quantity,
    Verdict,
    Word,
    lost,
    times,
)
from priolab.extras.studies.own_kernels import BEFORE_5_10, BEFORE_5_18, WITH_KTLS
from priolab.extras.studies.transfer_beliefs import LOWATS

_SENDFILE = "extras/studies/fronts/nginx-sendfile.conf"
_SENT = re.compile(rb"SSL_sendfile: (\d+)$", re.MULTILINE)


def _gap_ms(run: Run) -> float:
    load = measured_load(run.evidence())
    came_ns = sorted(piece.t_ns for each in load.page.contents for piece in load.resources[each.name].pieces)
    return max(later - earlier for earlier, later in pairwise(came_ns)) / 10**6


def _sendfile_bytes(run: Run) -> float:
    """Returns the bytes that nginx handed to kTLS by sendfile(2), in all loads, as its messages for debugging say."""
    return float(sum(map(int, _SENT.findall((run.path / "front" / "error.log").read_bytes()))))


GAP = Quantity(name="longest gap", of=_gap_ms, said=milliseconds)
SENDFILE = Quantity(name="by sendfile(2) and kTLS", of=_sendfile_bytes, said=kibibytes)

_LINUX = {"now": LABS, "before 5.18": BEFORE_5_18, "before 5.10": BEFORE_5_10}

_AFTER_A_PAUSE = {"DELAY": "200ms", "RELOADS": "1", "JS_DELAY": "0ms"}
"""A long round trip. The second page load finds a connection with a large congestion window and no bytes on the way."""
_FAST = {**_AFTER_A_PAUSE, "RATE": "100mbit", "QUEUE": "4000", "SIZE": "8M"}
_LOSSY = {**_AFTER_A_PAUSE, "RATE": "10mbit", "QUEUE": "400", "SIZE": "1M", "GSO": "2", "LOSS": "3%"}


def _stalls(found: Found) -> Verdict:
    now = max(lost(found, f"{name}, now", f"{name}, unset") for name in ("fast, bbr", "loss, bbr"))
    before = max(lost(found, f"{name}, before 5.10", f"{name}, now") for name in ("fast, bbr", "loss, bbr"))
    word = Word.TRUE if now >= LOST else Word.PARTLY if before >= LOST else Word.FALSE
    return Verdict(word=word, because="")


def _ktls(found: Found) -> Verdict:
    sent = min(figures[SENDFILE] for name, figures in found.items() if name.startswith("kTLS"))
    if not sent:
        raise InvalidRun("kTLS", "bytes that nginx sends by sendfile(2)", "none")
    gain = times(found, "kTLS, unset", "kTLS, 16K", FIRST_BYTE)
    return Verdict(
        word=Word.FALSE if gain >= MUCH else Word.TRUE,
        because=f"With kTLS and sendfile(2) the script comes after {milliseconds(found['kTLS, unset'][FIRST_BYTE])},"
        f" and with LOWAT=16384 after {milliseconds(found['kTLS, 16K'][FIRST_BYTE])}. Without them the times are"
        f" {milliseconds(found['TLS in nginx, unset'][FIRST_BYTE])} and"
        f" {milliseconds(found['TLS in nginx, 16K'][FIRST_BYTE])}. LOWAT=16384 leaves at most"
        f" {kibibytes(found['kTLS, 16K'][UNSENT])} unsent with kTLS, and"
        f" {kibibytes(found['TLS in nginx, 16K'][UNSENT])} without.",
    )


_TLS = {"TLS in nginx": LABS, "kTLS": WITH_KTLS}
_TLS_CASES = [
    Case(name=f"{tls}, {name}", knobs={"CONFIG": _SENDFILE, "LOWAT": value}, kernel=kernel)
    for tls, kernel in _TLS.items()
    for name, value in LOWATS.items()
]

KTLS = Belief(
    name="ktls",
    cases=_TLS_CASES,
    quantities=[FIRST_BYTE, GOODPUT, UNSENT, WAKEUPS, SENDFILE],
    panels=[Panel(quantity=FIRST_BYTE, cases=[case.name for case in _TLS_CASES])],
    judge=_ktls,
    expected=Word.FALSE,
)

BELIEFS = (KTLS,)
