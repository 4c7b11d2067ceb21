"""The engine for each protocol."""

from client.engine import Engine
from client.http2.engine import Http2Engine
from client.plan import Plan, Protocol
from client.spdy.engine import SpdyEngine


def engine_for(plan: Plan) -> Engine:
    """What speaks the plan's protocol."""
    match plan.protocol:
        case Protocol.HTTP2:
            return Http2Engine(plan)
        case Protocol.SPDY:
            return SpdyEngine(plan)
