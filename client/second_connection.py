"""Another connection of a disturbed probe: the same requests, with the opposite priorities (Disturbance.CONNECTION).

A server must keep the priorities of two connections apart, although their streams have the same numbers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from priolab.client.http2.engine import Http2Engine
from priolab.client.transport import Deadline, Transport, tls_context
from priolab.common.formats.events import Kind
from priolab.common.formats.plan import Plan


@contextmanager
def neighbour(plan: Plan, ca_file: Path, deadline: Deadline) -> Iterator[str]:
    """Makes the requests of the plan's decoy on a connection of their own, and waits until all responses have begun.

    Yields a description of the requests. The connection is open until the context is left. Its windows stay so small
    that the server can send little more than headers. Raises LoadFailed, TransportFailed.
    """
    assert plan.decoy is not None
    requests = plan.decoy.requests
    own = replace(plan, requests=requests, changes=(), loads=1, decoy=None, source_port=None)
    context = tls_context(ca_file, None) if plan.tls else None
    with Transport((plan.address, plan.port), plan.server_name, context, plan.protocol, deadline) as transport:
        transport.handshake(deadline)
        engine = Http2Engine(own)
        asked = [event for event in engine.begin_load(transport.connected_ns) if event.kind is Kind.REQUEST_SENT]
        transport.send(engine.data_to_send(), deadline)
        awaited = len(requests)
        while awaited > 0:
            for plaintext, record in transport.receive(deadline):
                events = engine.receive(plaintext, record.received_ns, record)
                awaited -= sum(event.kind is Kind.HEADERS for event in events)
            transport.send(engine.data_to_send(), deadline)
        said = (f"stream {event.stream_id} {event.resource}, {event.detail or 'no priority'}" for event in asked)
        yield f"another connection: {'; '.join(said)}"
