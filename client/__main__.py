"""`python -m client PLAN CA OUT`: carry out a plan.

Writes OUT/events.jsonl, OUT/arrivals.jsonl (bytes of the TCP stream by time), OUT/socket.json and OUT/keys.log.

Exit code 0 if every load finished, 1 if one failed; the reason is the last line on standard error. A line on standard
output that begins with "@ " tells of each load, and once it has asked for the page another, `began N T`, when that was.
"""

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from client.engine import Engine
from client.engines import engine_for
from client.events import Event, Kind
from client.loads import LoadFailed
from client.plan import Plan, read_plan
from client.transport import Deadline, Transport, TransportFailed, tls_context
from clock.cost import Cost

_CONNECT_NS = 60 * 10**9
"""At least so long may connecting take; where a page load may take longer, because the link is slow, this may too."""
_LINGER_S = 0.25
"""How long the connection stays after the last load, so that even the shortest can be looked at from the front."""


class _Journal:
    """events.jsonl and arrivals.jsonl, written as things happen."""

    def __init__(self, events: TextIO, arrivals: TextIO) -> None:
        self._events = events
        self._arrivals = arrivals

    def add(self, events: Iterable[Event]) -> None:
        self._events.writelines(event.to_json() + "\n" for event in events)

    def arrived(self, t_ns: int, tcp_bytes: int) -> None:
        self._arrivals.write(f'{{"t_ns": {t_ns}, "tcp_bytes": {tcp_bytes}}}\n')


def _run_load(number: int, plan: Plan, engine: Engine, transport: Transport, journal: _Journal, cost: Cost) -> None:
    print(f"@ load {number} of {plan.loads}", flush=True)
    deadline = Deadline(time.monotonic_ns() + plan.load_deadline_ns, "it")
    try:
        began_ns = time.monotonic_ns()
        journal.add(engine.begin_load(began_ns))
        transport.send(engine.data_to_send(), deadline)
        print(f"began {number} {began_ns}", flush=True)
        while engine.loading:
            if plan.steps and not transport.wait(plan.steps.quiet_ns, deadline):
                journal.add(engine.quiet(time.monotonic_ns()))
                transport.send(engine.data_to_send(), deadline)
                continue
            for plaintext, record in transport.receive(deadline):
                began_ns = time.monotonic_ns()
                events = engine.receive(plaintext, record.received_ns, record)
                journal.add(events)
                cost.add(len(events), time.monotonic_ns() - began_ns)
            journal.arrived(*transport.received)
            transport.send(engine.data_to_send(), deadline)
    except (LoadFailed, TransportFailed) as error:
        if isinstance(error, LoadFailed):
            journal.add(error.events)
        waiting = ", ".join(engine.unfinished)
        raise LoadFailed(f"load {number} of {plan.loads}: {error}; unfinished: {waiting}") from error


def run(plan: Plan, ca_file: Path, out: Path) -> None:
    """All loads of the plan. Raises LoadFailed or TransportFailed."""
    deadline = Deadline(time.monotonic_ns() + max(_CONNECT_NS, plan.load_deadline_ns), "connecting")
    context = tls_context(ca_file, out / "keys.log")
    with (
        (out / "events.jsonl").open("w") as events,
        (out / "arrivals.jsonl").open("w") as arrivals,
        Transport((plan.address, plan.port), plan.server_name, context, plan.protocol, deadline) as transport,
    ):
        journal = _Journal(events, arrivals)
        engine = engine_for(plan)
        cost = Cost()
        journal.add([Event(t_ns=transport.connected_ns, kind=Kind.CONNECTED, load=0)])
        journal.add([Event(t_ns=transport.handshake(deadline), kind=Kind.SECURED, load=0)])
        host, port = transport.local_address
        for number in range(1, plan.loads + 1):
            _run_load(number, plan, engine, transport, journal, cost)
        time.sleep(_LINGER_S)
        socket_state = {
            "address": host,
            "port": port,
            "receive_buffer_bytes": transport.receive_buffer_bytes,
            "instrument": asdict(cost),
        }
        (out / "socket.json").write_text(json.dumps(socket_state) + "\n")


def main() -> int:
    """Entry point."""
    if len(sys.argv) != 4:
        print("usage: python -m client PLAN CA OUT", file=sys.stderr)
        return 2
    plan_file, ca_file, out = map(Path, sys.argv[1:])
    try:
        run(read_plan(plan_file), ca_file, out)
    except (LoadFailed, TransportFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
