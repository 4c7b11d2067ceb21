"""Carries out a plan over TCP, with TLS or without it: moves bytes between the engine and the transport."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from priolab.client.engine import Engine
from priolab.client.http2.engine import Http2Engine
from priolab.client.journal import Journal
from priolab.client.progress import ENDED, connecting_deadline, told
from priolab.client.second_connection import neighbour
from priolab.client.transport import Deadline, Transport, tls_context
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Disturbance, Plan, Protocol

_LINGER_S = 0.25
"""Time for which the connection stays open after the last load, so that the front's sampler sees even a short load."""


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


def run_over_tcp(plan: Plan, ca_file: Path, out: Path) -> None:
    """Carries out all loads of the plan. Raises LoadFailed or TransportFailed.

    ca_file: the file with the certificate authority to trust. out: the folder for the results.
    """
    deadline = connecting_deadline(plan)
    context = tls_context(ca_file, out / "keys.log") if plan.tls else None
    with (
        Journal.writing(out) as journal,
        Transport(
            (plan.address, plan.port), plan.server_name, context, plan.protocol, deadline, plan.source_port
        ) as transport,
    ):
        engine = engine_for(plan)
        journal.add([Event(t_ns=transport.connected_ns, kind=Kind.CONNECTED, load=0)])
        journal.add([Event(t_ns=transport.handshake(deadline), kind=Kind.SECURED, load=0)])
        host, port = transport.local_address
        with ExitStack() as neighbours:

            def disturb(limit: Deadline) -> str:
                return neighbours.enter_context(neighbour(plan, ca_file, limit))

            for number in range(1, plan.loads + 1):
                _run_load(number, plan, engine, transport, journal, disturb)
        print(ENDED, flush=True)
        time.sleep(_LINGER_S)
        journal.conclude(
            out,
            address=host,
            port=port,
            receive_buffer_bytes=transport.receive_buffer_bytes,
            largest_record_bytes=transport.largest_record_bytes,
        )


def _run_load(
    number: int,
    plan: Plan,
    engine: Engine,
    transport: Transport,
    journal: Journal,
    disturb: Callable[[Deadline], str],
) -> None:
    """Carries out a load. disturb: makes another connection of a disturbance, and returns what it requested there.

    A server may keep the first or the last priorities for a stream number, so there is one connection before the
    load's requests, and one when all responses have begun.
    """
    deadline = Deadline(time.monotonic_ns() + plan.load_deadline_ns, "the load")
    journal.begin_load()
    disturbing = plan.decoy is not None and plan.decoy.disturbance is Disturbance.CONNECTION
    awaited = len(plan.requests)
    with told(number, plan, engine, journal):
        said = disturb(deadline) if disturbing else None
        began_ns = time.monotonic_ns()
        journal.add(engine.begin_load(began_ns))
        if said is not None:
            journal.add([Event(t_ns=began_ns, kind=Kind.DISTURBED, load=number, detail=said)])
        transport.send(engine.data_to_send(), deadline)
        print(f"began {number} {began_ns}", flush=True)
        while engine.loading:
            if (due_ns := engine.next_due_ns) is not None and not transport.wait(
                max(0, due_ns - time.monotonic_ns()), deadline
            ):
                journal.add(engine.wake(time.monotonic_ns()))
                transport.send(engine.data_to_send(), deadline)
                continue
            if plan.steps and not transport.wait(plan.steps.quiet_ns, deadline):
                if disturbing and not awaited:
                    disturbing = False
                    said = disturb(deadline)
                    journal.add([Event(t_ns=time.monotonic_ns(), kind=Kind.DISTURBED, load=number, detail=said)])
                elif not disturbing:
                    journal.add(engine.quiet(time.monotonic_ns()))
                    transport.send(engine.data_to_send(), deadline)
                continue
            is_quiet = True
            packets_at_once = plan.packets_at_once and engine.next_due_ns is None
            for plaintext, record in transport.receive(deadline, packets_at_once=packets_at_once):
                is_quiet = False
                began_ns = time.monotonic_ns()
                events = engine.receive(plaintext, record.received_ns, record)
                journal.add(events)
                if disturbing:
                    awaited -= sum(event.kind is Kind.HEADERS for event in events)
                journal.cost.add(len(events), time.monotonic_ns() - began_ns)
            for t_ns, tcp_bytes in transport.arrivals:
                journal.arrived(t_ns, tcp_bytes)
            journal.waited(transport.waited_ns)
            if not is_quiet:  # most packets complete no record
                transport.send(engine.data_to_send(), deadline)
