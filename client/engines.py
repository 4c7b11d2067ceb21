"""Chooses the engine for a protocol over TCP. The engine for HTTP/3 has another interface (client/http3/engine.py)."""

from priolab.client.engine import Engine
from priolab.client.http2.engine import Http2Engine
from priolab.common.formats.plan import Plan, Protocol


def engine_for(plan: Plan) -> Engine:
    """Returns the engine for the plan's protocol. Raises ValueError for HTTP/3."""
    match plan.protocol:
        case Protocol.HTTP2:
            return Http2Engine(plan)
        case Protocol.SPDY:
            from priolab.client.spdy.engine import SpdyEngine  # a load over HTTP/2 does not need it

            return SpdyEngine(plan)
        case Protocol.HTTP3:
            raise ValueError("HTTP/3 is not carried by TCP")
