"""The report of a sandbox, and how the two ends of a connection are joined."""

from priolab.extras.sandbox import report
from priolab.extras.sandbox.connections import _connections, _End
from priolab.extras.sandbox.outcome import Connection, Direction, Ending, Outcome

_OUTCOME = Outcome(
    ending=Ending.ENDED,
    code=0,
    duration_ns=2 * 10**9,
    down=Direction(bytes=1_050_000, dropped=3, lost=1),
    up=Direction(bytes=9000),
    connections=[
        Connection(client_port=1, server_port=80, down_bytes=10**6, up_bytes=70, down_retransmissions=4),
        Connection(client_port=2, server_port=80, min_round_trip_us=40_053),
    ],
    longest_queue=12,
)


def test_for_people() -> None:
    """The report has the time, the bytes, the goodput, what was lost, and the round trip."""
    time, down, up, connections, queue = report.lines(_OUTCOME)
    assert time == "the client took 2.000000 s"
    assert down.startswith("toward the client: 1050000 bytes of packets, 1000000 of TCP's data, 4.000 Mbit/s; ")
    assert down.endswith("; 4 segments sent again, 3 packets dropped by the queue, 1 lost at random")
    assert up.startswith("toward the server: 9000 bytes of packets, 70 of TCP's data, 0.000 Mbit/s; ")
    assert up.endswith("; 0 segments sent again, 0 packets dropped by the queue, 0 lost at random")
    assert connections == "2 TCP connections, shortest round trip 40.053 ms"
    assert queue == "longest queue at a sample: 12 packets"


def test_as_json() -> None:
    """The document has the fields of the outcome, and the goodput; no goodput of a client that took no time."""
    document = report.document(_OUTCOME)
    assert document["goodput_down_bit_s"] == 4e6
    assert document["connections"][0]["down_retransmissions"] == 4
    assert report.document(Outcome(ending=Ending.FAILED))["goodput_down_bit_s"] is None


def test_a_closing_segment_is_no_data() -> None:
    """A kernel counts the end of a connection as a byte, and the other end says how many there were."""
    client = _End(0, 1001, 40_053, 70, 0)
    server = _End(2, 70, 2**32 - 1, 1500, 500)
    (connection,) = _connections((5, 80), [client], [server])
    assert (connection.down_bytes, connection.up_bytes) == (1000, 70)
    assert (connection.down_retransmissions, connection.up_retransmissions) == (2, 0)
    assert connection.min_round_trip_us == 40_053


def test_a_connection_without_its_other_end() -> None:
    """A request for a connection that nobody answered has carried nothing."""
    (connection,) = _connections((5, 80), [_End(6, 0, 2**32 - 1, 0, 0)], [])
    assert (connection.up_retransmissions, connection.down_bytes, connection.min_round_trip_us) == (6, 0, None)
