"""Sessions with misbehaving servers: whatever a server sends, an engine raises LoadFailed or nothing.

Rules:
1. The seed determines everything: frames, their division into pieces, and when the connection is quiet.
2. A session ends when the engine raises LoadFailed, when its loads are finished, or after 400 frames. Then the next
   session begins. Any other exception is passed on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from priolab.client.dialects import PLAIN, Dialect, parse
from priolab.client.engine import Engine
from priolab.client.http2.engine import Http2Engine
from priolab.client.load_scheduler import LoadFailed
from priolab.client.plan import STEPS
from priolab.client.priorities import Priorities
from priolab.client.spdy.engine import SpdyEngine
from priolab.common.formats.plan import Plan, Protocol
from tests.support.pages import maps_plan
from tools.campaigns.fuzz.http2 import Http2Peer
from tools.campaigns.fuzz.peer import Peer
from tools.campaigns.fuzz.spdy import SpdyPeer

_LONGEST = 400
"""The most frames of a session."""

_HTTP2_DIALECTS = (PLAIN, parse("chrome"), parse("firefox+reprioritize"), parse("header+update"))


@dataclass(frozen=True)
class Found:
    """The counts of a run: its frames, and the sessions whose load failed, finished, or was unfinished at the end."""

    frames: int
    failed: int
    finished: int
    unfinished: int


def _http2(random: Random) -> tuple[Engine, Peer]:
    plan = _plan(random, Protocol.HTTP2, random.choice(_HTTP2_DIALECTS))
    first = max((group.stream_id for group in plan.groups), default=-1) + 2
    return Http2Engine(plan), Http2Peer(random, (first, first + 2, first + 4))


def _spdy(random: Random) -> tuple[Engine, Peer]:
    return SpdyEngine(_plan(random, Protocol.SPDY, PLAIN)), SpdyPeer(random, (1, 3, 5))


def _plan(random: Random, protocol: Protocol, dialect: Dialect) -> Plan:
    return maps_plan(
        address="198.18.1.2",
        port=443,
        server_name="maps.test",
        priorities=random.choice(list(Priorities)),
        dialect=dialect,
        protocol=protocol,
        reloads=1,
        window_bytes=random.choice((65_535, 2**24)),
        steps=random.choice((None, STEPS)),
        load_deadline_ns=1,
    )


PROTOCOLS: dict[str, Callable[[Random], tuple[Engine, Peer]]] = {"h2": _http2, "spdy": _spdy}


def fuzz(protocol: str, seed: int, frames: int) -> Found:
    """Run sessions with at least this number of frames. Raises every exception of an engine except LoadFailed."""
    random = Random(f"{protocol} {seed}")
    counts = {"failed": 0, "finished": 0, "unfinished": 0}
    sent = 0
    while sent < frames:
        engine, peer = PROTOCOLS[protocol](random)
        used, ending = _session(engine, peer, random)
        sent += used
        counts[ending] += 1
    return Found(frames=sent, **counts)


def _session(engine: Engine, peer: Peer, random: Random) -> tuple[int, str]:
    loads = random.choice((0, 1))
    engine.begin_load(0)
    engine.data_to_send()
    for number in range(1, _LONGEST + 1):
        wire = peer.frame()
        try:
            for piece in _pieces(wire, random):
                events = engine.receive(piece, number)
                assert all(event.t_ns == number for event in events)
                engine.data_to_send()
            if random.random() < 0.2:
                engine.quiet(number)
            if not engine.loading and loads:
                loads -= 1
                engine.begin_load(number)
                engine.data_to_send()
        except LoadFailed:
            return number, "failed"
        if not engine.loading:
            return number, "finished"
    return _LONGEST, "unfinished"


def _pieces(wire: bytes, random: Random) -> list[bytes]:
    """Return the frame whole, in two pieces, or byte by byte."""
    match random.randrange(8):
        case 0:
            at = random.randrange(len(wire) + 1)
            return [wire[:at], wire[at:]]
        case 1 if len(wire) < 100:
            return [wire[at : at + 1] for at in range(len(wire))]
    return [wire]
