"""Hypotheses about what makes the option unnecessary, and about the streams that it helps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from priolab.common.amounts import milliseconds
from priolab.extras.studies.hypothesis import (
    BEFORE,
    DELAY,
    FIRST_BYTE,
    GOODPUT,
    LAST_BYTE,
    MUCH,
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
    times,
)
from priolab.extras.studies.transfer_hypotheses import LOWATS


@dataclass(frozen=True, kw_only=True)
class _Way:
    """A way that should make LOWAT unnecessary, with its knobs; and the usual way, with its own."""

    said: str
    knobs: Mapping[str, str]
    usual: str
    usual_knobs: Mapping[str, str]


def _instead(name: str, ways: Sequence[_Way]) -> Hypothesis:
    """Returns the hypothesis that LOWAT is unnecessary with these ways."""
    knobs = {words: each for way in ways for words, each in ((way.usual, way.usual_knobs), (way.said, way.knobs))}

    def judge(found: Found) -> Verdict:
        needless = [times(found, f"{way.said}, unset", f"{way.said}, 16K", FIRST_BYTE) < MUCH for way in ways]
        said = "; ".join(f"{_pair(found, way.said)} with {way.said}" for way in ways)
        return Verdict(
            word=Word.TRUE if all(needless) else Word.PARTLY if any(needless) else Word.FALSE,
            because=f"With LOWAT unset and with LOWAT=16384 the script comes after {said}.",
        )

    return Hypothesis(
        name=name,
        cases=[
            Case(name=f"{words}, {lowat}", knobs={**each, "LOWAT": value})
            for words, each in knobs.items()
            for lowat, value in LOWATS.items()
        ],
        quantities=[FIRST_BYTE, GOODPUT, UNSENT, WAKEUPS],
        panels=[Panel(quantity=FIRST_BYTE, cases=[f"{words}, {lowat}" for words in knobs for lowat in LOWATS])],
        judge=judge,
        expected=Word.FALSE,
    )


def _pair(found: Found, way: str) -> str:
    return " and ".join(milliseconds(found[f"{way}, {lowat}"][FIRST_BYTE]) for lowat in ("unset", "16K"))


_DEEP = {"QUEUE": "1000"}
BBR = _instead(
    "bbr",
    [
        _Way(said="BBR", knobs={"CC": "bbr"}, usual="cubic", usual_knobs={"CC": "cubic"}),
        _Way(
            said="BBR and a deep queue",
            knobs={"CC": "bbr", **_DEEP},
            usual="cubic and a deep queue",
            usual_knobs={"CC": "cubic", **_DEEP},
        ),
    ],
)

_NO_QDISC = {"FRONT_QDISC": "stock"}
FQ = _instead(
    "fq",
    [
        _Way(said="fq", knobs={"FRONT_QDISC": "fq"}, usual="no discipline", usual_knobs=_NO_QDISC),
        _Way(
            said="fq and BBR",
            knobs={"FRONT_QDISC": "fq", "CC": "bbr"},
            usual="no discipline",
            usual_knobs=_NO_QDISC,
        ),
    ],
)

_STREAMS = {
    "beside a download": {"PAGE": f"{PAGES}/events-and-download.toml", "SIZE": "8M"},
    "alone": {"PAGE": f"{PAGES}/events.toml"},
    "alone, too fast": {"PAGE": f"{PAGES}/events-too-fast.toml"},
}
_EVENT_LINK = {"RATE": "10mbit", "DELAY": "25ms", "DELAY_UP": "25ms", "QUEUE": "41", "RELOADS": "0"}


def _events(found: Found) -> Verdict:
    helped = [times(found, f"{stream}, unset", f"{stream}, 128K", DELAY) >= MUCH for stream in _STREAMS]
    said = [
        f"{milliseconds(found[f'{stream}, unset'][DELAY])} and {milliseconds(found[f'{stream}, 128K'][DELAY])} {stream}"
        for stream in _STREAMS
    ]
    return Verdict(
        word=Word.TRUE if all(helped) else Word.PARTLY if any(helped) else Word.FALSE,
        because=f"With LOWAT unset and with LOWAT=131072 the latest event takes {'; '.join(said)}.",
    )


EVENTS = Hypothesis(
    name="events",
    cases=[
        Case(name=f"{stream}, {name}", knobs={**knobs, **_EVENT_LINK, "LOWAT": LOWATS[name]})
        for stream, knobs in _STREAMS.items()
        for name in ("unset", "128K")
    ],
    quantities=[DELAY, UNSENT],
    panels=[Panel(quantity=DELAY, cases=[f"{stream}, {name}" for stream in _STREAMS for name in ("unset", "128K")])],
    judge=_events,
    expected=Word.PARTLY,
)

_HTTP3 = ("traefik-h3", "envoy-h3")
_HTTP2 = "traefik"


def _http3(found: Found) -> Verdict:
    limited = found[f"{_HTTP2}, 128K"][FIRST_BYTE]
    needless = [
        alike(found, f"{server}, unset", f"{server}, 128K", FIRST_BYTE)
        and found[f"{server}, unset"][FIRST_BYTE] <= limited
        for server in _HTTP3
    ]
    first, last = (
        " and ".join(f"{milliseconds(found[f'{server}, unset'][quantity])} ({server})" for server in _HTTP3)
        for quantity in (FIRST_BYTE, LAST_BYTE)
    )
    return Verdict(
        word=Word.TRUE if all(needless) else Word.PARTLY if any(needless) else Word.FALSE,
        because=f"Over HTTP/3 the script begins after {first}, over HTTP/2 after {milliseconds(limited)} with"
        f" LOWAT=131072. The order is still the server's affair: the script is complete after {last}.",
    )


HTTP3 = Hypothesis(
    name="http3",
    cases=[
        Case(name=f"{server}, {name}", knobs={"SERVER": server, "LOWAT": LOWATS[name]})
        for server in (_HTTP2, *_HTTP3)
        for name in ("unset", "128K")
    ],
    quantities=[FIRST_BYTE, LAST_BYTE, BEFORE, WAKEUPS],
    panels=[
        Panel(
            quantity=quantity, cases=[f"{server}, {name}" for server in (_HTTP2, *_HTTP3) for name in ("unset", "128K")]
        )
        for quantity in (FIRST_BYTE, LAST_BYTE)
    ],
    judge=_http3,
    expected=Word.TRUE,
)

HYPOTHESES = (BBR, FQ, EVENTS, HTTP3)
