"""Measures the cost of the lab's instruments: what an event costs the client, and what a read of the clock costs.

    python -m tools.benches.client

To measure the cost of an event, the bench passes the bytes of a page load to the client's engine, and formats the
events as lines of the journal. The bytes are recorded once from an h2 server in memory, in pieces of the size of a TLS
record. In a run the client measures the same cost (client/socket.json).
"""

import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived
from rich.console import Console
from rich.table import Table

from priolab.client.dialects import PLAIN
from priolab.client.http2.engine import Http2Engine
from priolab.client.plan import page_plan
from priolab.client.priorities import Priorities
from priolab.common import clock_quality
from priolab.common.errors import StepFailed
from priolab.common.formats.page import MAPS
from priolab.common.formats.plan import Plan
from priolab.common.process import processes
from priolab.common.process.search_path import find
from priolab.experiments.scenario.pages import Parameters, page_of
from priolab.experiments.setup.origin_process import CLOCK, ONE_THREAD

_SIZE_BYTES = 700 * 1024
_FRAME_BYTES = 8 * 1024
_RECORD_BYTES = 16 * 1024
_ROUNDS = 9


def _plan() -> Plan:
    return page_plan(
        page_of(MAPS, Parameters(size_bytes=_SIZE_BYTES, script_delay_ns=0)),
        address="198.18.1.2",
        port=443,
        server_name="maps.test",
        priorities=Priorities.SPDY,
        dialect=PLAIN,
        reloads=0,
        window_bytes=2**24,
        load_deadline_ns=1,
    )


def recorded() -> list[bytes]:
    """Returns the bytes that a server sent in one page load, record by record."""
    engine, server = Http2Engine(_plan()), H2Connection(H2Configuration(client_side=False))
    server.initiate_connection()
    engine.begin_load(0)
    records: list[bytes] = []
    while engine.loading:
        for event in server.receive_data(engine.data_to_send()):
            if isinstance(event, RequestReceived):
                _answer(server, event.stream_id)
        sent = server.data_to_send()
        cut = [sent[start : start + _RECORD_BYTES] for start in range(0, len(sent), _RECORD_BYTES)]
        for record in cut:
            engine.receive(record, 0)
        records += cut
    return records


def _answer(server: H2Connection, stream_id: int) -> None:
    page = stream_id == 1
    server.send_headers(stream_id, [(":status", "200")])
    left = 100 if page else _SIZE_BYTES
    while left:
        size = min(left, _FRAME_BYTES)
        left -= size
        server.send_data(stream_id, bytes(size), end_stream=not left)


def engine_ns_per_event(records: Sequence[bytes]) -> float:
    """Returns the time that the client spends on an event, in ns: the median of several page loads."""
    spent = []
    for _ in range(_ROUNDS):
        engine = Http2Engine(_plan())
        engine.begin_load(0)
        engine.data_to_send()
        lines: list[str] = []
        began_ns = time.perf_counter_ns()
        for record in records:
            lines += [event.to_json() + "\n" for event in engine.receive(record, began_ns)]
        spent.append((time.perf_counter_ns() - began_ns) / len(lines))
    return statistics.median(spent)


def _node_clock() -> dict[str, Any]:
    node = find("node")
    if node is None:
        raise StepFailed("Node's clock", "node is not installed")
    clock: dict[str, Any] = json.loads(processes.run([node, *ONE_THREAD, str(CLOCK)], step="Node's clock"))
    return clock


def main() -> None:
    """Prints the table of the times that an event and a read of each clock take."""
    table = Table("instrument", "ns")
    records = recorded()
    table.add_row("one event of the client", f"{engine_ns_per_event(records):.0f}")
    for name, clock in (("Python", clock_quality.describe()["python"]), ("Node", _node_clock())):
        table.add_row(f"one read of the clock, {name}", str(clock["read_cost_ns"]))
    Console().print(table)


if __name__ == "__main__":
    main()
