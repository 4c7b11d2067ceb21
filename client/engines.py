"""Chooses the engine for a protocol over TCP. HTTP/3 has an engine of another kind (client/http3)."""

from client.engine import Engine
from client.http2.engine import Http2Engine
from client.spdy.engine import SpdyEngine
from common.formats.plan import Plan, Protocol


def engine_for(plan: Plan) -> Engine:
    """The engine for the plan's protocol. Raises ValueError for HTTP/3."""
    match plan.protocol:
        case Protocol.HTTP2:
            return Http2Engine(plan)
        case Protocol.SPDY:
            return SpdyEngine(plan)
        case Protocol.HTTP3:
            raise ValueError("HTTP/3 is not carried by TCP")
